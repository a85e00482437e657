import CSystem
import Synchronization

/// The loops and what they share: how many connections each has, and how many there are in all.
public final class LoopGroup: Sendable {
  public let executors: [LoopExecutor]
  private let loads: [Counter]
  private let total = Atomic<Int>(0)
  private let limit = Atomic<Int>(Int.max)
  private let isPaused = Atomic<Bool>(false)

  private final class Counter: Sendable {
    let value = Atomic<Int>(0)
  }

  public init(count: Int) {
    executors = (0..<count).map { LoopExecutor(index: $0) }
    loads = (0..<count).map { _ in Counter() }
  }

  public func start() { for executor in executors { executor.start() } }

  /// Runs `body` on every loop.
  public func all(_ body: @escaping @Sendable (EventLoop) -> Void) {
    for executor in executors { executor.call(body) }
  }

  public var connectionLimit: Int {
    get { limit.load(ordering: .relaxed) }
    set { limit.store(newValue, ordering: .relaxed) }
  }
  public var connections: Int { total.load(ordering: .relaxed) }

  /// Which loop a connection accepted on `loop` should live on: another one when this one is ahead by more than max(4, 1/8).
  /// One shared socket with EPOLLEXCLUSIVE alone put 400 of 400 connections on one loop.
  public func home(for loop: Int) -> Int {
    if executors.count == 1 { return 0 }
    let own = loads[loop].value.load(ordering: .relaxed)
    var least = loop
    var leastLoad = own
    for (index, load) in loads.enumerated() {
      let value = load.value.load(ordering: .relaxed)
      if value < leastLoad { (least, leastLoad) = (index, value) }
    }
    return own - leastLoad > max(4, own / 8) ? least : loop
  }

  /// A connection was accepted and will live on `loop`.
  public func opened(on loop: Int) {
    loads[loop].value.add(1, ordering: .relaxed)
    total.add(1, ordering: .relaxed)
  }

  /// A connection has ended. True: acceptors that paused should go on.
  public func closed(on loop: Int) -> Bool {
    loads[loop].value.subtract(1, ordering: .relaxed)
    total.subtract(1, ordering: .relaxed)
    return isPaused.load(ordering: .relaxed) && isPaused.exchange(false, ordering: .relaxed)
  }

  /// Over the limit accepting is paused, not refused.
  public var isFull: Bool { total.load(ordering: .relaxed) >= limit.load(ordering: .relaxed) }
  public func pause() { isPaused.store(true, ordering: .relaxed) }
}
