import HTTP2
import Testing

@Suite("A table of streams")
struct StreamTableTests {
  private final class Owner {
    let name: String
    init(_ name: String) { self.name = name }
  }

  /// Tickets of as many requests.
  private static func tickets(_ count: Int) -> (ClientProbe, [StreamTicket]) {
    let probe = ClientProbe()
    return (probe, (0..<count).map { probe.get("/\($0)") })
  }

  private func expect(
    _ table: inout StreamTable<Owner>, _ expected: [String], sourceLocation: SourceLocation = #_sourceLocation
  ) {
    var names: [String] = []
    while let owner = table.nextTouched() { names.append(owner.name) }
    #expect(names == expected, sourceLocation: sourceLocation)
  }

  @Test("gives each touched stream once, in order")
  func order() {
    let (_, tickets) = Self.tickets(3)
    var table = StreamTable<Owner>()
    for (index, ticket) in tickets.enumerated() { table.insert(Owner("\(index)"), ticket) }
    expect(&table, [])
    for index in [2, 0, 2] {
      let name = table.touch(tickets[index])?.name
      #expect(name == "\(index)")
    }
    expect(&table, ["2", "0"])
    expect(&table, [])
  }

  @Test("gives a stream again that is touched while it is served")
  func again() {
    let (_, tickets) = Self.tickets(2)
    var table = StreamTable<Owner>()
    for (index, ticket) in tickets.enumerated() { table.insert(Owner("\(index)"), ticket) }
    table.touch(tickets[0])
    let first = table.nextTouched()?.name
    #expect(first == "0")
    table.touch(tickets[0])
    table.touch(tickets[1])
    expect(&table, ["0", "1"])
  }

  @Test("knows nothing of a removed stream, and takes no later one in its place for it")
  func removed() {
    let (probe, tickets) = Self.tickets(1)
    var table = StreamTable<Owner>()
    table.insert(Owner("first"), tickets[0])
    table.touch(tickets[0])
    let removed = [table.remove(tickets[0]), table.remove(tickets[0])]
    #expect(removed == [true, false])
    probe.client.release(tickets[0])
    let later = probe.get()
    #expect(later.index == tickets[0].index)
    table.insert(Owner("later"), later)
    expect(&table, [])
    let names = [table.touch(tickets[0])?.name, table.touch(later)?.name]
    #expect(names == [nil, "later"])
    expect(&table, ["later"])
  }
}
