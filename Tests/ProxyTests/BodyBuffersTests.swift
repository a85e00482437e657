import Signing
import Testing

@testable import Proxy

/// Whatever is kept of bodies, and however it ends: the count is what is held, and returns to zero.
@Suite struct BodyBuffersTests {
  private static let bound = 1 << 20

  private enum Holder {
    case tee(ReplayTee)
    case transformed(TransformedBody)

    mutating func add(_ bytes: UnsafeRawBufferPointer) {
      switch self {
      case .tee(var tee):
        // Only one copy may be used.
        self = .tee(ReplayTee())
        tee.append(bytes)
        self = .tee(tee)
      case .transformed(let body): _ = body.take(bytes, isLast: false)
      }
    }

    mutating func end() {
      if case .tee(var tee) = self {
        tee.discard()
        self = .tee(tee)
      }
    }
  }

  @Test func `random bodies on two loops take at most the bound, and give all of it back`() {
    let shared = SharedBuffers()
    shared.bound(by: Self.bound)
    var loops: [LoopBuffers] = [LoopBuffers(shared), LoopBuffers(shared)]
    let piece = [UInt8](repeating: 1, count: 96 << 10)
    var random = SystemRandomNumberGenerator()
    for _ in 0..<20 {
      var holders: [(holder: Holder, loop: Int)] = []
      for _ in 0..<500 {
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
          let loop = Int.random(in: 0..<2, using: &random)
          let capacity = 1 << Int.random(in: 0..<19, using: &random)
          let holder: Holder =
            switch Int.random(in: 0..<3, using: &random) {
            case 0: .tee(ReplayTee(capacity: capacity, from: loops[loop]))
            case 1: .tee(ReplayTee(wholeUpTo: capacity, length: capacity / 2, from: loops[loop]))
            default: .transformed(TransformedBody(BodyTransform(), loops[loop]))
            }
          holders.append((holder, loop))
        case 1 where !holders.isEmpty:
          let index = Int.random(in: holders.indices, using: &random)
          holders[index].holder.end()
          holders.remove(at: index)
        default:
          guard !holders.isEmpty else { continue }
          let index = Int.random(in: holders.indices, using: &random)
          let count = Int.random(in: 0...piece.count, using: &random)
          piece.withUnsafeBytes { holders[index].holder.add(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }
        #expect(shared.inUse <= Self.bound)
        #expect(loops.reduce(0) { $0 + $1.lent } <= shared.inUse)
      }
      for index in holders.indices { holders[index].holder.end() }
      holders = []
      #expect(loops.allSatisfy { $0.lent == 0 })
    }
    loops = []
    #expect(shared.inUse == 0)
  }
}
