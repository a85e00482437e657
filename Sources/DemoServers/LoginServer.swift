import Crypto
import JSON
import SmallHTTP

/// An authorization server for one public client and for people without passwords: OAuth 2.0 with PKCE (RFC 7636), pushed requests
/// (RFC 9126), device logins (RFC 8628), rotating refresh tokens, revocation (RFC 7009), OpenID Connect, and DPoP (RFC 9449) for
/// clients that send a proof.
public final class LoginServer: Responder {
  /// Of its addresses, which are below the issuer.
  enum Place: String {
    case metadata = "/.well-known/oauth-authorization-server"
    case openIDMetadata = "/.well-known/openid-configuration"
    case keys = "/jwks"
    case authorize = "/authorize"
    case push = "/par"
    case device = "/device"
    case deviceAuthorization = "/device_authorization"
    case token = "/token"
    case revoke = "/revoke"
  }

  let issuer: String
  let clientID: String
  private let lifetime: Int
  private let book: LoginBook
  private let idTokens: IDTokenIssuer
  private let tell: (DemoEvent) -> Void
  var desk = AuthorizationDesk()
  var devices = DeviceDesk()
  private var proofs = ProofVerifier()

  /// - Parameters:
  ///   - issuer: URL at which it is served, without a path.
  ///   - lifetime: of access tokens, in seconds.
  public init(
    _ book: TokenBook, issuer: String, clientID: String, lifetime: Int, tell: @escaping (DemoEvent) -> Void
  ) throws(OpenSSLError) {
    self.book = LoginBook(book)
    self.issuer = issuer
    self.clientID = clientID
    self.lifetime = lifetime
    self.tell = tell
    idTokens = try IDTokenIssuer(issuer: issuer)
  }

  func say(_ text: String) { tell(DemoEvent(source: .loginServer, text: text)) }

  override public func answer(_ request: ServedRequest) -> ServedAnswer {
    guard let place = Place(rawValue: request.path) else { return super.answer(request) }
    switch (request.method, place) {
    case ("GET", .metadata), ("GET", .openIDMetadata): return ServedAnswer(200, json: metadata)
    case ("GET", .keys): return ServedAnswer(200, json: ["keys": .array([.object(idTokens.jwk)])])
    case ("GET", .authorize): return showAuthorization(request)
    case ("POST", .authorize): return decideAuthorization(Form.decode(request.body))
    case ("GET", .device): return showDevice(userCode: Form.decode(request.query)["user_code"] ?? "")
    case ("POST", .device): return decideDevice(Form.decode(request.body))
    case ("POST", .push), ("POST", .deviceAuthorization), ("POST", .token), ("POST", .revoke): return serve(request, place)
    default: return ServedAnswer(405, json: ["error": .string("invalid_request")])
    }
  }

  private var metadata: JSONValue {
    func url(_ place: Place) -> JSONValue { .string(issuer + place.rawValue) }
    func list(_ texts: String...) -> JSONValue { .array(texts.map { .string($0) }) }
    return [
      "issuer": .string(issuer), "authorization_endpoint": url(.authorize), "token_endpoint": url(.token),
      "pushed_authorization_request_endpoint": url(.push), "device_authorization_endpoint": url(.deviceAuthorization),
      "revocation_endpoint": url(.revoke), "jwks_uri": url(.keys), "response_types_supported": list("code"),
      "grant_types_supported": list("authorization_code", "refresh_token", DeviceDesk.grant),
      "code_challenge_methods_supported": list("S256"), "authorization_response_iss_parameter_supported": .bool(true),
      "token_endpoint_auth_methods_supported": list("none"), "subject_types_supported": list("public"),
      "id_token_signing_alg_values_supported": list("ES256"), "dpop_signing_alg_values_supported": list("ES256"),
      "scopes_supported": list("openid", "offline_access"),
    ]
  }

  // MARK: What clients send themselves

  private func serve(_ request: ServedRequest, _ place: Place) -> ServedAnswer {
    let form = Form.decode(request.body)
    // A public client says who it is, and proves nothing (RFC 6749 section 3.2.1).
    guard request["authorization"] == nil, form["client_id"] == clientID else { return refuse(401, "invalid_client") }
    if Form.hasRepeatedName(request.body) { return refuse(400, "invalid_request", "a parameter is repeated") }
    let proven: String?
    do throws(ProofVerifier.Problem) {
      proven = try proofs.thumbprint(request.proof, url: issuer + place.rawValue, token: nil)
    } catch {
      return withNonce(refuse(400, error.code, error.text))
    }
    let answer =
      switch place {
      case .push: push(form, proven)
      case .deviceAuthorization: beginDevice(form)
      case .revoke: revoke(form)
      default: grant(form, proven)
      }
    return proven == nil ? answer : withNonce(answer)
  }

  private func withNonce(_ answer: ServedAnswer) -> ServedAnswer {
    var answer = answer
    if let nonce = proofs.nonce() { answer.fields.append(("DPoP-Nonce", nonce)) }
    return answer
  }

  private func grant(_ form: [String: String], _ proven: String?) -> ServedAnswer {
    switch form["grant_type"] {
    case "authorization_code":
      guard let agreed = desk.take(code: form["code"] ?? "", book) else { return refuse(400, "invalid_grant", "no such code") }
      let request = agreed.request
      guard form["redirect_uri"] == request.redirectURI else { return refuse(400, "invalid_grant", "another redirect_uri") }
      let digest = Base64.encodeURL(SHA256.digest(Array((form["code_verifier"] ?? "").utf8)))
      guard String(decoding: digest, as: UTF8.self) == request.challenge else {
        return refuse(400, "invalid_grant", "the code_verifier is not the challenge's")
      }
      guard request.key == nil || request.key == proven else {
        return refuse(400, "invalid_grant", "the code is another key's")
      }
      let login = LoginBook.Login(person: agreed.person, clientID: clientID, scope: request.scope, key: proven)
      let number = book.begin(login)
      desk.spent(form["code"] ?? "", login: number)
      return issue(number, login, nonce: request.nonce)
    case DeviceDesk.grant:
      switch devices.poll(form["device_code"] ?? "", clientID: clientID) {
      case .refused(let code): return refuse(400, code, isExpected: code == "authorization_pending")
      case .allowed(let device, let person):
        let login = LoginBook.Login(person: person, clientID: clientID, scope: device.scope, key: proven)
        return issue(book.begin(login), login, nonce: nil)
      }
    case "refresh_token":
      switch book.find(refreshToken: form["refresh_token"] ?? "") {
      case .unknown: return refuse(400, "invalid_grant", "no such refresh token")
      case .usedBefore(let login):
        return refuse(400, "invalid_grant", "this refresh token was used before, so the login of \(login.person) ends")
      case .login(let number, let login):
        // A public client's refresh token is bound to its key (RFC 9449 section 5).
        guard login.key == proven else { return refuse(400, "invalid_grant", "the refresh token is another key's") }
        return issue(number, login, nonce: nil)
      }
    default: return refuse(400, "unsupported_grant_type")
    }
  }

  private func issue(_ number: Int, _ login: LoginBook.Login, nonce: String?) -> ServedAnswer {
    guard let tokens = try? book.renew(number, seconds: lifetime) else { return refuse(500, "server_error") }
    var members: [JSONValue.Member] = [
      .init(name: "access_token", value: .string(tokens.access)),
      .init(name: "token_type", value: .string(login.key == nil ? "Bearer" : "DPoP")),
      .init(name: "expires_in", value: .integer(lifetime)), .init(name: "refresh_token", value: .string(tokens.refresh)),
      .init(name: "scope", value: .string(login.scope)),
    ]
    if login.scope.split(separator: " ").contains("openid") {
      guard let idToken = try? idTokens.issue(to: clientID, person: login.person, nonce: nonce) else {
        return refuse(500, "server_error")
      }
      members.append(.init(name: "id_token", value: .string(idToken)))
    }
    let binding = login.key == nil ? "" : ", bound to a key"
    say("issues token \(tokens.number) to \(login.person), valid for \(lifetime) s\(binding)")
    return ServedAnswer(200, fields: [("Cache-Control", "no-store")], json: .object(members))
  }

  private func push(_ form: [String: String], _ proven: String?) -> ServedAnswer {
    guard form["request_uri"] == nil else { return refuse(400, "invalid_request", "request_uri is not for pushed requests") }
    do throws(LoginRequest.Problem) {
      let request = try LoginRequest(form, isRepetitive: false, client: clientID, proven: proven)
      guard let uri = desk.push(request) else { return refuse(500, "server_error") }
      return ServedAnswer(
        201, fields: [("Cache-Control", "no-store")],
        json: ["request_uri": .string(uri), "expires_in": .integer(AuthorizationDesk.pushedLifetime)])
    } catch {
      switch error {
      case .unanswerable(let why): return refuse(400, "invalid_request", why)
      case .refused(let code, let why, _, _): return refuse(400, code, why)
      }
    }
  }

  private func beginDevice(_ form: [String: String]) -> ServedAnswer {
    guard let begun = try? devices.begin(clientID: clientID, scope: form["scope"] ?? "") else {
      return refuse(500, "server_error")
    }
    say("waits for somebody with the code \(begun.userCode)")
    let page = issuer + Place.device.rawValue
    return ServedAnswer(
      200, fields: [("Cache-Control", "no-store")],
      json: [
        "device_code": .string(begun.deviceCode), "user_code": .string(begun.userCode), "verification_uri": .string(page),
        "verification_uri_complete": .string(Form.append([("user_code", begun.userCode)], to: page)),
        "expires_in": .integer(DeviceDesk.lifetime), "interval": .integer(DeviceDesk.interval),
      ])
  }

  /// Unknown tokens are revoked already (RFC 7009 section 2.2).
  private func revoke(_ form: [String: String]) -> ServedAnswer {
    guard let token = form["token"], !token.isEmpty else { return refuse(400, "invalid_request", "no token") }
    if let login = book.revoke(token) { say("revokes a token of \(login.person)") }
    return ServedAnswer(200, json: [:])
  }

  /// - Parameter isExpected: it is not worth a line.
  private func refuse(_ status: Int, _ error: String, _ why: String? = nil, isExpected: Bool = false) -> ServedAnswer {
    if !isExpected { say("\(status) \(error)" + (why.map { ": \($0)" } ?? "")) }
    var members = [JSONValue.Member(name: "error", value: .string(error))]
    if let why { members.append(.init(name: "error_description", value: .string(why))) }
    return ServedAnswer(status, fields: [("Cache-Control", "no-store")], json: .object(members))
  }
}

extension ServedRequest {
  /// The target's, without its question mark.
  var query: [UInt8] { Array(target.utf8.drop { $0 != UInt8(ascii: "?") }.dropFirst()) }
  var proof: ServedProof { ServedProof(method: method, proofs: fields.filter { $0.name == "dpop" }.map(\.value)) }
}
