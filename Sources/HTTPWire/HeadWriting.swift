/// Copies field lines of a head. Those that follow each other there, and are spelled as they are to be, go together.
public struct FieldLines {
  private let head: UnsafeRawBufferPointer
  /// What is still to be copied.
  private var start = 0
  private var finish = 0

  public init(of head: UnsafeRawBufferPointer) { self.head = head }

  /// With its spelling, but without white space around the value.
  @inline(__always)
  public mutating func append(_ field: Field, to writer: inout ByteWriter) {
    guard isPlain(field) else { return rewrite(field, to: &writer) }
    if field.name.start != finish {
      end(in: &writer)
      start = field.name.start
    }
    finish = field.value.end + 2
  }

  /// Nothing else may be written between a field and this.
  @inline(__always)
  public mutating func end(in writer: inout ByteWriter) {
    if start < finish { writer.append(UnsafeRawBufferPointer(rebasing: head[start..<finish])) }
    start = finish
  }

  /// It is `name: value` and CRLF.
  @inline(__always)
  private func isPlain(_ field: Field) -> Bool {
    let (name, value) = (field.name.end, field.value)
    return value.start == name + 2 && value.end + 2 <= head.count && head[name + 1] == ASCII.space
      && head[value.end] == ASCII.cr
  }

  @inline(never)
  private mutating func rewrite(_ field: Field, to writer: inout ByteWriter) {
    end(in: &writer)
    writer.append(field.name, of: head)
    writer.append(": ")
    writer.append(field.value, of: head)
    writer.appendCRLF()
  }
}

/// Writes the parts of new messages.
extension ByteWriter {
  public mutating func appendCRLF() { append("\r\n") }

  /// `name: value` and CRLF.
  public mutating func appendField(_ name: StaticString, _ value: StaticString) {
    append(name)
    append(": ")
    append(value)
    appendCRLF()
  }
  public mutating func appendField(_ name: StaticString, _ value: UnsafeRawBufferPointer) {
    append(name)
    append(": ")
    append(value)
    appendCRLF()
  }
  public mutating func appendField(_ name: StaticString, _ value: [UInt8]) {
    value.withUnsafeBytes { appendField(name, $0) }
  }
  public mutating func appendField(_ name: StaticString, decimal value: Int64) {
    append(name)
    append(": ")
    appendDecimal(value)
    appendCRLF()
  }

  /// The fields that are not dropped, in order and with their spelling, but without white space around values.
  public mutating func append(fieldsOf fields: ContiguousArray<Field>, in head: UnsafeRawBufferPointer) {
    var lines = FieldLines(of: head)
    for field in fields where !field.dropped { lines.append(field, to: &self) }
    lines.end(in: &self)
  }

  /// The framing field of the new message; nothing for `none` and `untilClose`.
  public mutating func append(framing: BodyFraming) {
    switch framing {
    case .none, .untilClose: break
    case .length(let length):
      append("Content-Length: ")
      appendDecimal(length)
      appendCRLF()
    case .chunked: appendField("Transfer-Encoding", "chunked")
    }
  }

  /// The target in origin-form (RFC 9112 section 3.2): an empty path becomes `/`, or `*` for OPTIONS without a query.
  public mutating func append(originFormOf target: RequestTarget, method: Method, in head: UnsafeRawBufferPointer) {
    if target.form == .asterisk || (method == .options && target.form == .absolute && target.pathAndQuery.isEmpty) {
      append(byte: ASCII.star)
      return
    }
    if target.path.isEmpty { append(byte: ASCII.slash) }
    append(target.pathAndQuery, of: head)
  }

  /// `HTTP/1.1 status reason` and CRLF, with the origin's reason.
  public mutating func append(statusLineOf response: borrowing ResponseHead, in head: UnsafeRawBufferPointer) {
    if response.hasPlainStatusLine(in: head) {
      append(UnsafeRawBufferPointer(rebasing: head[..<(response.reason.end + 2)]))
      return
    }
    append("HTTP/1.1 ")
    appendDecimal(response.status)
    append(byte: ASCII.space)
    append(response.reason, of: head)
    appendCRLF()
  }

  /// A list field such as Proxy-Status without the members named `name`. Writes nothing if no member is left, or if an unclosed
  /// quoted string makes the members ambiguous.
  public mutating func append(listField field: Field, without name: [UInt8], in head: UnsafeRawBufferPointer) {
    let before = count
    var members = ListMembers(field.value, in: head, quotedStrings: true)
    while let member = members.next() {
      if member.isListItem(named: name, in: head) { continue }
      if count == before {
        append(field.name, of: head)
        append(": ")
      } else {
        append(", ")
      }
      append(member, of: head)
    }
    if members.isMalformed {
      count = before
    } else if count > before {
      appendCRLF()
    }
  }

  /// The end of a chunked body without trailers.
  public mutating func appendLastChunk() { append("0\r\n\r\n") }
}
