import CSystem
import Dispatch
import Synchronization

/// All that other threads hold of a loop: they send it work.
public final class LoopExecutor: Sendable {
  typealias Message = @Sendable (EventLoop) -> Void

  public let index: Int
  let wakeup = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
  private let mail = Mutex<[Message]>([])

  /// - Parameter index: the loop's place among its siblings, from 0.
  public init(index: Int = 0) { self.index = index }

  /// Starts the loop: one never-ending work item on a serial queue of its own; nothing else is ever submitted there.
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
