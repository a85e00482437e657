import Crypto
import JSON

/// A state of the Secret that keeps the records. Whatever else it has, belongs to others.
struct SecretObject: Sendable, Hashable {
  /// Bytes of an object's JSON: etcd takes requests of 1.5 MiB, and the server adds a little.
  static let maximumSize = 2 << 20
  private static let longestVersion = 128

  /// `metadata.resourceVersion`: opaque, but printable.
  let version: String
  /// `data`: Base64, as the server writes it.
  let entries: [String: String]

  init(version: String, entries: [String: String] = [:]) {
    self.version = version
    self.entries = entries
  }

  /// nil: this is not the object.
  init?(_ json: JSONValue, name: String, namespace: String) {
    guard let metadata = json["metadata"], metadata["name"]?.string == name, metadata["namespace"]?.string == namespace,
      let version = Self.version(metadata)
    else { return nil }
    self.version = version
    var entries: [String: String] = [:]
    switch json["data"] {
    case nil, .null: break
    case .object(let members):
      for member in members {
        guard let text = member.value.string else { return nil }
        entries[member.name] = text
      }
    default: return nil
    }
    self.entries = entries
  }

  static func version(_ metadata: JSONValue) -> String? {
    guard let version = metadata["resourceVersion"]?.string, (1...longestVersion).contains(version.utf8.count),
      version.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
    else { return nil }
    return version
  }

  enum Entry: Sendable, Hashable {
    case absent
    case value([UInt8])
    /// Not Base64, which no API server lets pass.
    case unreadable
  }

  func entry(_ key: String) -> Entry {
    guard let text = entries[key] else { return .absent }
    return Base64.decode(text.utf8).map { .value($0) } ?? .unreadable
  }

  /// Keys whose entry differs.
  func changes(since before: SecretObject?) -> Set<String> {
    guard let before else { return Set(entries.keys) }
    let candidates = Set(entries.keys).union(before.entries.keys)
    return candidates.filter { entries[$0] != before.entries[$0] }
  }

  /// A merge patch (RFC 7396) that replaces one entry if this state stands, and leaves everything else alone.
  func patch(_ key: String, to value: [UInt8]) -> [UInt8] {
    let text = String(decoding: Base64.encode(value), as: UTF8.self)
    let patch: JSONValue = [
      "metadata": ["resourceVersion": .string(version)], "data": .object([.init(name: key, value: .string(text))]),
    ]
    return patch.text
  }
}
