import Forwarding
import HTTPWire

/// A request as it will be written, with what is known of its body: all that a signature can be about. Valid as long as the bytes.
public struct SignableRequest {
  public let head: WrittenHead
  public let isTLS: Bool
  /// nil: it streams, or there is none.
  public let body: UnsafeRawBufferPointer?
  /// Of the body, by the hash that its length tells; nil: not computed.
  public let digest: [UInt8]?

  public init(_ head: WrittenHead, isTLS: Bool, body: UnsafeRawBufferPointer? = nil, digest: [UInt8]? = nil) {
    self.head = head
    self.isTLS = isTLS
    self.body = body
    self.digest = digest
  }

  func bytes(_ slice: ByteSlice) -> UnsafeRawBufferPointer { slice.bytes(in: head.bytes) }

  var method: UnsafeRawBufferPointer { bytes(head.method) }
  /// Origin-form, or `*`.
  var target: UnsafeRawBufferPointer { bytes(head.target) }
  /// The value of Host.
  var host: UnsafeRawBufferPointer { bytes(head.host) }

  /// As written; the asterisk-form has none.
  var path: UnsafeRawBufferPointer {
    let target = target
    if target.first == UInt8(ascii: "*") { return UnsafeRawBufferPointer(rebasing: target[..<0]) }
    return UnsafeRawBufferPointer(rebasing: target[..<(target.firstIndex(of: UInt8(ascii: "?")) ?? target.endIndex)])
  }

  /// With the question mark; empty if there is none.
  var query: UnsafeRawBufferPointer {
    let target = target
    return UnsafeRawBufferPointer(rebasing: target[(target.firstIndex(of: UInt8(ascii: "?")) ?? target.endIndex)...])
  }

  /// Appends the target URI (RFC 9110 section 7.1).
  func appendURL(to output: inout [UInt8]) {
    output.append(contentsOf: isTLS ? Self.https : Self.http)
    output.append(contentsOf: host)
    output.append(contentsOf: path)
    output.append(contentsOf: query)
  }

  private static let http = Array("http://".utf8)
  private static let https = Array("https://".utf8)

  // MARK: Fields

  /// Whether there is a field of this name.
  public func has(_ name: [UInt8]) -> Bool {
    var lines = FieldLines(bytes(head.fields))
    while let line = lines.next() { if equalsIgnoringCase(line.name, name) { return true } }
    return false
  }

  /// Where the lines of this name are, each with its CRLF, as offsets from the head's first byte; the last one first.
  public func lines(of name: [UInt8]) -> [ByteSlice] {
    var found: [ByteSlice] = []
    var lines = FieldLines(bytes(head.fields))
    var start = 0
    while let line = lines.next() {
      if equalsIgnoringCase(line.name, name) {
        found.append(ByteSlice(start: head.fields.start + start, count: lines.position - start))
      }
      start = lines.position
    }
    return found.reversed()
  }

  /// Appends a field's value: the lines of that name in their order, trimmed, without line folding, with `, ` between them (RFC 9421
  /// section 2.1).
  /// - Returns: whether there is such a field.
  @discardableResult
  func append(field name: [UInt8], to output: inout [UInt8]) -> Bool {
    var isFound = false
    var lines = FieldLines(bytes(head.fields))
    while let line = lines.next() {
      guard equalsIgnoringCase(line.name, name) else { continue }
      if isFound {
        output.append(UInt8(ascii: ","))
        output.append(0x20)
      }
      isFound = true
      Self.append(unfolded: line.value, to: &output)
    }
    return isFound
  }

  /// RFC 9112 section 5.2: a line break and the white space around it are one space.
  private static func append(unfolded value: UnsafeRawBufferPointer, to output: inout [UInt8]) {
    guard value.contains(0x0a) else { return output.append(contentsOf: value) }
    var isPending = false
    for byte in value {
      switch byte {
      case 0x0d, 0x0a: isPending = true
      case 0x20 where isPending, 0x09 where isPending: break
      default:
        if isPending { while output.last == 0x20 || output.last == 0x09 { output.removeLast() } }
        if isPending { output.append(0x20) }
        isPending = false
        output.append(byte)
      }
    }
  }
}

/// The field lines of a head, one after the other. A folded line is one.
struct FieldLines {
  private let bytes: UnsafeRawBufferPointer
  /// Of the next line.
  private(set) var position = 0

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  /// The value is trimmed.
  mutating func next() -> (name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer)? {
    while position < bytes.count {
      let start = position
      var colon = -1
      var index = start
      while index < bytes.count {
        if bytes[index] == 0x0a {
          let next = index + 1
          if next >= bytes.count || (bytes[next] != 0x20 && bytes[next] != 0x09) { break }
        } else if bytes[index] == UInt8(ascii: ":"), colon < 0 {
          colon = index
        }
        index += 1
      }
      position = min(index + 1, bytes.count)
      guard colon > start else { continue }
      var (from, to) = (colon + 1, index)
      while from < to, Self.isSpace(bytes[from]) { from += 1 }
      while to > from, Self.isSpace(bytes[to - 1]) { to -= 1 }
      return (
        UnsafeRawBufferPointer(rebasing: bytes[start..<colon]), UnsafeRawBufferPointer(rebasing: bytes[from..<to])
      )
    }
    return nil
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0d || byte == 0x0a }
}
