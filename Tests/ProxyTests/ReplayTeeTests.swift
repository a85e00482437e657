import Testing

@testable import Proxy

@Suite struct ReplayTeeTests {
  private func tee(_ pieces: [String], capacity: Int) -> ReplayTee {
    var tee = ReplayTee(capacity: capacity)
    for piece in pieces { Array(piece.utf8).withUnsafeBytes { tee.append($0) } }
    return tee
  }

  @Test func `what fits is kept, to the last byte`() {
    let full = tee(["hel", "", "lo"], capacity: 5)
    #expect(full.isIntact)
    #expect(full.bytes == Array("hello".utf8))
    let empty = tee([], capacity: 5)
    #expect(empty.isIntact && empty.bytes.isEmpty)
  }

  @Test func `over the cap nothing is kept, nor later what would fit`() {
    for pieces in [["hello!"], ["hello", "!"], ["hel", "lo!", "x"]] {
      let over = tee(pieces, capacity: 5)
      #expect(!over.isIntact)
      #expect(over.bytes.isEmpty)
    }
  }

  @Test func `without room it keeps nothing from the start`() {
    #expect(!tee([], capacity: 0).isIntact)
    #expect(tee(["x"], capacity: 0).bytes.isEmpty)
  }

  @Test func `what was discarded does not come back`() {
    var tee = tee(["he"], capacity: 5)
    tee.discard()
    Array("llo".utf8).withUnsafeBytes { tee.append($0) }
    #expect(!tee.isIntact && tee.bytes.isEmpty)
  }
}
