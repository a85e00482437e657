import CSystem
import Dispatch
import Synchronization

/// The part of a loop that other threads may hold: they send it work.
public final class LoopExecutor: Sendable {
  typealias Message = @Sendable (EventLoop) -> Void

  public let index: Int
  let wakeup = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
  private let mail = Mutex<[Message]>([])

  /// - Parameter index: the loop's number, from 0.
  public init(index: Int = 0) { self.index = index }

  /// Starts the loop as one endless work item on its own serial queue. Nothing else ever runs on that queue.
  public func start() {
    DispatchQueue(label: "loop.\(index)").async { @Sendable in EventLoop(self).run() }
  }

  /// Runs `body` on the loop, soon.
  public func call(_ body: @escaping @Sendable (EventLoop) -> Void) {
    let first = mail.withLock {
      $0.append(body)
      return $0.count == 1
    }
    if first { _ = eventfd_write(wakeup, 1) }
  }

  func take() -> [Message] {
    mail.withLock {
      let all = $0
      $0 = []
      return all
    }
  }
}
