import Dispatch
import Synchronization

/// Passes a value from one thread to another that waits for it.
public final class Handover<Value: Sendable>: Sendable {
  private let value = Mutex<Value?>(nil)
  private let isThere = DispatchSemaphore(value: 0)

  public init() {}

  /// Call it once.
  public func put(_ value: Value) {
    self.value.withLock { $0 = value }
    isThere.signal()
  }

  /// Blocks until the value is there; call it once.
  public func take() -> Value {
    while true {
      isThere.wait()
      if let value = value.withLock({ $0 }) { return value }
    }
  }

  /// Blocks until the value is there or the time is over.
  public func take(within milliseconds: Int) -> Value? {
    guard isThere.wait(timeout: .now() + .milliseconds(milliseconds)) == .success else { return nil }
    return value.withLock { $0 }
  }
}
