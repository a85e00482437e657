import HTTPWire

/// Writes an answer's head as HTTP/1.1 text while its fields arrive.
enum AnswerText {
  /// The status line, with the registered reason.
  static func append(status: Int, to head: inout ByteQueue) {
    head.append("HTTP/1.1 ")
    let place = head.extend(by: 4).assumingMemoryBound(to: UInt8.self)
    place[0] = UInt8(ascii: "0") + UInt8(status / 100)
    place[1] = UInt8(ascii: "0") + UInt8(status / 10 % 10)
    place[2] = UInt8(ascii: "0") + UInt8(status % 10)
    place[3] = UInt8(ascii: " ")
    head.append(ReasonPhrase.text(of: status))
    head.append("\r\n")
  }

  /// A field line, with the name as HTTP/1.1 spells it.
  @inline(__always)
  static func append(_ name: UnsafeRawBufferPointer, _ id: FieldName, _ value: UnsafeRawBufferPointer, to head: inout ByteQueue)
  {
    FieldNameText.append(name, id, to: &head)
    head.append(": ")
    head.append(value)
    head.append("\r\n")
  }
}
