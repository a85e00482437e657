/// How a message's body is delimited on the wire (RFC 9112 section 6.3).
public enum BodyFraming: Sendable, Hashable {
  case none
  /// Bytes; never negative. 0 if the message itself says so.
  case length(Int64)
  case chunked
  /// The end of the connection ends the body: responses only.
  case untilClose

  /// Whether bytes may follow the head.
  @inlinable
  public var hasBytes: Bool { self != .none && self != .length(0) }
}

public typealias FramingError = HeadError

extension RequestHead {
  /// The only decision about a request's body, from all of its fields and in the same way for every method. No other code may
  /// read Content-Length or Transfer-Encoding to find a request's end.
  public func framing(in bytes: UnsafeRawBufferPointer) throws(FramingError) -> BodyFraming {
    guard present.intersects(framingFields) else { return .none }
    let framing = try declaredFraming(fields, minorVersion, in: bytes) ?? .none
    guard framing.hasBytes else { return framing }
    // RFC 9110 sections 9.3.6 and 9.3.8.
    if method == .trace { throw .bodyWithTrace }
    if method == .connect { throw .bodyWithConnect }
    return framing
  }
}

extension ResponseHead {
  /// The only decision about a response's body, given the method of its request.
  public func framing(to method: Method, in bytes: UnsafeRawBufferPointer) throws(FramingError) -> BodyFraming {
    // A tunnel begins, whatever the fields say (RFC 9112 section 6.3, rule 2).
    if method == .connect, 200..<300 ~= status { return .none }
    let declared = present.intersects(framingFields) ? try declaredFraming(fields, minorVersion, in: bytes) : nil
    if method == .head || status < 200 || status == 204 || status == 304 { return .none }
    return declared ?? .untilClose
  }

  /// The value of Content-Length, also without a body (HEAD, 304), for the new head. nil if there is none, or if `framing`
  /// would throw.
  public func contentLength(in bytes: UnsafeRawBufferPointer) -> Int64? {
    guard contains(.contentLength), let framing = try? declaredFraming(fields, minorVersion, in: bytes),
      case .length(let length) = framing
    else { return nil }
    return length
  }
}

private let framingFields = FieldSet(.contentLength, .transferEncoding)

/// What the framing fields say together; nil if there are none.
private func declaredFraming(
  _ fields: ContiguousArray<Field>, _ minorVersion: UInt8, in bytes: UnsafeRawBufferPointer
) throws(FramingError) -> BodyFraming? {
  var length: Int64?
  var codings = TransferCodings()
  for index in fields.indices {
    switch fields[index].id {
    case .contentLength: try contentLength(fields[index].value, in: bytes, into: &length)
    case .transferEncoding: try codings.read(fields[index], in: bytes)
    default: break
    }
  }
  guard codings.seen else { return length.map { .length($0) } }
  // RFC 9112 section 6.1: each of these enables request smuggling.
  if minorVersion == 0 { throw .transferEncodingInHTTP10 }
  if length != nil { throw .contentLengthWithTransferEncoding }
  if codings.last != .chunked { throw .transferEncodingMalformed }
  if codings.othersBefore { throw .transferCodingUnsupported }
  return .chunked
}

/// One Content-Length line: only digits, or a list of equal values (RFC 9110 section 8.6).
private func contentLength(
  _ value: ByteSlice, in bytes: UnsafeRawBufferPointer, into length: inout Int64?
) throws(FramingError) {
  let text = value.bytes(in: bytes)
  var index = 0
  while true {
    while index < text.count, ASCII.isBlank(text[index]) { index &+= 1 }
    var number: Int64 = 0
    let first = index
    while index < text.count, ASCII.isDigit(text[index]) {
      let (product, tooLarge) = number.multipliedReportingOverflow(by: 10)
      let (sum, tooLargeToo) = product.addingReportingOverflow(Int64(text[index] &- ASCII.zero))
      if tooLarge || tooLargeToo { throw .contentLengthMalformed }
      number = sum
      index &+= 1
    }
    if index == first { throw .contentLengthMalformed }
    while index < text.count, ASCII.isBlank(text[index]) { index &+= 1 }
    if let length, length != number { throw .contentLengthsDiffer }
    length = number
    if index == text.count { return }
    guard text[index] == ASCII.comma else { throw .contentLengthMalformed }
    index &+= 1
  }
}

/// The transfer codings of all Transfer-Encoding lines, in order.
private struct TransferCodings {
  enum Coding { case chunked, other }
  var seen = false
  var othersBefore = false
  var last: Coding?

  /// Splits members at every comma and compares them unchanged, with only spaces around them. Refuses everything that some
  /// servers trim or ignore and others do not: tabs, empty members, quotes, parameters.
  mutating func read(_ field: Field, in bytes: UnsafeRawBufferPointer) throws(FramingError) {
    seen = true
    let line = bytes[(field.name.end &+ 1)...]
    var index = line.startIndex
    var start = index
    while index < line.endIndex {
      let byte = line[index]
      if byte == ASCII.tab { throw .transferEncodingMalformed }
      if byte == ASCII.comma || byte == ASCII.cr {
        try add(bytes, start, index)
        start = index &+ 1
        if byte == ASCII.cr { return }
      }
      index &+= 1
    }
    throw .transferEncodingMalformed
  }

  private mutating func add(_ bytes: UnsafeRawBufferPointer, _ from: Int, _ to: Int) throws(FramingError) {
    var start = from
    var end = to
    while start < end, bytes[start] == ASCII.space { start &+= 1 }
    while end > start, bytes[end &- 1] == ASCII.space { end &-= 1 }
    // `chunked` must be last and occur once (RFC 9112 section 6.1).
    if start == end || last == .chunked { throw .transferEncodingMalformed }
    if last == .other { othersBefore = true }
    for index in start..<end where !ASCII.isToken(bytes[index]) { throw .transferEncodingMalformed }
    last = ByteSlice(start, to: end).equalsIgnoringCase("chunked", in: bytes) ? .chunked : .other
  }
}
