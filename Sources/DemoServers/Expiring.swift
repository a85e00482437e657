import CSystem

/// Values that wait for somebody, each under its name and for a limited time.
struct Expiring<Value> {
  /// A demo may run for days: more are not kept.
  private static var limit: Int { 1000 }

  private var entries: [String: (value: Value, end: Int64)] = [:]

  /// - Parameter seconds: how long it waits.
  mutating func put(_ value: Value, under name: String, seconds: Int) {
    let now = csys_monotonic()
    entries = entries.filter { $0.value.end > now }
    if entries.count >= Self.limit, let first = entries.min(by: { $0.value.end < $1.value.end }) { entries[first.key] = nil }
    entries[name] = (value, now + Int64(seconds) * 1_000_000_000)
  }

  /// nil if there is none, or its time is over. A change keeps its time.
  subscript(name: String) -> Value? {
    get {
      guard let entry = entries[name], entry.end > csys_monotonic() else { return nil }
      return entry.value
    }
    set {
      if let newValue { entries[name]?.value = newValue } else { entries[name] = nil }
    }
  }

  mutating func take(_ name: String) -> Value? {
    defer { entries[name] = nil }
    return self[name]
  }

  func name(where fits: (Value) -> Bool) -> String? { entries.first { fits($0.value.value) }?.key }
}
