import JSON
import SmallHTTP

/// An API that requires a token of the book: as Bearer (RFC 6750), or with a proof if the token is bound to a key (RFC 9449 section
/// 7). `/revoke` revokes the request's own token. Only `/prices` may be stored.
public final class BearerAPI: Responder {
  private let book: TokenBook
  private let tell: (DemoEvent) -> Void
  private var proofs = ProofVerifier()
  /// Of `/prices`: each POST makes another.
  private var edition = 1

  public init(_ book: TokenBook, tell: @escaping (DemoEvent) -> Void) {
    self.book = book
    self.tell = tell
  }

  override public func answer(_ request: ServedRequest) -> ServedAnswer {
    let asked = "\(request.method) \(request.target)"
    guard let field = request["authorization"] else { return refuse(asked, "no token", nil) }
    let isProven = field.lowercased().hasPrefix("dpop ")
    guard isProven || field.lowercased().hasPrefix("bearer ") else {
      return refuse(asked, "a credential that is no bearer token", nil)
    }
    let token = String(field.dropFirst(isProven ? 5 : 7))
    switch book.standing(of: token) {
    case .unknown: return refuse(asked, "an unknown token", "the token is unknown", isProven: isProven)
    case .expired(let number):
      return refuse(asked, "token \(number), which has expired", "the token has expired", isProven: isProven)
    case .revoked(let number):
      return refuse(asked, "token \(number), which was revoked", "the token was revoked", isProven: isProven)
    case .valid(let found):
      guard isProven == (found.key != nil) else {
        return refuse(asked, "token \(found.number) in the wrong scheme", "the token needs another scheme", isProven: !isProven)
      }
      guard isProven else { return serve(request, asked, found, token) }
      return withNonce(checkProof(request, asked, found, token) ?? serve(request, asked, found, token))
    }
  }

  /// - Returns: nil: the proof is right.
  private func checkProof(
    _ request: ServedRequest, _ asked: String, _ found: TokenBook.Token, _ token: String
  ) -> ServedAnswer? {
    let url = "https://\(request["host"] ?? "")\(request.path)"
    do throws(ProofVerifier.Problem) {
      if try proofs.thumbprint(request.proof, url: url, token: token) == found.key { return nil }
      return refuse(asked, "token \(found.number) and another key", "the token is bound to another key", isProven: true)
    } catch {
      let proof = error == .needsNonce ? "a proof without the present nonce" : "a proof that does not count"
      return refuse(asked, "token \(found.number) and \(proof)", error.text, isProven: true, error: error.code)
    }
  }

  private func withNonce(_ answer: ServedAnswer) -> ServedAnswer {
    var answer = answer
    if let nonce = proofs.nonce() { answer.fields.append(("DPoP-Nonce", nonce)) }
    return answer
  }

  private func serve(_ request: ServedRequest, _ asked: String, _ found: TokenBook.Token, _ token: String) -> ServedAnswer {
    let whose = "token \(found.number)" + (found.person.map { " of \($0)" } ?? "")
    if request.path == "/revoke" {
      book.revoke(token)
      tell(DemoEvent(source: .api, text: "\(asked) with \(whose): 200; token \(found.number) is now revoked"))
      return ServedAnswer(200, json: ["revoked": .string("token \(found.number)")])
    }
    tell(DemoEvent(source: .api, text: "\(asked) with \(whose): 200"))
    if request.path == "/prices" {
      if request.method == "POST" { edition += 1 }
      return ServedAnswer(200, fields: [("Cache-Control", "max-age=600")], json: ["prices": .string("edition \(edition)")])
    }
    return ServedAnswer(
      200, json: ["message": .string("hello from the API"), "you_asked": .string(asked), "accepted": .string(whose)])
  }

  private func refuse(
    _ asked: String, _ what: String, _ description: String?, isProven: Bool = false, error: String = "invalid_token"
  ) -> ServedAnswer {
    tell(DemoEvent(source: .api, text: "\(asked) with \(what): 401"))
    // RFC 6750 section 3: no error code for a request without any authentication.
    let challenge = description.map { ", error=\"\(error)\", error_description=\"\($0)\"" } ?? ""
    let scheme = isProven ? "DPoP algs=\"ES256\", realm" : "Bearer realm"
    return ServedAnswer(
      401, fields: [("WWW-Authenticate", "\(scheme)=\"demo\"\(challenge)")],
      json: ["error": .string(description ?? "this API wants a bearer token")])
  }
}
