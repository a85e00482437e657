import Testing

@testable import EventIO

/// Which look-ups run and which wait. Each set has four lanes, so a zone or client gets two.
@Suite struct NameLanesTests {
  private let names = HeldNames()

  private func ask(_ lanes: NameLanes, _ host: String, _ asker: NameAsker) -> NameLanes.Ticket? {
    lanes.lookUp(host, for: asker) { _ in }
  }

  @Test func `zones are the last two labels, three below a country's registry`() {
    let cases = [
      ("example.com", "example.com"), ("a.b.example.com", "example.com"), ("a.example.co.uk", "example.co.uk"),
      ("example.co.uk", "example.co.uk"), ("a.example.de", "example.de"), ("localhost", "localhost"),
      ("db.svc.cluster.local", "cluster.local"),
    ]
    for (host, zone) in cases { #expect(NameLanes.zone(of: host) == zone) }
  }

  @Test func `one zone has half of the lanes, for the configuration's names and for clients'`() async {
    let askers: [(Int) -> NameAsker] = [{ _ in .configuration }, { .client("\($0)") }]
    for asker in askers {
      let names = HeldNames()
      let lanes = names.lanes()
      for index in 0..<4 { #expect(ask(lanes, "\(index).slow.test", asker(index)) != nil) }
      #expect(ask(lanes, "x.fast.test", asker(9)) != nil)
      await names.begun(3)
      #expect(Set(names.asked) == ["0.slow.test", "1.slow.test", "x.fast.test"])
      // A look-up that ends makes room for the next of its zone.
      names.answer("0.slow.test")
      await names.begun(4)
      #expect(names.asked.last == "2.slow.test")
      for host in ["1.slow.test", "2.slow.test", "3.slow.test", "x.fast.test"] { names.answer(host) }
    }
  }

  @Test func `one client has half of the lanes, whatever the zones, and the configuration has its own`() async {
    let lanes = names.lanes()
    let hosts = (0..<4).map { "host.zone\($0)" }
    for host in hosts { #expect(ask(lanes, host, .client("a")) != nil) }
    await names.begun(2)
    #expect(ask(lanes, "host.other", .client("b")) != nil)
    await names.begun(3)
    #expect(names.asked.last == "host.other")
    for host in hosts { #expect(ask(lanes, host, .configuration) != nil) }
    await names.begun(7)
    #expect(names.asked.filter { hosts.contains($0) }.count == 6)
    for host in hosts + hosts + ["host.other"] { names.answer(host) }
  }

  @Test func `a name is looked up once, and may run on the share of any asker`() async {
    let lanes = names.lanes()
    await confirmation(expectedCount: 2) { delivered in
      for host in ["a.zone1", "b.zone2"] { _ = ask(lanes, host, .client("a")) }
      await names.begun(2)
      await withCheckedContinuation { (ended: CheckedContinuation<Void, Never>) in
        _ = lanes.lookUp("c.zone3", for: .client("a")) { _ in delivered() }
        #expect(!names.asked.contains("c.zone3"))
        let ticket = lanes.lookUp("c.zone3", for: .client("b")) { _ in
          delivered()
          ended.resume()
        }
        #expect(ticket != nil)
        names.answer("c.zone3")
      }
    }
    #expect(names.asked.filter { $0 == "c.zone3" }.count == 1)
    for host in ["a.zone1", "b.zone2"] { names.answer(host) }
  }

  @Test func `one client or zone has half of the backlog, and a wait that ends makes room`() async throws {
    let lanes = names.lanes(width: 2, backlog: 4)
    #expect(ask(lanes, "run.zone", .client("a")) != nil)
    await names.begun(1)
    let first = try #require(ask(lanes, "1.zone1", .client("a")))
    #expect(ask(lanes, "1.zone2", .client("a")) != nil)
    #expect(ask(lanes, "1.zone3", .client("a")) == nil)
    #expect(ask(lanes, "2.zone1", .client("b")) != nil)
    await names.begun(2)
    #expect(lanes.withdraw(first))
    #expect(!lanes.withdraw(first))
    #expect(ask(lanes, "1.zone3", .client("a")) != nil)
    for host in ["run.zone", "1.zone2", "1.zone3", "2.zone1"] { names.answer(host) }
    await names.begun(4)
    #expect(!names.asked.contains("1.zone1"))
  }

  @Test func `a running look-up cannot be withdrawn`() async throws {
    let lanes = names.lanes()
    let ticket = try #require(ask(lanes, "a.zone", .client("a")))
    await names.begun(1)
    #expect(!lanes.withdraw(ticket))
    names.answer("a.zone")
  }
}
