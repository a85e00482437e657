/// The members of a comma-separated field value (RFC 9110 section 5.6.1), without the white space around them. Commas inside a quoted string
/// or a comment do not separate. Empty members are left out; `sawEmpty` tells that there was one.
public struct ListMembers {
  private let head: UnsafeRawBufferPointer
  private var position: Int
  private let end: Int
  private var exhausted = false
  public private(set) var sawEmpty = false

  public init(_ value: Slice, in head: UnsafeRawBufferPointer) {
    precondition(value.end <= head.count, "slice outside of its head")
    self.head = head
    position = value.start
    end = value.end
  }

  public mutating func next() -> Slice? {
    while !exhausted {
      var start = position
      var index = position
      var quoted = false
      var depth = 0
      scan: while index < end {
        switch head[index] {
        case ASCII.backslash where quoted || depth > 0: index &+= 1
        case ASCII.quote: quoted.toggle()
        case UInt8(ascii: "(") where !quoted: depth &+= 1
        case UInt8(ascii: ")") where !quoted && depth > 0: depth &-= 1
        case ASCII.comma where !quoted && depth == 0: break scan
        default: break
        }
        index &+= 1
      }
      var stop = min(index, end)
      position = stop &+ 1
      exhausted = stop == end
      while start < stop, ASCII.isBlank(head[start]) { start &+= 1 }
      while stop > start, ASCII.isBlank(head[stop &- 1]) { stop &-= 1 }
      if start < stop { return Slice(start, to: stop) }
      sawEmpty = true
    }
    return nil
  }
}
