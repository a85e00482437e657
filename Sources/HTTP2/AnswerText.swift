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
    let line = head.extend(by: name.count + value.count + 4).assumingMemoryBound(to: UInt8.self)
    FieldNameText.write(name, id, to: line)
    line[name.count] = UInt8(ascii: ":")
    line[name.count + 1] = UInt8(ascii: " ")
    let place = line + name.count + 2
    if let source = value.baseAddress { UnsafeMutableRawPointer(place).copyMemory(from: source, byteCount: value.count) }
    place[value.count] = UInt8(ascii: "\r")
    place[value.count + 1] = UInt8(ascii: "\n")
  }
}
