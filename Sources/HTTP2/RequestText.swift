import HTTPWire

/// An app's request while its fields arrive, and the HTTP/1.1 text that it becomes. One for all streams of a session, as header sections
/// never overlap on a connection.
struct RequestText: ~Copyable {
  private var pseudo = ByteQueue()
  private var method = ByteSlice.empty
  private var scheme = ByteSlice.empty
  private var authority = ByteSlice.empty
  private var path = ByteSlice.empty
  private var host = ByteSlice.empty
  private var lines = ByteQueue()
  private var cookies = ByteQueue()
  private var count = 0
  /// Value of Content-Length, which nghttp2 has checked; nil: there is none.
  private(set) var length: Int?
  /// The section is above the limit: nothing more of it is kept.
  var isTooLarge = false
  /// What the app wants never indexed.
  private(set) var marked: IndexedNames = []

  var isHead: Bool { method.equals("HEAD", in: pseudo.bytes) }

  mutating func begin() {
    pseudo.clear()
    lines.clear()
    cookies.clear()
    method = .empty
    scheme = .empty
    authority = .empty
    path = .empty
    host = .empty
    count = 0
    length = nil
    isTooLarge = false
    marked = []
  }

  /// nghttp2 has found the name to be a token in lower case or one of the pseudo fields, once and in their place, the value to be without
  /// controls and outer white space, and the fields of HTTP/1.1 connections to be absent.
  mutating func append(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, neverIndexed: Bool) {
    if name.first == UInt8(ascii: ":") {
      let slice = keep(value)
      switch name.count {
      case 5: path = slice
      case 7 where name[1] == UInt8(ascii: "m"): method = slice
      case 7: scheme = slice
      case 10:
        authority = slice
        if neverIndexed { marked.insert(.authority) }
      default: break
      }
      return
    }
    let id = FieldName(name)
    if neverIndexed { marked.formUnion(IndexedNames(id, name)) }
    switch id {
    case .host:
      host = keep(value)
      return
    case .cookie:
      // RFC 9113 section 8.2.3: clients split it for the sake of compression.
      cookies.append(cookies.isEmpty ? "Cookie: " : "; ")
      cookies.append(value)
      return
    case .contentLength: length = value.reduce(0) { $0 &* 10 &+ Int($1 &- UInt8(ascii: "0")) }
    case .http2Settings: return
    default: break
    }
    count += 1
    AnswerText.append(name, id, value, to: &lines)
  }

  /// Why the request goes nowhere; nil: it is in order.
  func problem() -> RefusedRequest.Reason? {
    let bytes = pseudo.bytes
    if isTooLarge { return .malformed(.headTooLarge) }
    if count > fieldCountLimit - 4 { return .malformed(.tooManyFields) }
    if method.equals("CONNECT", in: bytes) { return .connect }
    guard scheme.equalsIgnoringCase("https", in: bytes) else { return .malformed(.scheme) }
    let name = authority.isEmpty ? host : authority
    if !host.isEmpty, !equalsIgnoringCase(host.bytes(in: bytes), name.bytes(in: bytes)) { return .malformed(.hostDiffers) }
    do { _ = try Authority(name, in: bytes) } catch { return .malformed(error) }
    let target = path.bytes(in: bytes)
    for byte in target {
      if byte < 0x21 || byte > 0x7e { return .malformed(.targetCharacter) }
      if byte == UInt8(ascii: "#") { return .malformed(.fragment) }
    }
    if target.first == UInt8(ascii: "/") { return nil }
    return path.equals("*", in: bytes) && method.equals("OPTIONS", in: bytes) ? nil : .malformed(.targetForm)
  }

  /// Writes the head without its empty line: target in origin-form, Host first, cookies joined.
  /// - Parameter ends: no body follows.
  func write(to text: inout ByteQueue, ends: Bool) {
    let bytes = pseudo.bytes
    text.append(method.bytes(in: bytes))
    text.append(" ")
    text.append(path.bytes(in: bytes))
    text.append(" HTTP/1.1\r\nHost: ")
    text.append((authority.isEmpty ? host : authority).bytes(in: bytes))
    text.append("\r\n")
    text.append(lines.bytes)
    if !cookies.isEmpty {
      text.append(cookies.bytes)
      text.append("\r\n")
    }
    if !ends, length == nil { text.append("Transfer-Encoding: chunked\r\n") }
  }

  private mutating func keep(_ value: UnsafeRawBufferPointer) -> ByteSlice {
    let slice = ByteSlice(start: pseudo.count, count: value.count)
    pseudo.append(value)
    return slice
  }
}
