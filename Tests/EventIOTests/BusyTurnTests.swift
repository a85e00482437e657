import CSystem
import Testing

@testable import EventIO

@Suite struct BusyTurnTests {
  struct Look: Equatable, Sendable {
    let isBusy: Bool
    let isBehind: Bool
    let turn: UInt64
  }

  /// Descriptors that are ready at once, and what the loop said of itself in the event of each and at the end of its turn.
  private final class Crowd {
    var descriptors: [Int32] = []
    var tokens: [Token] = []
    var inEvents: [Look] = []
    var atEnds: [Look] = []
    let size: Int
    let done: (Crowd) -> Void

    init(_ size: Int, done: @escaping (Crowd) -> Void) {
      self.size = size
      self.done = done
    }
  }

  private final class Member: EventHandler {
    let crowd: Crowd
    init(_ crowd: Crowd) { self.crowd = crowd }

    override func ready(_ events: UInt32, on loop: EventLoop) {
      let look = Look(isBusy: loop.isBusy, isBehind: loop.isBehind, turn: loop.turn)
      guard events == 0 else {
        crowd.inEvents.append(look)
        return loop.again(self)
      }
      crowd.atEnds.append(look)
      if crowd.atEnds.count == crowd.size { crowd.done(crowd) }
    }
  }

  private func looks(_ count: Int) async -> (inEvents: [Look], atEnds: [Look]) {
    let executor = LoopExecutor()
    executor.start()
    return await withCheckedContinuation { continuation in
      executor.call { loop in
        let crowd = Crowd(count) { crowd in
          for (token, descriptor) in zip(crowd.tokens, crowd.descriptors) {
            loop.retire(token)
            Socket.close(descriptor)
          }
          continuation.resume(returning: (crowd.inEvents, crowd.atEnds))
        }
        for _ in 0..<count {
          let descriptor = eventfd(1, Int32(EFD_NONBLOCK))
          guard let token = loop.register(descriptor, Member(crowd)) else { continue }
          crowd.descriptors.append(descriptor)
          crowd.tokens.append(token)
        }
      }
    }
  }

  @Test(arguments: [1, 15]) func `a turn with few ready descriptors is not busy`(count: Int) async {
    let (inEvents, atEnds) = await looks(count)
    #expect(inEvents.map(\.isBusy) == Array(repeating: false, count: count))
    #expect(atEnds.map(\.isBusy) == Array(repeating: false, count: count))
  }

  @Test func `a turn with many is busy until its end, and the end is that of the same turn`() async {
    let (inEvents, atEnds) = await looks(16)
    #expect(inEvents.map(\.isBusy) == Array(repeating: true, count: 16))
    #expect(atEnds.map(\.isBusy) == Array(repeating: false, count: 16))
    #expect(inEvents.map(\.isBehind) == Array(repeating: false, count: 16))
    #expect(atEnds.map(\.turn) == inEvents.map(\.turn))
  }

  @Test func `a loop is behind if more is ready than a turn takes, and those in it are served before the rest`() async {
    let (inEvents, atEnds) = await looks(100)
    #expect(inEvents.map(\.isBehind) == Array(repeating: true, count: 64) + Array(repeating: false, count: 36))
    let first = inEvents[0].turn
    #expect(atEnds.map(\.turn) == Array(repeating: first, count: 64) + Array(repeating: first + 1, count: 36))
  }
}
