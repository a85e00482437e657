import HTTPWire

/// An answer that the proxy itself makes.
public struct OwnAnswer: Sendable {
  public var status: Int
  public var reason: StaticString
  /// Proxy-Status error (RFC 9209 section 2.3); nil if nothing failed.
  public var error: StaticString?
  /// Proxy-Status details: one line, no secret.
  public var details: String?
  /// A hop before the origin that failed.
  public struct Hop: Sendable {
    public var name: String
    /// Of its answer; nil: there was none.
    public var status: Int?
    public init(name: String, status: Int? = nil) {
      self.name = name
      self.status = status
    }
  }
  /// RFC 9209 sections 2.1.2 and 2.1.4.
  public var hop: Hop?
  /// One or two sentences: what happened, and what to do.
  public var body: String
  public var contentType: StaticString
  /// Seconds.
  public var retryAfter: Int?
  /// More field lines, each with its CRLF.
  public var fields: StaticString
  /// The connection must be closed.
  public var closes: Bool

  public init(
    status: Int, reason: StaticString, error: StaticString? = nil, details: String? = nil, body: String,
    contentType: StaticString = "text/plain; charset=utf-8", retryAfter: Int? = nil, fields: StaticString = "",
    closes: Bool = false
  ) {
    self.status = status
    self.reason = reason
    self.error = error
    self.details = details
    self.body = body
    self.contentType = contentType
    self.retryAfter = retryAfter
    self.fields = fields
    self.closes = closes
  }

  /// Most bytes that `write` needs.
  public func sizeLimit(by name: ProxyName) -> Int {
    ByteWriter.sizeLimit(ofProxyStatus: name, error: error, details: details, at: hop) + body.utf8.count
      + reason.utf8CodeUnitCount
      + contentType.utf8CodeUnitCount + fields.utf8CodeUnitCount + 256
  }

  /// - Parameters:
  ///   - isHead: the request was HEAD, so the body is only counted.
  ///   - dateLine: `Date: ...\r\n`, at most 64 bytes.
  ///   - isHTTP2: the origin was asked over HTTP/2.
  public func write(
    by name: ProxyName, isHead: Bool, keepsAlive: Bool, dateLine: [UInt8], isHTTP2: Bool = false, into writer: inout ByteWriter
  ) {
    writer.append("HTTP/1.1 ")
    writer.appendDecimal(status)
    writer.append(" ")
    writer.append(reason)
    writer.appendCRLF()
    writer.append(dateLine)
    if error != nil { writer.append(proxyStatusOf: name, error: error, details: details, at: hop, isHTTP2: isHTTP2) }
    if let retryAfter { writer.appendField("Retry-After", decimal: Int64(retryAfter)) }
    writer.append(fields)
    writer.appendField("Cache-Control", "no-store")
    let text = Array(body.utf8)
    if !text.isEmpty { writer.appendField("Content-Type", contentType) }
    writer.appendField("Content-Length", decimal: Int64(text.count))
    if !keepsAlive { writer.appendField("Connection", "close") }
    writer.appendCRLF()
    if !isHead { writer.append(text) }
  }

  /// The answer to OPTIONS or TRACE with Max-Forwards 0.
  public init(toLastHop head: borrowing RequestHead, in bytes: UnsafeRawBufferPointer) {
    self = head.method == .options ? .options : .trace(bytes)
  }

  /// The answer to `OPTIONS *`.
  public static let options = OwnAnswer(
    status: 200, reason: "OK", body: "",
    fields: "Allow: GET, HEAD, POST, PUT, DELETE, OPTIONS, PATCH, TRACE, CONNECT\r\n")

  /// RFC 9110 section 9.3.8: the received head, without fields that may be sensitive. Only for a request without a credential.
  static func trace(_ head: UnsafeRawBufferPointer) -> OwnAnswer {
    let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: true)
    let sensitive = ["authorization", "proxy-authorization", "cookie", "x-api-key"]
    let kept = lines.filter { line in
      guard let colon = line.firstIndex(of: ":") else { return true }
      return !sensitive.contains(line[..<colon].lowercased())
    }
    return OwnAnswer(
      status: 200, reason: "OK", body: kept.joined(separator: "\r\n") + "\r\n\r\n", contentType: "message/http")
  }
}
