import Synchronization

/// A place for one value, taken once.
final class Latch<Value: Sendable>: Sendable {
  private let value = Mutex<Value?>(nil)
  func put(_ next: Value) { value.withLock { $0 = next } }
  func take() -> Value? {
    value.withLock { value in
      defer { value = nil }
      return value
    }
  }
}
