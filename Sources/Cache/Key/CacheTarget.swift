import HTTPWire

/// The primary key: an origin, and path and query of a target URI there, byte for byte. Which Host it was asked for is the partition's, so
/// that all of them are invalidated at once.
public struct CacheTarget: Sendable, Hashable {
  private let origin: CacheDigest
  /// Path and query.
  public let path: [UInt8]
  let hash: Int

  /// - Parameters:
  ///   - origin: of the partition.
  ///   - path: target in origin-form as forwarded, without what the credential adds.
  public init(origin: CacheDigest, path: UnsafeRawBufferPointer) {
    self.origin = origin
    // An empty path and `/` are one target (RFC 9110 section 4.2.3).
    self.path = path.first == UInt8(ascii: "/") ? Array(path) : [UInt8(ascii: "/")] + path
    var hasher = Hasher()
    hasher.combine(origin.short)
    self.path.withUnsafeBytes { hasher.combine(bytes: $0) }
    hash = hasher.finalize()
  }

  /// Bytes that it occupies.
  var size: Int { path.count + 32 }

  public static func == (one: CacheTarget, other: CacheTarget) -> Bool {
    one.hash == other.hash && one.origin == other.origin
      && one.path.withUnsafeBytes { bytes in other.path.withUnsafeBytes { equalBytes(bytes, $0) } }
  }
  public func hash(into hasher: inout Hasher) { hasher.combine(hash) }
  /// Of tables: the hash is made with the process's seed already, so to hash it again would gain nothing. Tables use the low bits first,
  /// and a shard has those targets whose low six bits are the same.
  public func _rawHashValue(seed: Int) -> Int { hash >> 6 ^ seed }
}
