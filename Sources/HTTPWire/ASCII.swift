/// Character classes of RFC 9110 section 5.6 and RFC 9112.
enum ASCII {
  static let tab: UInt8 = 0x09
  static let lf: UInt8 = 0x0a
  static let cr: UInt8 = 0x0d
  static let space: UInt8 = 0x20
  static let quote: UInt8 = 0x22
  static let hash: UInt8 = 0x23
  static let percent: UInt8 = 0x25
  static let star: UInt8 = 0x2a
  static let comma: UInt8 = 0x2c
  static let hyphen: UInt8 = 0x2d
  static let dot: UInt8 = 0x2e
  static let slash: UInt8 = 0x2f
  static let zero: UInt8 = 0x30
  static let nine: UInt8 = 0x39
  static let colon: UInt8 = 0x3a
  static let semicolon: UInt8 = 0x3b
  static let equals: UInt8 = 0x3d
  static let question: UInt8 = 0x3f
  static let at: UInt8 = 0x40
  static let openBracket: UInt8 = 0x5b
  static let backslash: UInt8 = 0x5c
  static let closeBracket: UInt8 = 0x5d
  static let underscore: UInt8 = 0x5f
  static let delete: UInt8 = 0x7f

  /// tchar of RFC 9110 section 5.6.2: 1 for members, 0 for other bytes. A table, as it is used for each byte of every method
  /// and field name.
  private static let tokens: StaticString =
    """
    \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
    \0\u{1}\0\u{1}\u{1}\u{1}\u{1}\u{1}\0\0\u{1}\u{1}\0\u{1}\u{1}\0\
    \u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\0\0\0\0\0\0\
    \0\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\
    \u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\0\0\0\u{1}\u{1}\
    \u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\
    \u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\0\u{1}\0\u{1}\0\
    \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
    \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
    \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
    \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0
    """

  @inline(__always)
  static func isToken(_ byte: UInt8) -> Bool { tokens.utf8Start[Int(byte)] != 0 }
  @inline(__always)
  static func isBlank(_ byte: UInt8) -> Bool { byte == space || byte == tab }
  @inline(__always)
  static func isDigit(_ byte: UInt8) -> Bool { byte &- zero <= 9 }
  @inline(__always)
  static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- 0x61 < 26 }
  @inline(__always)
  static func lower(_ byte: UInt8) -> UInt8 { byte &- 0x41 < 26 ? byte | 0x20 : byte }
  /// A control other than HTAB, which no line may contain.
  @inline(__always)
  static func isControl(_ byte: UInt8) -> Bool { (byte < 0x20 && byte != tab) || byte == delete }
  /// nil if it is not a hexadecimal digit.
  @inline(__always)
  static func hexValue(_ byte: UInt8) -> UInt8? {
    if isDigit(byte) { return byte &- zero }
    let letter = (byte | 0x20) &- 0x61
    return letter < 6 ? letter + 10 : nil
  }
}

/// Eight bytes of a literal as one number, to compare a whole word of input at once. The compiler folds it.
@inline(__always)
func word64(_ text: StaticString, at offset: Int = 0) -> UInt64 {
  UInt64(littleEndian: UnsafeRawPointer(text.utf8Start + offset).loadUnaligned(as: UInt64.self))
}
@inline(__always)
func word32(_ text: StaticString, at offset: Int = 0) -> UInt32 {
  UInt32(littleEndian: UnsafeRawPointer(text.utf8Start + offset).loadUnaligned(as: UInt32.self))
}
@inline(__always)
func load64(_ base: UnsafePointer<UInt8>) -> UInt64 {
  UInt64(littleEndian: UnsafeRawPointer(base).loadUnaligned(as: UInt64.self))
}
@inline(__always)
func load32(_ base: UnsafePointer<UInt8>) -> UInt32 {
  UInt32(littleEndian: UnsafeRawPointer(base).loadUnaligned(as: UInt32.self))
}

/// The index of the first byte at or after `index` that is a control (HTAB too, DEL too), or `count`. Eight bytes at a time.
@inline(__always)
func firstControl(_ base: UnsafePointer<UInt8>, from index: Int, to count: Int) -> Int {
  var index = index
  while index &+ 8 <= count {
    let word = load64(base + index)
    let below = (word &- 0x2020_2020_2020_2020) & ~word
    let delete = word ^ 0x7f7f_7f7f_7f7f_7f7f
    // A borrow can only flag bytes above a true hit, so the lowest flag is exact.
    let hits = (below | ((delete &- 0x0101_0101_0101_0101) & ~delete)) & 0x8080_8080_8080_8080
    if hits != 0 { return index &+ hits.trailingZeroBitCount >> 3 }
    index &+= 8
  }
  while index < count, base[index] >= 0x20, base[index] != ASCII.delete { index &+= 1 }
  return index
}

/// The index of the first byte at or after `index` that is a control below 0x20 or a colon. `count` if there is none, or if fewer than
/// eight bytes are left before it is found.
@inline(__always)
func firstControlOrColon(_ base: UnsafePointer<UInt8>, from index: Int, to count: Int) -> Int {
  var index = index
  while index &+ 8 <= count {
    let word = load64(base + index)
    let colon = word ^ 0x3a3a_3a3a_3a3a_3a3a
    // As in `firstControl`, the lowest flag is exact.
    let hits = (((word &- 0x2020_2020_2020_2020) & ~word) | ((colon &- 0x0101_0101_0101_0101) & ~colon)) & 0x8080_8080_8080_8080
    if hits != 0 { return index &+ hits.trailingZeroBitCount >> 3 }
    index &+= 8
  }
  return count
}

/// The index of the first byte at or after `index` that is not a visible ASCII character (0x21...0x7e), or `count`.
@inline(__always)
func firstInvisible(_ base: UnsafePointer<UInt8>, from index: Int, to count: Int) -> Int {
  var index = index
  while index &+ 8 <= count {
    let word = load64(base + index)
    let below = (word &- 0x2121_2121_2121_2121) & ~word
    let delete = word ^ 0x7f7f_7f7f_7f7f_7f7f
    let hits = (below | word | ((delete &- 0x0101_0101_0101_0101) & ~delete)) & 0x8080_8080_8080_8080
    if hits != 0 { return index &+ hits.trailingZeroBitCount >> 3 }
    index &+= 8
  }
  while index < count, base[index] &- 0x21 < 0x5e { index &+= 1 }
  return index
}

/// The index of the first `byte`, or nil. Eight bytes at a time, as targets can be long.
func firstIndex(of byte: UInt8, in bytes: UnsafeRawBufferPointer) -> Int? {
  guard let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return nil }
  let pattern = 0x0101_0101_0101_0101 &* UInt64(byte)
  var index = 0
  if bytes.count >= 8 {
    let last = bytes.count &- 8
    while true {
      let word = load64(base + index) ^ pattern
      // As in `firstControl`, the lowest flag is exact.
      let hits = (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080
      if hits != 0 { return index &+ hits.trailingZeroBitCount >> 3 }
      if index == last { return nil }
      // The last eight overlap with the ones before, which have no hit.
      index = min(index &+ 8, last)
    }
  }
  while index < bytes.count {
    if base[index] == byte { return index }
    index &+= 1
  }
  return nil
}
