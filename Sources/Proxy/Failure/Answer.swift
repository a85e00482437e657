import EventIO
import HTTPWire

/// An answer that the proxy makes itself.
struct Answer {
  var status: Int
  var reason: StaticString
  /// Proxy-Status error (RFC 9209 section 2.3); nil where nothing failed.
  var error: StaticString?
  /// Proxy-Status details: one line, no secret.
  var details: String?
  /// One or two sentences: what happened, what the operator can do.
  var body: String
  var contentType: StaticString = "text/plain; charset=utf-8"
  /// Seconds.
  var retryAfter: Int?
  /// Further field lines, each with its CRLF.
  var fields: StaticString = ""
  /// The connection is of no more use.
  var closes = false

  /// Bytes that `write` takes at most.
  func sizeLimit(proxy: String) -> Int {
    1_024 + body.utf8.count + (details?.utf8.count ?? 0) * 2 + proxy.utf8.count + fields.utf8CodeUnitCount
  }

  /// - Parameter block: has room for `sizeLimit` bytes behind what is in it.
  func write(to block: Block, proxy: String, isHead: Bool, keepsAlive: Bool, dateLine: [UInt8]) {
    var writer = ByteWriter(block.base, capacity: block.capacity, count: block.end)
    writer.append("HTTP/1.1 ")
    writer.appendDecimal(status)
    writer.append(" ")
    writer.append(reason)
    writer.append("\r\n")
    writer.append(dateLine)
    if let error {
      writer.append(Array("Proxy-Status: \(proxy); error=\(error)".utf8))
      if let details { writer.append(Array("; details=\"\(Self.quoted(details))\"".utf8)) }
      writer.append("\r\n")
    }
    if let retryAfter { writer.appendField("Retry-After", decimal: Int64(retryAfter)) }
    writer.append(fields)
    writer.appendField("Cache-Control", "no-store")
    let text = Array(body.utf8)
    if !text.isEmpty {
      writer.appendField(
        "Content-Type", Array(UnsafeBufferPointer(start: contentType.utf8Start, count: contentType.utf8CodeUnitCount)))
    }
    writer.appendField("Content-Length", decimal: Int64(text.count))
    if !keepsAlive { writer.appendField("Connection", "close") }
    writer.append("\r\n")
    if !isHead { writer.append(text) }
    block.end = writer.count
  }

  /// As the inside of a Structured Fields string (RFC 8941 section 3.3.3), bounded.
  static func quoted(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars.prefix(300) {
      switch scalar {
      case "\"", "\\": result += "\\\(scalar)"
      case " "..."~": result.unicodeScalars.append(scalar)
      default: result += "?"
      }
    }
    return result
  }

  static let options = Answer(
    status: 200, reason: "OK", body: "",
    fields: "Allow: GET, HEAD, POST, PUT, DELETE, OPTIONS, PATCH, TRACE, CONNECT\r\n")

  /// RFC 9110 section 9.3.8: what was received, without what may be sensitive. Only for a request without a credential.
  static func trace(_ head: UnsafeRawBufferPointer) -> Answer {
    let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: true)
    let sensitive = ["authorization", "proxy-authorization", "cookie", "x-api-key"]
    let kept = lines.filter { line in
      guard let colon = line.firstIndex(of: ":") else { return true }
      return !sensitive.contains(line[..<colon].lowercased())
    }
    return Answer(
      status: 200, reason: "OK", body: kept.joined(separator: "\r\n") + "\r\n\r\n", contentType: "message/http")
  }
}
