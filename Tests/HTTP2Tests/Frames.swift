import CNGHTTP2

/// A frame as a test writes or reads it.
struct Frame: Equatable, CustomStringConvertible {
  enum Kind: UInt8 {
    case data, headers, priority, reset, settings, push, ping, goAway, windowUpdate, continuation
    case unknown = 0xbe
  }

  var kind: Kind
  var flags: UInt8 = 0
  var stream: UInt32 = 0
  var payload: [UInt8] = []

  static let endStream: UInt8 = 1
  static let ack: UInt8 = 1
  static let endHeaders: UInt8 = 4

  var bytes: [UInt8] {
    let count = payload.count
    return [UInt8(count >> 16 & 0xff), UInt8(count >> 8 & 0xff), UInt8(count & 0xff), kind.rawValue, flags] + big(stream)
      + payload
  }

  var ends: Bool { flags & Self.endStream != 0 }
  /// The first four bytes of the payload: a code, a window's increment, a last stream.
  var number: UInt32 { payload.prefix(4).reduce(0) { $0 << 8 | UInt32($1) } }
  /// The error code of RST_STREAM and GOAWAY.
  var code: UInt32 { kind == .goAway ? payload[4..<8].reduce(0) { $0 << 8 | UInt32($1) } : number }
  var description: String {
    "\(kind)(\(stream), flags \(flags), \(payload.count) bytes\(payload.count <= 8 ? " \(payload)" : ""))"
  }

  static func settings(_ entries: [(UInt16, UInt32)] = []) -> Frame {
    Frame(kind: .settings, payload: entries.flatMap { [UInt8($0.0 >> 8), UInt8($0.0 & 0xff)] + big($0.1) })
  }
  static let settingsAck = Frame(kind: .settings, flags: ack)
  static func head(
    _ stream: UInt32, _ fields: [(String, String)], ends: Bool = false, complete: Bool = true
  ) -> Frame {
    Frame(
      kind: .headers, flags: (ends ? endStream : 0) | (complete ? endHeaders : 0), stream: stream, payload: literals(fields))
  }
  static func data(_ stream: UInt32, _ body: [UInt8], ends: Bool = false) -> Frame {
    Frame(kind: .data, flags: ends ? endStream : 0, stream: stream, payload: body)
  }
  static func data(_ stream: UInt32, _ body: String, ends: Bool = false) -> Frame { data(stream, Array(body.utf8), ends: ends) }
  static func reset(_ stream: UInt32, _ code: UInt32) -> Frame { Frame(kind: .reset, stream: stream, payload: big(code)) }
  static func window(_ stream: UInt32, _ increment: UInt32) -> Frame {
    Frame(kind: .windowUpdate, stream: stream, payload: big(increment))
  }
  static func goAway(_ last: UInt32, _ code: UInt32, _ text: String = "") -> Frame {
    Frame(kind: .goAway, payload: big(last) + big(code) + Array(text.utf8))
  }
  static func ping(_ payload: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8], ack isAnswer: Bool = false) -> Frame {
    Frame(kind: .ping, flags: isAnswer ? ack : 0, payload: payload)
  }

  /// All frames in these bytes, which must end with one.
  static func all(in bytes: [UInt8]) -> [Frame] {
    var frames: [Frame] = []
    var index = 0
    while index + 9 <= bytes.count {
      let count = Int(bytes[index]) << 16 | Int(bytes[index + 1]) << 8 | Int(bytes[index + 2])
      let stream = bytes[index + 5..<index + 9].reduce(0) { $0 << 8 | UInt32($1) }
      guard index + 9 + count <= bytes.count else { break }
      frames.append(
        Frame(
          kind: Kind(rawValue: bytes[index + 3]) ?? .unknown, flags: bytes[index + 4], stream: stream,
          payload: Array(bytes[index + 9..<index + 9 + count])))
      index += 9 + count
    }
    precondition(index == bytes.count, "half a frame")
    return frames
  }
}

func big(_ number: UInt32) -> [UInt8] {
  [UInt8(number >> 24), UInt8(number >> 16 & 0xff), UInt8(number >> 8 & 0xff), UInt8(number & 0xff)]
}

/// HPACK literals without indexing and without Huffman coding (RFC 7541 section 6.2.2); strings as Latin-1.
func literals(_ fields: [(String, String)]) -> [UInt8] {
  fields.flatMap { [0] + string($0.0) + string($0.1) }
}

private func string(_ text: String) -> [UInt8] {
  let bytes = text.unicodeScalars.map { UInt8($0.value) }
  if bytes.count < 127 { return [UInt8(bytes.count)] + bytes }
  var rest = bytes.count - 127
  var length: [UInt8] = [127]
  while rest >= 128 {
    length.append(UInt8(rest & 0x7f) | 0x80)
    rest >>= 7
  }
  return length + [UInt8(rest)] + bytes
}

/// A field as an HPACK decoder saw it.
struct DecodedField: Equatable {
  var name: String
  var value: String
  var isNeverIndexed: Bool
}

/// The decoder of one connection.
final class HeaderDecoder {
  private var inflater: OpaquePointer?

  init() { precondition(nghttp2_hd_inflate_new(&inflater) == 0) }

  deinit { nghttp2_hd_inflate_del(inflater) }

  /// Entries of the dynamic table, which begins behind the 61 static ones.
  var indexed: [String] {
    let count = nghttp2_hd_inflate_get_num_table_entries(inflater)
    return (62..<max(count + 1, 62)).map { index in
      let entry = nghttp2_hd_inflate_get_table_entry(inflater, index)!.pointee
      return String(decoding: UnsafeBufferPointer(start: entry.name, count: entry.namelen), as: UTF8.self)
    }
  }

  func decode(_ block: [UInt8]) -> [DecodedField] {
    var fields: [DecodedField] = []
    block.withUnsafeBufferPointer { block in
      var index = 0
      while true {
        var field = nghttp2_nv()
        var flags: Int32 = 0
        let used = nghttp2_hd_inflate_hd2(inflater, &field, &flags, block.baseAddress! + index, block.count - index, 1)
        precondition(used >= 0)
        index += used
        if flags & Int32(NGHTTP2_HD_INFLATE_EMIT.rawValue) != 0 {
          fields.append(
            DecodedField(
              name: String(decoding: UnsafeBufferPointer(start: field.name, count: field.namelen), as: UTF8.self),
              value: String(decoding: UnsafeBufferPointer(start: field.value, count: field.valuelen), as: UTF8.self),
              isNeverIndexed: field.flags & UInt8(NGHTTP2_NV_FLAG_NO_INDEX.rawValue) != 0))
        }
        if flags & Int32(NGHTTP2_HD_INFLATE_FINAL.rawValue) != 0 {
          nghttp2_hd_inflate_end_headers(inflater)
          break
        }
        if used == 0 { break }
      }
    }
    return fields
  }
}
