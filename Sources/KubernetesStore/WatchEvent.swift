import JSON

/// A line of a watch.
enum WatchEvent: Sendable, Hashable {
  case object(SecretObject)
  /// Nothing has changed up to this version.
  case bookmark(version: String)
  case deleted
  /// The changes since the version that was asked for are gone.
  case expired
  case failed(KubernetesFailure)

  static func parse(_ line: [UInt8], name: String, namespace: String) -> WatchEvent {
    guard let json = try? JSONParser.parse(line), let object = json["object"] else { return .failed(.malformed("is no event")) }
    switch json["type"]?.string {
    case "ADDED", "MODIFIED":
      guard let secret = SecretObject(object, name: name, namespace: namespace) else {
        return .failed(.malformed("has an event of another object"))
      }
      return .object(secret)
    case "DELETED":
      guard SecretObject(object, name: name, namespace: namespace) != nil else {
        return .failed(.malformed("has an event of another object"))
      }
      return .deleted
    case "BOOKMARK":
      guard let version = object["metadata"].flatMap(SecretObject.version) else {
        return .failed(.malformed("has a bookmark without a version"))
      }
      return .bookmark(version: version)
    case "ERROR":
      switch object["code"]?.integer {
      case 410: return .expired
      case 429: return .failed(.overloaded(retryAfter: nil))
      case let code?: return .failed(.broken(status: Int(clamping: code), retryAfter: nil))
      case nil: return .failed(.malformed("has an error without a code"))
      }
    // A kind that does not exist yet.
    case .some: return .failed(.malformed("has an unknown kind of event"))
    case nil: return .failed(.malformed("is no event"))
    }
  }
}

/// Bounds what one watch may cost: a fleet of 500 makes a few changes a second.
struct WatchBudget: Sendable {
  /// In a window.
  static let events = 2_000
  static let bytes = 256 << 20
  /// Nanoseconds.
  static let window: Int64 = 10_000_000_000

  private var start = Int64.min
  private var counted = 0
  private var size = 0

  /// - Returns: false: it is used up.
  mutating func take(bytes count: Int, now: Int64) -> Bool {
    if start == Int64.min || now - start >= Self.window {
      start = now
      counted = 0
      size = 0
    }
    counted += 1
    size += count
    return counted <= Self.events && size <= Self.bytes
  }
}
