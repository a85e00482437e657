import Crypto
import JSON
import SmallHTTP

/// An OAuth 2.0 token endpoint (RFC 6749) for one client: grants client_credentials and refresh_token, whose tokens rotate.
public final class TokenServer: Responder {
  private let book: TokenBook
  private let clientID: String
  private let clientSecret: String
  private let lifetime: Int
  private let tell: (DemoEvent) -> Void
  /// The only valid refresh token; each use replaces it.
  private var refreshToken: String
  /// Number of token requests.
  public private(set) var requests = 0

  /// - Parameters:
  ///   - lifetime: of access tokens, in seconds.
  ///   - refreshToken: the first one.
  public init(
    _ book: TokenBook, clientID: String, clientSecret: String, lifetime: Int, refreshToken: String = "",
    tell: @escaping (DemoEvent) -> Void
  ) {
    self.book = book
    self.clientID = clientID
    self.clientSecret = clientSecret
    self.lifetime = lifetime
    self.refreshToken = refreshToken
    self.tell = tell
  }

  override public func answer(_ request: ServedRequest) -> ServedAnswer {
    requests += 1
    guard request.method == "POST" else { return refuse(405, "invalid_request") }
    let form = Form.decode(request.body)
    guard isClient(request["authorization"], form) else { return refuse(401, "invalid_client") }
    let grant = form["grant_type"] ?? ""
    switch grant {
    case "client_credentials": return issue(refreshing: false)
    case "refresh_token":
      guard let given = form["refresh_token"], !given.isEmpty, given == refreshToken else {
        return refuse(400, "invalid_grant")
      }
      return issue(refreshing: true)
    default: return refuse(400, "unsupported_grant_type")
    }
  }

  private func issue(refreshing: Bool) -> ServedAnswer {
    guard let token = try? book.issue(seconds: lifetime), let next = try? TokenBook.randomText() else {
      return refuse(500, "server_error")
    }
    tell(
      DemoEvent(
        source: .tokenServer, text: "issues token \(token.number), valid for \(lifetime) s (\(count) so far)"))
    var members: [JSONValue.Member] = [
      .init(name: "access_token", value: .string(token.text)), .init(name: "token_type", value: .string("Bearer")),
      .init(name: "expires_in", value: .integer(lifetime)),
    ]
    if refreshing {
      refreshToken = next
      members.append(.init(name: "refresh_token", value: .string(next)))
    }
    return ServedAnswer(200, fields: [("Cache-Control", "no-store")], json: .object(members))
  }

  private var count: String { requests == 1 ? "1 request" : "\(requests) requests" }

  private func refuse(_ status: Int, _ error: String) -> ServedAnswer {
    tell(DemoEvent(source: .tokenServer, text: "\(status) \(error)"))
    return ServedAnswer(status, fields: [("Cache-Control", "no-store")], json: ["error": .string(error)])
  }

  /// RFC 6749 section 2.3.1: by Basic, with both parts form-encoded, or in the body.
  private func isClient(_ authorization: String?, _ form: [String: String]) -> Bool {
    if let authorization {
      guard authorization.lowercased().hasPrefix("basic "), let bytes = Base64.decode(authorization.utf8.dropFirst(6)),
        let colon = bytes.firstIndex(of: UInt8(ascii: ":"))
      else { return false }
      return Form.text(bytes[..<colon]) == clientID && Form.text(bytes[(colon + 1)...]) == clientSecret
    }
    return form["client_id"] == clientID && form["client_secret"] == clientSecret
  }
}

/// application/x-www-form-urlencoded.
enum Form {
  /// The last value of a name wins, as the demo does not need repeated names.
  static func decode(_ body: [UInt8]) -> [String: String] {
    var result: [String: String] = [:]
    for pair in body.split(separator: UInt8(ascii: "&")) {
      let name = pair.prefix { $0 != UInt8(ascii: "=") }
      result[text(name)] = text(pair.dropFirst(name.count + 1))
    }
    return result
  }

  static func text(_ bytes: ArraySlice<UInt8>) -> String {
    var result: [UInt8] = []
    var index = bytes.startIndex
    while index < bytes.endIndex {
      let byte = bytes[index]
      if byte == UInt8(ascii: "%"), index + 2 < bytes.endIndex,
        let value = UInt8(String(decoding: bytes[(index + 1)...(index + 2)], as: UTF8.self), radix: 16)
      {
        result.append(value)
        index += 3
      } else {
        result.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
        index += 1
      }
    }
    return String(decoding: result, as: UTF8.self)
  }
}
