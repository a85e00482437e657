import Crypto
import JSON
import SmallHTTP

/// An OAuth 2.0 token endpoint (RFC 6749) for one client, with grant client_credentials alone.
public final class TokenServer: Responder {
  private let book: TokenBook
  private let clientID: String
  private let clientSecret: String
  private let lifetime: Int
  private let tell: (DemoEvent) -> Void
  /// Number of token requests.
  public private(set) var requests = 0

  /// - Parameter lifetime: of access tokens, in seconds.
  public init(
    _ book: TokenBook, clientID: String, clientSecret: String, lifetime: Int, tell: @escaping (DemoEvent) -> Void
  ) {
    self.book = book
    self.clientID = clientID
    self.clientSecret = clientSecret
    self.lifetime = lifetime
    self.tell = tell
  }

  override public func answer(_ request: ServedRequest) -> ServedAnswer {
    requests += 1
    guard request.method == "POST" else { return refuse(405, "invalid_request") }
    let form = Form.decode(request.body)
    guard isClient(request["authorization"], form) else { return refuse(401, "invalid_client") }
    guard form["grant_type"] == "client_credentials" else { return refuse(400, "unsupported_grant_type") }
    return issue()
  }

  private func issue() -> ServedAnswer {
    guard let token = try? book.issue(seconds: lifetime) else { return refuse(500, "server_error") }
    tell(
      DemoEvent(
        source: .tokenServer, text: "issues token \(token.number), valid for \(lifetime) s (\(count) so far)"))
    return ServedAnswer(
      200, fields: [("Cache-Control", "no-store")],
      json: [
        "access_token": .string(token.text), "token_type": .string("Bearer"), "expires_in": .integer(lifetime),
      ])
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
