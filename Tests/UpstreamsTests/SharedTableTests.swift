import Testing

@testable import Upstreams

@Suite struct SharedTableTests {
  private final class Thing: Sendable {
    let name: Int
    init(_ name: Int) { self.name = name }
  }

  @Test func `a key has one object, made once`() {
    let table = SharedTable<Int, Thing>()
    let first = table.value(of: 1) { Thing(1) }
    let again = table.value(of: 1) {
      Issue.record("made twice")
      return Thing(2)
    }
    #expect(first === again)
    #expect(table.value(of: 2) { Thing(2) } !== first)
    #expect(table.count == 2)
  }

  @Test func `keys without bound cost nothing in the end, and what is in use stays`() {
    let table = SharedTable<Int, Thing>()
    let used = (0..<10).map { name in table.value(of: name) { Thing(name) } }
    for name in 10..<10_000 { _ = table.value(of: name) { Thing(name) } }
    #expect(table.count <= 65)
    for (name, thing) in used.enumerated() { #expect(table.value(of: name) { Thing(-1) } === thing) }
  }

  @Test func `of many in use all are kept`() {
    let table = SharedTable<Int, Thing>()
    let used = (0..<1_000).map { name in table.value(of: name) { Thing(name) } }
    #expect(table.count == 1_000)
    for (name, thing) in used.enumerated() { #expect(table.value(of: name) { Thing(-1) } === thing) }
  }

  @Test func `it knows whether anybody owns another one`() {
    let table = SharedTable<Int, Thing>()
    let own = table.value(of: 1) { Thing(1) }
    #expect(!table.isUsed(otherThan: own))
    do {
      let other = table.value(of: 2) { Thing(2) }
      #expect(table.isUsed(otherThan: own))
      withExtendedLifetime(other) {}
    }
    #expect(!table.isUsed(otherThan: own))
  }
}
