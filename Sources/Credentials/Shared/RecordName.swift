import Crypto

/// Where a shared store keeps one credential's record. Part of what its seal authenticates, so that no record can be moved.
public struct RecordName: Sendable, Hashable {
  /// How a store writes keys.
  public enum Form: Sendable, Hashable {
    /// Of Redis: `<prefix><credential>:<digest>`.
    case prefixed
    /// Of the entries of a Kubernetes Secret, which have no colons and no prefix: `<credential>.<digest>`.
    case entry
  }

  /// What distinguishes the store's records from others there: of Redis the prefix of keys, of Kubernetes `<namespace>/<secret>`.
  public let prefix: String
  /// Name in the configuration.
  public let credential: String
  /// Of `TokenBinding`.
  public let binding: [UInt8]
  public let form: Form

  public init(prefix: String, credential: String, binding: [UInt8], form: Form = .prefixed) {
    self.prefix = prefix
    self.credential = credential
    self.binding = binding
    self.form = form
  }

  /// The beginning of the binding, which distinguishes configurations of one credential. The seal authenticates all of it.
  public var digest: String { String(decoding: Base64.encodeURL(Array(binding.prefix(15))), as: UTF8.self) }

  public var key: String {
    switch form {
    case .prefixed: "\(prefix)\(credential):\(digest)"
    case .entry: "\(credential).\(digest)"
    }
  }

  /// Associated data of the seal. Each part has its length, so that no two names have the same.
  var context: [UInt8] {
    var bytes = Array("authproxy shared token record 1".utf8)
    for part in [Array(prefix.utf8), Array(credential.utf8), binding] {
      withUnsafeBytes(of: UInt64(part.count).bigEndian) { bytes += $0 }
      bytes += part
    }
    return bytes
  }
}
