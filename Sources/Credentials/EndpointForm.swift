import Crypto

/// A form for an endpoint of an authorization server, with the client's authentication (RFC 6749 section 2.3). Token, pushed
/// authorization, device authorization and revocation endpoints take the same one.
struct EndpointForm {
  private var fields: [(name: String, value: [UInt8])] = []
  private var head: [(name: String, value: Secret)] = [
    ("Content-Type", Secret("application/x-www-form-urlencoded")), ("Accept", Secret("application/json")),
  ]
  /// Secrets that must not appear in an error's text.
  private(set) var secrets: [Secret] = []
  private var awaitsAssertion = false

  /// A client's assertion that is not made here, but read from a file or a program.
  enum ClientAssertion {
    /// Just now; nil = the configuration's.
    case read(Secret?)
    /// The sender adds it: it may expire while a person logs in, and a program may take its time.
    case addedBySender
  }

  /// RFC 6749 section 3.2: no parameter may occur twice. The first one counts.
  mutating func add(_ name: String, _ value: String) { add(name, Array(value.utf8)) }

  mutating func add(secret name: String, _ value: Secret) {
    add(name, value.bytes)
    secrets.append(value)
  }

  /// One field for each value, as RFC 8707 has it for `resource`.
  mutating func add(_ name: String, each values: [String]) {
    guard !has(name) else { return }
    for value in values { fields.append((name, Array(value.utf8))) }
  }

  /// In the order of their names, so that a request is always the same.
  mutating func add(_ parameters: [String: String]) {
    for name in parameters.keys.sorted() { add(name, parameters[name] ?? "") }
  }

  private mutating func add(_ name: String, _ value: [UInt8]) {
    guard !has(name) else { return }
    fields.append((name, value))
  }

  private func has(_ name: String) -> Bool { fields.contains { $0.name == name } }

  /// - Parameters:
  ///   - tokenEndpoint: audience of a client assertion, whichever endpoint gets it (RFC 9126 section 2).
  ///   - wall: Unix seconds.
  mutating func authenticate(
    _ policy: OAuth2Policy, tokenEndpoint: String, assertion: ClientAssertion, wall: Int64
  ) throws(TokenFailure) {
    let clientID = policy.clientID ?? ""
    switch policy.clientAuthentication {
    case .basic(let secret):
      // RFC 6749 section 2.3.1: both parts are form-encoded before they are joined, as a colon separates them in Basic.
      let joined = FormEncoding.encode(Array(clientID.utf8)) + [UInt8(ascii: ":")] + FormEncoding.encode(secret.bytes)
      let encoded = Base64.encode(joined)
      head.append(("Authorization", Secret(Array("Basic ".utf8) + encoded)))
      secrets += [secret, Secret(encoded)]
    case .post(let secret):
      add("client_id", clientID)
      add(secret: "client_secret", secret)
    case .privateKeyJWT(let key):
      add(assertion: try JSONWebToken.sign(try claims(clientID, audience: tokenEndpoint, wall), with: key), of: clientID)
    case .secretJWT(let secret):
      add(assertion: try JSONWebToken.sign(try claims(clientID, audience: tokenEndpoint, wall), with: secret), of: clientID)
    case .clientAssertion(let first):
      switch assertion {
      case .read(let fresh): add(assertion: fresh ?? first, of: clientID)
      case .addedBySender:
        add(assertion: nil, of: clientID)
        awaitsAssertion = true
      }
    case .certificate, .none:
      // RFC 8705 section 2: with the certificate of the connection.
      if !clientID.isEmpty { add("client_id", clientID) }
    }
  }

  /// - Parameter assertion: nil: the sender adds it.
  private mutating func add(assertion: Secret?, of clientID: String) {
    if !clientID.isEmpty { add("client_id", clientID) }
    add("client_assertion_type", TokenRequest.assertionType)
    if let assertion { add(secret: "client_assertion", assertion) }
  }

  private func claims(
    _ clientID: String, audience: String, _ wall: Int64
  ) throws(TokenFailure) -> JSONWebToken.Claims {
    JSONWebToken.Claims(
      issuer: clientID, subject: clientID, audience: audience, issuedAt: wall,
      lifetime: TokenRequest.clientAssertionLifetime, identifier: try JSONWebToken.identifier())
  }

  func request(to url: String) -> TokenHTTPRequest {
    var request = TokenHTTPRequest(
      method: .post, url: url, fields: head, body: Secret(FormEncoding.encode(fields)),
      maximumAnswer: TokenResponse.maximumBody)
    request.awaitsAssertion = awaitsAssertion
    return request
  }
}
