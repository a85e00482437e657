/// The primary key: origin and target URI. The URI counts byte for byte, with its query; only the host is lower-case.
public struct CacheTarget: Sendable, Hashable {
  /// 32 bytes of the origin's digest, `host[:port]`, and the target in origin-form.
  private let bytes: [UInt8]
  let hash: Int
  private let pathStart: Int

  /// - Parameters:
  ///   - origin: of the partition.
  ///   - authority: as forwarded in Host; it is made lower-case.
  ///   - path: target in origin-form as forwarded, without what the credential adds.
  public init(origin: CacheDigest, authority: UnsafeRawBufferPointer, path: UnsafeRawBufferPointer) {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(32 + authority.count + max(1, path.count))
    origin.append(to: &bytes)
    for byte in authority { bytes.append(lowerCase(byte)) }
    pathStart = bytes.count
    // An empty path and `/` are one target (RFC 9110 section 4.2.3).
    if path.first != UInt8(ascii: "/") { bytes.append(UInt8(ascii: "/")) }
    bytes.append(contentsOf: path)
    self.bytes = bytes
    var hasher = Hasher()
    bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    hash = hasher.finalize()
  }

  /// Bytes that it occupies.
  var size: Int { bytes.count }

  /// `host[:port]`, lower-case.
  public var authority: [UInt8] { Array(bytes[32..<pathStart]) }
  /// Path and query.
  public var path: [UInt8] { Array(bytes[pathStart...]) }

  public static func == (one: CacheTarget, other: CacheTarget) -> Bool { one.hash == other.hash && one.bytes == other.bytes }
  public func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}
