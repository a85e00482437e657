import SmallHTTP

/// An API that requires a bearer token (RFC 6750). `/revoke` revokes the request's own token.
public final class BearerAPI: Responder {
  private let book: TokenBook
  private let tell: (DemoEvent) -> Void

  public init(_ book: TokenBook, tell: @escaping (DemoEvent) -> Void) {
    self.book = book
    self.tell = tell
  }

  override public func answer(_ request: ServedRequest) -> ServedAnswer {
    let asked = "\(request.method) \(request.target)"
    guard let field = request["authorization"] else { return refuse(asked, "no token", nil) }
    guard field.lowercased().hasPrefix("bearer ") else { return refuse(asked, "a credential that is no bearer token", nil) }
    let token = String(field.dropFirst(7))
    switch book.standing(of: token) {
    case .unknown: return refuse(asked, "an unknown token", "the token is unknown")
    case .expired(let number): return refuse(asked, "token \(number), which has expired", "the token has expired")
    case .revoked(let number): return refuse(asked, "token \(number), which was revoked", "the token was revoked")
    case .valid(let number):
      if request.path == "/revoke" {
        book.revoke(token)
        tell(DemoEvent(source: .api, text: "\(asked) with token \(number): 200; token \(number) is now revoked"))
        return ServedAnswer(200, json: ["revoked": .string("token \(number)")])
      }
      tell(DemoEvent(source: .api, text: "\(asked) with token \(number): 200"))
      return ServedAnswer(
        200,
        json: [
          "message": .string("hello from the API"), "you_asked": .string(asked), "accepted": .string("token \(number)"),
        ])
    }
  }

  private func refuse(_ asked: String, _ what: String, _ description: String?) -> ServedAnswer {
    tell(DemoEvent(source: .api, text: "\(asked) with \(what): 401"))
    // RFC 6750 section 3: no error code for a request without any authentication.
    let challenge = description.map { ", error=\"invalid_token\", error_description=\"\($0)\"" } ?? ""
    return ServedAnswer(
      401, fields: [("WWW-Authenticate", "Bearer realm=\"demo\"\(challenge)")],
      json: ["error": .string(description ?? "this API wants a bearer token")])
  }
}
