import HTTPWire

/// A token of the machine's own identity, from the metadata server of its cloud.
public enum CloudIdentity: Sendable, Hashable {
  case google(GoogleToken, environment: SourceEnvironment)
  /// - clientID: of a user-assigned identity, where the machine has several.
  case azure(resource: String, clientID: String?, environment: SourceEnvironment)

  public enum GoogleToken: Sendable, Hashable {
    /// Empty: those of the machine.
    case access(scopes: [String])
    /// An ID token for this audience.
    case identity(audience: String)
  }

  var continuity: [[UInt8]] {
    let texts =
      switch self {
      case .google(.access(let scopes), _): ["google", "access"] + scopes
      case .google(.identity(let audience), _): ["google", "identity", audience]
      case .azure(let resource, let clientID, _): ["azure", resource, clientID ?? ""]
      }
    return texts.map { Array($0.utf8) }
  }

  /// IDENTITY_ENDPOINT is asked over TLS, so that whom it trusts matters.
  public var asksSecurely: Bool {
    guard case .azure(_, _, let environment) = self, let endpoint = environment["IDENTITY_ENDPOINT"] else { return false }
    return (try? HTTPURL(endpoint))?.isHTTPS == true
  }

  /// Secrets in its requests.
  var sent: [Secret] {
    guard case .azure(_, _, let environment) = self else { return [] }
    return [environment["IDENTITY_HEADER"]].compactMap { $0.map { Secret($0) } }
  }
}

struct CloudIdentityFetch: SourceSteps {
  let identity: CloudIdentity

  private static let googleName = "Google's metadata server"
  private static let azureName = "Azure's endpoint for identities"
  private static let flavor = "Google"

  init(_ identity: CloudIdentity) { self.identity = identity }

  mutating func forget() {}

  mutating func start(_ access: SourceAccess, wall: Int64) -> TokenExchange.Step {
    do throws(Unfit) {
      switch identity {
      case .google(let token, let environment): return .send(Self.google(token, environment))
      case .azure(let resource, let clientID, let environment): return .send(try Self.azure(resource, clientID, environment))
      }
    } catch { return .failed(.unfit(error.why)) }
  }

  private struct Unfit: Error { let why: String }

  private static func google(_ token: CloudIdentity.GoogleToken, _ environment: SourceEnvironment) -> TokenHTTPRequest {
    let host = environment["GCE_METADATA_HOST"] ?? "metadata.google.internal"
    let account = "http://\(host)/computeMetadata/v1/instance/service-accounts/default/"
    let url =
      switch token {
      case .access(let scopes):
        account + "token" + (scopes.isEmpty ? "" : "?" + query([("scopes", scopes.joined(separator: ","))]))
      case .identity(let audience): account + "identity?" + query([("audience", audience), ("format", "full")])
      }
    return request(url, ("Metadata-Flavor", Secret(flavor)))
  }

  private static func azure(
    _ resource: String, _ clientID: String?, _ environment: SourceEnvironment
  ) throws(Unfit) -> TokenHTTPRequest {
    var parameters = [("resource", resource)]
    if let clientID { parameters.append(("client_id", clientID)) }
    // App Service, Container Apps and others name an endpoint of their own.
    if let endpoint = environment["IDENTITY_ENDPOINT"] {
      guard let secret = environment["IDENTITY_HEADER"] else {
        throw Unfit(why: "IDENTITY_ENDPOINT is set, but IDENTITY_HEADER is not")
      }
      guard let url = try? HTTPURL(endpoint),
        url.isHTTPS || url.isLoopback || url.hostKind == .ipv4 && url.host.hasPrefix("169.254.")
      else {
        throw Unfit(why: "IDENTITY_ENDPOINT must be a URL: https, or http on loopback or on 169.254.0.0/16")
      }
      let mark = endpoint.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
      return request(
        endpoint + mark + query([("api-version", "2019-08-01")] + parameters), ("X-IDENTITY-HEADER", Secret(secret)))
    }
    let origin = environment["AZURE_POD_IDENTITY_AUTHORITY_HOST"] ?? "http://169.254.169.254"
    let path = "/metadata/identity/oauth2/token?" + query([("api-version", "2018-02-01")] + parameters)
    return request((origin.hasSuffix("/") ? String(origin.dropLast()) : origin) + path, ("Metadata", Secret("true")))
  }

  private static func query(_ parameters: [(String, String)]) -> String {
    String(decoding: FormEncoding.encode(parameters.map { (name: $0.0, value: Array($0.1.utf8)) }), as: UTF8.self)
  }

  private static func request(_ url: String, _ field: (name: String, value: Secret)) -> TokenHTTPRequest {
    var request = TokenHTTPRequest(
      method: .get, url: url, fields: [field], body: Secret([]), maximumAnswer: TokenResponse.maximumBody)
    request.isLocal = true
    return request
  }

  private var name: String { if case .google = identity { Self.googleName } else { Self.azureName } }

  mutating func failed(_ failure: TokenFailure) -> TokenExchange.Step {
    .failed(.server(failure.described(of: name)))
  }

  mutating func answered(_ reply: SourceReply, wall: Int64) -> TokenExchange.Step {
    switch identity {
    case .google(let token, _):
      // Something else answers under this address: a captive portal, or an attacker on the way.
      guard reply.metadataFlavor == Self.flavor else {
        return .failed(.server("\(name)'s answer cannot be used: it has no field Metadata-Flavor: \(Self.flavor)"))
      }
      if case .identity = token, reply.status == 200 { return idToken(reply, wall) }
      return accessToken(reply, wall)
    case .azure: return accessToken(reply, wall)
    }
  }

  private func accessToken(_ reply: SourceReply, _ wall: Int64) -> TokenExchange.Step {
    let answer = TokenResponse.parse(
      status: reply.status, body: reply.body, retryAfter: reply.retryAfter, hiding: identity.sent)
    switch answer {
    case .token(var grant):
      // App Service names the end only.
      if grant.lifetime == nil, let end = TokenResponse.endOfToken(in: reply.body) {
        let left = end - reply.time(at: wall)
        guard left > 0 else { return .failed(.expiredOnArrival) }
        grant.lifetime = min(left, TokenResponse.maximumLifetime)
      }
      // No such server hands one out.
      grant.refreshToken = nil
      return .finished(.token(grant))
    case .refused(let error):
      return .finished(.refused(OAuthError(code: error.code, text: "\(name) says \(error.text)")))
    case .failed(let failure, let wait): return .failed(.server(failure.described(of: name)), retryAfter: wait)
    }
  }

  /// The body is the JWT itself, which says until when it is valid.
  private func idToken(_ reply: SourceReply, _ wall: Int64) -> TokenExchange.Step {
    let token = AWSKeyFetch.trimmed(Secret(reply.body))
    guard TokenResponse.isAccessToken(token.bytes), token.bytes.count <= TokenResponse.maximumToken,
      let end = (try? IDToken(token))?.expiry
    else { return .failed(.server("\(name)'s answer cannot be used: it is no ID token")) }
    let left = end - reply.time(at: wall)
    guard left > 0 else { return .failed(.expiredOnArrival) }
    return .finished(.token(TokenGrant(accessToken: token, lifetime: min(left, TokenResponse.maximumLifetime))))
  }
}
