import Crypto

/// SHA-256 as a value without storage of its own.
public struct CacheDigest: Sendable, Hashable {
  private let words: (UInt64, UInt64, UInt64, UInt64)

  /// Of nothing: for example of a request without fields that tell it apart.
  public static let none = CacheDigest(words: (0, 0, 0, 0))

  private init(words: (UInt64, UInt64, UInt64, UInt64)) { self.words = words }

  init(of message: UnsafeRawBufferPointer) {
    let digest = SHA256.digest(message)
    words = digest.withUnsafeBytes { bytes in
      func word(_ index: Int) -> UInt64 { bytes.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self) }
      return (word(0), word(1), word(2), word(3))
    }
  }

  /// Over all parts with their lengths, so that different lists have different digests.
  public init(parts: [[UInt8]]) {
    var message: [UInt8] = []
    for part in parts { message.append(part: part) }
    self = message.withUnsafeBytes { CacheDigest(of: $0) }
  }

  /// 64 bits of it, for tables.
  var short: UInt64 { words.0 }

  public static func == (one: CacheDigest, other: CacheDigest) -> Bool {
    one.words.0 == other.words.0 && one.words.1 == other.words.1 && one.words.2 == other.words.2 && one.words.3 == other.words.3
  }
  public func hash(into hasher: inout Hasher) { hasher.combine(words.0) }
  var bytes: [UInt8] { withUnsafeBytes(of: words) { Array($0) } }
  /// 32 bytes.
  func write(to bytes: UnsafeMutableRawBufferPointer) { withUnsafeBytes(of: words) { bytes.copyMemory(from: $0) } }
}

extension [UInt8] {
  mutating func append(length: Int) {
    Swift.withUnsafeBytes(of: UInt32(truncatingIfNeeded: length).bigEndian) { append(contentsOf: $0) }
  }
  mutating func append(part: [UInt8]) {
    append(length: part.count)
    append(contentsOf: part)
  }
}
