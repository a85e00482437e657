import Dispatch
import Synchronization

/// Runs blocking calls on a few serial queues with one bounded backlog. Never use `global()` or a Task for them: what blocks
/// there keeps everything else from starting.
public final class Lane: Sendable {
  public static let files = Lane(label: "lane.files", width: 1, backlog: 4096)
  public static let helpers = Lane(label: "lane.helpers", width: 2, backlog: 64)

  private let queues: [DispatchQueue]
  private let backlog: Int
  private let waiting = Atomic<Int>(0)
  private let next = Atomic<Int>(0)

  public init(label: String, width: Int, backlog: Int) {
    queues = (0..<width).map { DispatchQueue(label: "\(label).\($0)") }
    self.backlog = backlog
  }

  /// Runs `work` soon, in order with other work of its queue. Returns false and does nothing if the backlog is full.
  public func run(_ work: @escaping @Sendable () -> Void) -> Bool {
    guard waiting.add(1, ordering: .relaxed).newValue <= backlog else {
      waiting.subtract(1, ordering: .relaxed)
      return false
    }
    let index = next.add(1, ordering: .relaxed).newValue
    queues[abs(index % queues.count)].async { @Sendable in
      work()
      self.waiting.subtract(1, ordering: .relaxed)
    }
    return true
  }
}
