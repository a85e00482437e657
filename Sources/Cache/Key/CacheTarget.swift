import HTTPWire

/// The primary key: an origin, and path and query of a target URI there, byte for byte. Which Host it was asked for is the partition's, so
/// that all of them are invalidated at once.
public struct CacheTarget: Sendable, Hashable {
  /// 32 bytes of the origin's digest, and the target in origin-form.
  private let bytes: [UInt8]
  let hash: Int
  private static let pathStart = 32

  /// - Parameters:
  ///   - origin: of the partition.
  ///   - path: target in origin-form as forwarded, without what the credential adds.
  public init(origin: CacheDigest, path: UnsafeRawBufferPointer) {
    let start = Self.pathStart
    var hasher = Hasher()
    bytes = [UInt8](unsafeUninitializedCapacity: start + 1 + path.count) { buffer, count in
      let bytes = UnsafeMutableRawBufferPointer(buffer)
      origin.write(to: bytes)
      var end = start
      // An empty path and `/` are one target (RFC 9110 section 4.2.3).
      if path.first != UInt8(ascii: "/") {
        bytes[end] = UInt8(ascii: "/")
        end += 1
      }
      if !path.isEmpty { UnsafeMutableRawBufferPointer(rebasing: bytes[end...]).copyMemory(from: path) }
      count = end + path.count
      hasher.combine(origin.short)
      hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: bytes[start..<count]))
    }
    hash = hasher.finalize()
  }

  /// Bytes that it occupies.
  var size: Int { bytes.count }

  /// Path and query.
  public var path: [UInt8] { Array(bytes[Self.pathStart...]) }

  public static func == (one: CacheTarget, other: CacheTarget) -> Bool {
    one.hash == other.hash
      && one.bytes.withUnsafeBytes { bytes in other.bytes.withUnsafeBytes { equalBytes(bytes, $0) } }
  }
  public func hash(into hasher: inout Hasher) { hasher.combine(hash) }
  /// Of tables: the hash is made with the process's seed already, so to hash it again would gain nothing. Tables use the low bits first,
  /// and a shard has those targets whose low six bits are the same.
  public func _rawHashValue(seed: Int) -> Int { hash >> 6 ^ seed }
}
