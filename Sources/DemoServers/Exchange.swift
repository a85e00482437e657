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

  public init(_ status: Int, _ reason: String, fields: [(name: String, value: String)] = [], json: [(String, JSON)]) {
    self.init(status, reason, type: "application/json", body: Array((JSON.object(json).text + "\n").utf8))
    self.fields += fields
  }
}

/// Answers requests. Lives on its server's loop and is called there; must not block.
open class Responder {
  public init() {}
  open func answer(_ request: ServedRequest) -> ServedAnswer {
    ServedAnswer(404, "Not Found", json: [("error", .text("nothing is here"))])
  }
}

/// What happened on a demo server, for people to read.
public struct DemoEvent: Sendable {
  public enum Source: Sendable { case api, tokenServer, responder }
  public var source: Source
  /// One line; never a token or a secret.
  public var text: String
}

public indirect enum JSON: Sendable {
  case text(String)
  case number(Int)
  case object([(String, JSON)])

  var text: String {
    switch self {
    case .number(let number): return "\(number)"
    case .object(let members):
      return "{" + members.map { "\(JSON.text($0.0).text): \($0.1.text)" }.joined(separator: ", ") + "}"
    case .text(let text):
      var result = "\""
      for scalar in text.unicodeScalars {
        switch scalar {
        case "\"", "\\": result += "\\\(scalar)"
        case " "...: result.unicodeScalars.append(scalar)
        // RFC 8259 section 7: controls must be escaped; which one it was matters to nobody here.
        default: result += "\\ufffd"
        }
      }
      return result + "\""
    }
  }
}
