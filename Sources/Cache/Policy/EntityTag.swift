import HTTPWire

/// An entity tag (RFC 9110 section 8.8.3).
public struct EntityTag: Sendable, Hashable {
  public let isWeak: Bool
  /// With its quotation marks.
  public let opaque: [UInt8]

  /// The field's value, or nil if it is no entity tag.
  public init?(_ text: UnsafeRawBufferPointer) {
    let isWeak = text.count > 2 && text[0] == 0x57 && text[1] == 0x2f
    let opaque = UnsafeRawBufferPointer(rebasing: isWeak ? text[2...] : text[...])
    let end = opaque.count &- 1
    guard end > 0, opaque[0] == 0x22, opaque[end] == 0x22 else { return nil }
    var index = 1
    while index < end {
      guard Self.isOpaque(opaque[index]) else { return nil }
      index &+= 1
    }
    self.init(isWeak: isWeak, opaque: Array(opaque))
  }

  /// A byte between the quotation marks.
  @inline(__always)
  fileprivate static func isOpaque(_ byte: UInt8) -> Bool { byte > 0x20 && byte != 0x22 && byte != 0x7f }

  fileprivate init(isWeak: Bool, opaque: [UInt8]) {
    self.isWeak = isWeak
    self.opaque = opaque
  }

  /// As a field's value.
  public var text: [UInt8] { isWeak ? [0x57, 0x2f] + opaque : opaque }

  /// For If-None-Match.
  public func matchesWeakly(_ other: EntityTag) -> Bool { opaque == other.opaque }
  /// For If-Range, and to select what a 304 renews.
  public func matchesStrongly(_ other: EntityTag) -> Bool { !isWeak && !other.isWeak && opaque == other.opaque }
}

/// A list of entity tags. A backslash in one is no escape, unlike in a quoted string.
struct EntityTags {
  private let text: UnsafeRawBufferPointer
  private var position = 0
  /// The rest is no entity tag.
  private(set) var isMalformed = false

  init(_ text: UnsafeRawBufferPointer) { self.text = text }

  mutating func next() -> EntityTag? {
    while position < text.count, isBlank(text[position]) || text[position] == 0x2c { position += 1 }
    guard position < text.count, !isMalformed else { return nil }
    var start = position
    let isWeak = text[start] == 0x57 && start + 1 < text.count && text[start + 1] == 0x2f
    if isWeak { start += 2 }
    guard start < text.count, text[start] == 0x22 else { return fail() }
    var end = start + 1
    while end < text.count, text[end] != 0x22 {
      guard EntityTag.isOpaque(text[end]) else { return fail() }
      end += 1
    }
    guard end < text.count else { return fail() }
    position = end + 1
    let tag = EntityTag(isWeak: isWeak, opaque: Array(text[start...end]))
    while position < text.count, isBlank(text[position]) { position += 1 }
    guard position == text.count || text[position] == 0x2c else { return fail() }
    return tag
  }

  private mutating func fail() -> EntityTag? {
    isMalformed = true
    return nil
  }
}
