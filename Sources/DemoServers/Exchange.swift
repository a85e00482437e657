import JSON

/// A request as a responder sees it: whole, its body in memory.
public struct ServedRequest {
  public var method: String
  /// As it came; in origin-form.
  public var target: String
  /// Names in lower case, in the order of arrival.
  public var fields: [(name: String, value: String)]
  public var body: [UInt8]

  public var path: String { String(target.prefix { $0 != "?" }) }

  /// The first field of that name, which is given in lower case.
  public subscript(name: String) -> String? { fields.first { $0.name == name }?.value }
}

public struct ServedAnswer {
  public var status: Int
  public var reason: String
  public var fields: [(name: String, value: String)]
  public var body: [UInt8]

  public init(_ status: Int, _ reason: String, type: String, body: [UInt8]) {
    self.status = status
    self.reason = reason
    fields = [("Content-Type", type)]
    self.body = body
  }

  public init(_ status: Int, _ reason: String, fields: [(name: String, value: String)] = [], json: JSONValue) {
    self.init(status, reason, type: "application/json", body: json.text + [UInt8(ascii: "\n")])
    self.fields += fields
  }
}

/// Answers requests. Lives on its server's loop and is called there; must not block.
open class Responder {
  public init() {}
  open func answer(_ request: ServedRequest) -> ServedAnswer {
    ServedAnswer(404, "Not Found", json: ["error": .string("nothing is here")])
  }
}

/// What happened on a demo server, for people to read.
public struct DemoEvent: Sendable {
  public enum Source: Sendable { case api, tokenServer, responder }
  public var source: Source
  /// One line; never a token or a secret.
  public var text: String
}
