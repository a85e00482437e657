import JSON

/// The request that a person's browser takes to the authorization endpoint (RFC 6749 section 4.1.1), with PKCE S256.
struct AuthorizationRequest {
  let clientID: String
  /// Each name once, but `resource`.
  private(set) var fields: [(name: String, value: String)]
  private let secrets: LoginSecrets

  init(
    policy: OAuth2Policy, settings: LoginSettings, redirectURI: String, secrets: LoginSecrets, dpopKey: DPoPKey? = nil
  ) {
    self.secrets = secrets
    clientID = policy.clientID ?? ""
    func text(_ secret: Secret) -> String { String(decoding: secret.bytes, as: UTF8.self) }
    fields = [
      ("response_type", "code"), ("client_id", clientID), ("redirect_uri", redirectURI), ("state", text(secrets.state)),
      ("code_challenge", secrets.challenge), ("code_challenge_method", "S256"),
    ]
    if let scope = policy.scope, !scope.isEmpty { fields.append(("scope", scope)) }
    if policy.isOpenID { fields.append(("nonce", text(secrets.nonce))) }
    fields += policy.resource.map { ("resource", $0) }
    // RFC 9449 section 10: nobody else can exchange the code.
    if let dpopKey { fields.append(("dpop_jkt", dpopKey.thumbprint)) }
    for (name, value) in settings.authorizationParameters.sorted(by: { $0.key < $1.key })
    where !fields.contains(where: { $0.name == name }) {
      fields.append((name, value))
    }
  }

  func url(at endpoint: String) -> String { Self.url(endpoint, fields) }

  /// After a pushed request the URL has nothing else (RFC 9126 section 4).
  func url(at endpoint: String, requestURI: String) -> String {
    Self.url(endpoint, [("client_id", clientID), ("request_uri", requestURI)])
  }

  /// RFC 9126 section 2.1.
  func pushed(
    to url: String, policy: OAuth2Policy, tokenEndpoint: String, wall: Int64
  ) throws(TokenFailure) -> (http: TokenHTTPRequest, secrets: [Secret]) {
    var form = EndpointForm()
    for field in fields where field.name != "resource" { form.add(field.name, field.value) }
    form.add("resource", each: policy.resource)
    try form.authenticate(policy, tokenEndpoint: tokenEndpoint, assertion: .addedBySender, wall: wall)
    return (form.request(to: url), form.secrets + secrets.all)
  }

  private static func url(_ endpoint: String, _ fields: [(name: String, value: String)]) -> String {
    let form = FormEncoding.encode(fields.map { ($0.name, Array($0.value.utf8)) })
    // `%20`, which readers of forms and of URLs understand. A plus sign in a value is `%2B` already.
    var query: [UInt8] = []
    for byte in form { query += byte == UInt8(ascii: "+") ? Array("%20".utf8) : [byte] }
    // RFC 6749 section 3.1: the endpoint's own query stays.
    let mark = !endpoint.contains("?") ? "?" : endpoint.hasSuffix("?") || endpoint.hasSuffix("&") ? "" : "&"
    return endpoint + mark + String(decoding: query, as: UTF8.self)
  }
}

/// The answer to a pushed authorization request (RFC 9126 section 2.2).
struct PushedAnswer: Hashable {
  let requestURI: String
  /// Seconds; nil if the answer does not say.
  let lifetime: Int64?

  init(_ answer: EndpointAnswer, hiding secrets: [Secret]) throws(LoginEnd) {
    let json: JSONValue
    do throws(LoginEnd) { json = try answer.object(hiding: secrets) } catch { throw error.during("pushed request") }
    guard let uri = json["request_uri"]?.string, (1...2048).contains(uri.utf8.count),
      uri.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f })
    else { throw LoginEnd(.unavailable, "pushed request: the server's answer has no request_uri") }
    requestURI = uri
    lifetime = TokenResponse.lifetime(json["expires_in"])
  }
}
