import CSystem
import Dispatch
import Synchronization

/// All that other threads hold of a loop: they post to it and run actors on it.
public final class LoopExecutor: SerialExecutor {
  public enum Message: Sendable {
    case job(UnownedJob)
    case call(@Sendable (EventLoop) -> Void)
  }

  public let index: Int
  let wakeup = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
  private let mail = Mutex<[Message]>([])
  private let thread = Atomic<UInt>(0)

  /// - Parameter index: the loop's place among its siblings, from 0.
  public init(index: Int = 0) { self.index = index }

  /// Starts the loop: one never-ending work item on a serial queue of its own; nothing else is ever submitted there.
  public func start() {
    DispatchQueue(label: "loop.\(index)").async { @Sendable in EventLoop(self).run() }
  }

  public func post(_ message: Message) {
    let first = mail.withLock {
      $0.append(message)
      return $0.count == 1
    }
    if first { _ = eventfd_write(wakeup, 1) }
  }

  /// Runs `body` on the loop, soon.
  public func call(_ body: @escaping @Sendable (EventLoop) -> Void) { post(.call(body)) }

  public func enqueue(_ job: consuming ExecutorJob) { post(.job(UnownedJob(job))) }
  public func checkIsolated() {
    precondition(thread.load(ordering: .relaxed) == UInt(pthread_self()), "touched from outside of its loop")
  }

  func adopt() { thread.store(UInt(pthread_self()), ordering: .relaxed) }

  func take() -> [Message] {
    mail.withLock {
      let all = $0
      $0 = []
      return all
    }
  }
}
