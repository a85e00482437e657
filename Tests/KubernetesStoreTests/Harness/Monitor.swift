import Foundation

/// A value that threads share, and wait for.
final class Monitor<Value>: @unchecked Sendable {
  // SAFETY: `value` is touched only while `condition` is locked.
  private var value: Value
  private let condition = NSCondition()

  init(_ value: Value) { self.value = value }

  @discardableResult
  func change<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    condition.lock()
    defer {
      condition.broadcast()
      condition.unlock()
    }
    return try body(&value)
  }

  /// Waits until `find` returns a value; nil: the time is over.
  func wait<Found>(_ seconds: Double = 15, _ find: (Value) -> Found?) -> Found? {
    let end = Date(timeIntervalSinceNow: seconds)
    condition.lock()
    defer { condition.unlock() }
    while true {
      if let found = find(value) { return found }
      if !condition.wait(until: end) { return find(value) }
    }
  }
}

/// Waits until `fits` is true; checks every 20 ms. For what nobody announces, such as another process's state.
func eventually(seconds: Double = 15, _ fits: () throws -> Bool) throws -> Bool {
  let deadline = Date(timeIntervalSinceNow: seconds)
  while Date() < deadline {
    if try fits() { return true }
    usleep(20_000)
  }
  return try fits()
}
