import HTTPWire

/// The fields of a request that say how an AWS service reads its body.
public struct AWSFields {
  /// A field line: its value, and where it is with its CRLF.
  public struct Line {
    public let value: ByteSlice
    public let whole: ByteSlice
  }

  /// X-Amz-Content-Sha256.
  public private(set) var payload: Line?
  /// X-Amz-Content-Sha256 is there more than once.
  public private(set) var isRepeated = false
  /// One of these fields is written with `_`, which many servers take for the one with `-`: the origin could read another value than is
  /// signed.
  public private(set) var isAmbiguous = false
  /// X-Amz-Decoded-Content-Length.
  public private(set) var decodedLength: ByteSlice?
  /// X-Amz-Trailer.
  public private(set) var trailers: [ByteSlice] = []
  public private(set) var contentType: ByteSlice?

  private static let names = [
    "x-amz-content-sha256", "x-amz-decoded-content-length", "x-amz-trailer", "content-type",
  ].map { Array($0.utf8) }

  /// - Parameters:
  ///   - lines: each with CRLF.
  ///   - head: what `lines` is a slice of.
  public init(_ lines: ByteSlice, in head: UnsafeRawBufferPointer) {
    var index = lines.start
    while index < lines.end {
      let start = index
      var colon: Int?
      while index < lines.end, head[index] != 0x0a {
        if colon == nil, head[index] == UInt8(ascii: ":") { colon = index }
        index += 1
      }
      index = min(index + 1, lines.end)
      guard let colon else { continue }
      take(ByteSlice(start: start, count: colon - start), colon, ByteSlice(start: start, count: index - start), head)
    }
  }

  private mutating func take(_ name: ByteSlice, _ colon: Int, _ whole: ByteSlice, _ head: UnsafeRawBufferPointer) {
    // Almost no field is one of them.
    guard (12...28).contains(name.count), head[name.start] | 0x20 == UInt8(ascii: "x") || name.count == 12 else { return }
    if name.bytes(in: head).contains(UInt8(ascii: "_")) {
      for known in Self.names where fieldNameEquals(name.bytes(in: head), known) { isAmbiguous = true }
      return
    }
    var (start, end) = (colon + 1, whole.end)
    while end > start, head[end - 1] <= 0x20 { end -= 1 }
    while start < end, head[start] == 0x20 || head[start] == 0x09 { start += 1 }
    let value = ByteSlice(start: start, count: end - start)
    if name.equalsIgnoringCase("x-amz-content-sha256", in: head) {
      isRepeated = payload != nil
      payload = Line(value: value, whole: whole)
    } else if name.equalsIgnoringCase("x-amz-decoded-content-length", in: head) {
      decodedLength = value
    } else if name.equalsIgnoringCase("x-amz-trailer", in: head) {
      trailers.append(value)
    } else if name.equalsIgnoringCase("content-type", in: head) {
      contentType = value
    }
  }

  /// The number in X-Amz-Decoded-Content-Length; nil: there is none.
  /// - Throws: it is not a number.
  public func announcedLength(in head: UnsafeRawBufferPointer) throws(BodyTransformError) -> Int64? {
    guard let decodedLength else { return nil }
    let digits = decodedLength.bytes(in: head)
    guard (1...18).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) }) else {
      throw .malformed("X-Amz-Decoded-Content-Length is not a number")
    }
    return digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
  }

  /// The names in X-Amz-Trailer, in lower case.
  public func trailerNames(in head: UnsafeRawBufferPointer) -> [[UInt8]] {
    var names: [[UInt8]] = []
    for trailer in trailers {
      var members = ListMembers(trailer, in: head)
      while let member = members.next() {
        names.append(member.bytes(in: head).map { $0 &- 0x41 < 26 ? $0 | 0x20 : $0 })
      }
    }
    return names
  }
}
