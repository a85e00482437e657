/// A complete request, with its body in memory.
public struct ServedRequest: Sendable {
  public var method: String
  /// As received, in origin-form.
  public var target: String
  /// Names in lower case, in the order received.
  public var fields: [(name: String, value: String)]
  public var body: [UInt8]

  public init(method: String, target: String, fields: [(name: String, value: String)], body: [UInt8]) {
    self.method = method
    self.target = target
    self.fields = fields
    self.body = body
  }

  /// The target without its query.
  public var path: String { String(target.prefix { $0 != "?" }) }

  /// The first field with this name; pass it in lower case.
  public subscript(name: String) -> String? { fields.first { $0.name == name }?.value }
}

public struct ServedAnswer: Sendable {
  public var status: Int
  /// In addition to Content-Type and the framing fields.
  public var fields: [(name: String, value: String)]
  public var contentType: String
  public var body: [UInt8]

  public init(_ status: Int, type: String, fields: [(name: String, value: String)] = [], body: [UInt8]) {
    self.status = status
    self.fields = fields
    contentType = type
    self.body = body
  }

  public init(_ status: Int, text: String, fields: [(name: String, value: String)] = []) {
    self.init(status, type: "text/plain; charset=utf-8", fields: fields, body: Array(text.utf8))
  }

  private static let reasons = [
    200: "OK", 201: "Created", 303: "See Other", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
    405: "Method Not Allowed", 413: "Content Too Large",
    414: "URI Too Long", 415: "Unsupported Media Type", 421: "Misdirected Request", 431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    501: "Not Implemented",
    503: "Service Unavailable", 505: "HTTP Version Not Supported",
  ]

  func bytes(isHead: Bool, closes: Bool) -> [UInt8] { head(closes: closes) + (isHead ? [] : body) }

  /// With the empty line.
  public func head(closes: Bool) -> [UInt8] {
    var head = "HTTP/1.1 \(status) \(Self.reasons[status] ?? "")\r\nContent-Type: \(contentType)\r\n"
    for field in fields { head += "\(field.name): \(field.value)\r\n" }
    head += "Content-Length: \(body.count)\r\n" + (closes ? "Connection: close\r\n\r\n" : "\r\n")
    return Array(head.utf8)
  }
}
