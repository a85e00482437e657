import Dispatch
import Synchronization

extension DispatchQueue {
  /// Runs `body` on this queue and waits for its end, but no longer than this: what touches a file, a pipe or a terminal may hang
  /// for ever.
  /// - Parameter milliseconds: counts from now, so that waiting for what is before it on the queue is included.
  /// - Returns: nil if time was up. Then `body` still runs, and its result is dropped.
  public func run<Result: Sendable>(within milliseconds: Int, _ body: @escaping @Sendable () -> Result) -> Result? {
    let outcome = Outcome<Result>()
    async { @Sendable in outcome.set(body()) }
    return outcome.wait(milliseconds)
  }
}

/// A value on its way from one thread to another.
private final class Outcome<Value: Sendable>: Sendable {
  private let value = Mutex<Value?>(nil)
  private let isThere = DispatchSemaphore(value: 0)

  func set(_ value: Value) {
    self.value.withLock { $0 = value }
    isThere.signal()
  }

  func wait(_ milliseconds: Int) -> Value? {
    guard isThere.wait(timeout: .now() + .milliseconds(milliseconds)) == .success else { return nil }
    return value.withLock { $0 }
  }
}
