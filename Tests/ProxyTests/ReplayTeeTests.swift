import Testing

@testable import Proxy

@Suite struct ReplayTeeTests {
  /// A tee does not own them.
  private let shared = SharedBuffers()
  private let buffers: LoopBuffers

  init() {
    shared.bound(by: 256 << 10)
    buffers = LoopBuffers(shared)
  }

  private func tee(_ pieces: [String], capacity: Int) -> ReplayTee {
    var tee = ReplayTee(capacity: capacity, from: buffers)
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

  @Test func `where the process keeps too much, nothing more is kept until others give back`() {
    let piece = [UInt8](repeating: 1, count: 100 << 10)
    var tees = (0..<3).map { _ in ReplayTee(capacity: 1 << 20, from: buffers) }
    for index in tees.indices { piece.withUnsafeBytes { tees[index].append($0) } }
    #expect(tees.map(\.isIntact) == [true, true, false])
    tees[0].discard()
    var next = ReplayTee(capacity: 1 << 20, from: buffers)
    piece.withUnsafeBytes { next.append($0) }
    #expect(next.isIntact && next.bytes == piece)
    // What one loop does not need, another gets.
    tees[1].discard()
    next.discard()
    tees[2].discard()
    let other = LoopBuffers(shared)
    #expect(other.take(192 << 10))
    #expect(!other.take(100 << 10))
    other.giveBack(192 << 10)
  }

  @Test func `what an array takes to grow is counted, and all of it comes back`() {
    let piece = [UInt8](repeating: 1, count: 60 << 10)
    var tee = ReplayTee(capacity: 200 << 10, from: buffers)
    for _ in 0..<3 { piece.withUnsafeBytes { tee.append($0) } }
    #expect(tee.isIntact && tee.bytes.count == 180 << 10)
    var other = ReplayTee(capacity: 200 << 10, from: buffers)
    piece.withUnsafeBytes { other.append($0) }
    #expect(!other.isIntact)
    tee.discard()
    let everything = shared.take(256 << 10)
    #expect(everything)
    shared.giveBack(256 << 10)
  }
}
