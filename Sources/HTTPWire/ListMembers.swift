/// The members of a comma-separated field value (RFC 9110 section 5.6.1), without surrounding white space and without empty
/// members.
public struct ListMembers {
  private let head: UnsafeRawBufferPointer
  private let quotedStrings: Bool
  private var position: Int
  private let end: Int
  private var exhausted = false
  /// Whether a quoted string was not closed.
  public private(set) var isMalformed = false

  /// - Parameter quotedStrings: whether commas inside quoted strings do not separate. False for lists of tokens, where a
  ///   quotation mark has no meaning and must not hide a member.
  public init(_ value: ByteSlice, in head: UnsafeRawBufferPointer, quotedStrings: Bool = false) {
    precondition(value.end <= head.count, "slice outside of its head")
    self.head = head
    self.quotedStrings = quotedStrings
    position = value.start
    end = value.end
  }

  public mutating func next() -> ByteSlice? {
    while !exhausted {
      var start = position
      var stop = memberEnd()
      position = stop &+ 1
      exhausted = stop == end
      while start < stop, ASCII.isBlank(head[start]) { start &+= 1 }
      while stop > start, ASCII.isBlank(head[stop &- 1]) { stop &-= 1 }
      if start < stop { return ByteSlice(start, to: stop) }
    }
    return nil
  }

  @inline(__always)
  private mutating func memberEnd() -> Int {
    if quotedStrings { return quotingMemberEnd() }
    let rest = UnsafeRawBufferPointer(rebasing: head[position..<end])
    return firstIndex(of: ASCII.comma, in: rest).map { position &+ $0 } ?? end
  }

  private mutating func quotingMemberEnd() -> Int {
    var index = position
    var quoted = false
    while index < end {
      switch head[index] {
      case ASCII.backslash where quoted: index &+= 1
      case ASCII.quote: quoted = !quoted
      case ASCII.comma where !quoted: return index
      default: break
      }
      index &+= 1
    }
    if quoted { isMalformed = true }
    return end
  }
}
