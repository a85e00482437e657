import Crypto

/// Where a shared store keeps one credential's record. Part of what its seal authenticates, so that no record can be moved.
public struct RecordName: Sendable, Hashable {
  public let prefix: String
  /// Name in the configuration.
  public let credential: String
  /// Of `TokenBinding`.
  public let binding: [UInt8]

  public init(prefix: String, credential: String, binding: [UInt8]) {
    self.prefix = prefix
    self.credential = credential
    self.binding = binding
  }

  /// The beginning of the binding, which distinguishes configurations of one credential. The seal authenticates all of it.
  public var digest: String { String(decoding: Base64.encodeURL(Array(binding.prefix(15))), as: UTF8.self) }

  /// Of Redis: `<prefix><credential>:<digest>`.
  public var key: String { "\(prefix)\(credential):\(digest)" }

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
