import Credentials
import Routing
import Settings
import TLS
import Trust

/// Describes settings for people, in `check` and `explain`. Never shows a secret.
enum Describing {
  static func endpoint(_ endpoint: ListenerSettings.Endpoint) -> String {
    switch endpoint {
    case .tcp(let host, let port): host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
    case .unix(let path, _, _, _): "unix:\(path)"
    case .inherited(let descriptor): "fd:\(descriptor)"
    }
  }

  /// `http://api.example.com/v1`: the URL that an app requests.
  static func match(_ match: UpstreamSettings.Match) -> String {
    let host = match.host.utf8.contains(UInt8(ascii: ":")) ? "[\(match.host)]" : match.host
    let port = match.scheme == .https && match.port == 443 ? nil : match.port
    return "\(match.scheme.rawValue)://" + (match.isWildcard ? "*." : "") + host + (port.map { ":\($0)" } ?? "")
      + match.pathPrefix
  }

  static func matches(_ upstream: UpstreamSettings) -> String { upstream.matches.map(match).joined(separator: ", ") }

  static func origin(_ origin: UpstreamSettings.Origin) -> String { origin.shown }

  /// In the order of preference.
  static func origins(_ upstream: UpstreamSettings) -> String { upstream.origins.map(origin).joined(separator: ", else ") }

  static func pattern(_ pattern: HostPattern) -> String {
    let host = pattern.host.isEmpty ? "*" : pattern.isWildcard ? "*.\(pattern.host)" : pattern.host
    return host + (pattern.port.map { ":\($0)" } ?? "")
  }

  static func access(_ access: Access) -> String {
    switch access {
    case .all: "everything"
    case .only(let upstreams, let hosts):
      upstreams.isEmpty && hosts.isEmpty
        ? "nothing" : (upstreams.sorted() + hosts.map(pattern).sorted()).joined(separator: ", ")
    }
  }

  /// What `max_requests` adds to the sentence about a client; "" without a limit.
  static func limit(_ maxRequests: Int?, of whom: String? = nil) -> String {
    guard let maxRequests else { return "" }
    return ", at most \(count(maxRequests, "request"))" + (whom.map { " of \($0)" } ?? "") + " at once"
  }

  /// - Parameter plural: nil: `name` with an s.
  static func count(_ number: Int, _ name: String, _ plural: String? = nil) -> String {
    number == 1 ? "1 \(name)" : "\(number) \(plural ?? name + "s")"
  }

  // MARK: Credentials

  static func credential(_ policy: CredentialPolicy) -> String {
    switch policy.kind {
    case .basic(let username, _): return "basic, user name \(username)"
    case .bearer: return "bearer token"
    case .header(let name, _, let format): return "header \(name): \(format)"
    case .oauth2(let oauth2):
      if let source = oauth2.source { return self.source(source) }
      let endpoint =
        switch oauth2.endpoint {
        case .token(let url): url
        case .issuer(let url): "the endpoint that \(url) names"
        }
      let resource = oauth2.resource.isEmpty ? "" : " for \(oauth2.resource.joined(separator: ", "))"
      let use = oauth2.login?.use == .idToken ? "; requests carry the id_token" : ""
      return "oauth2 \(grant(oauth2.grant)), tokens from \(endpoint)\(resource)\(use)\(dpop(oauth2.dpop))"
    case .sigv4(let sigv4): return sigV4(sigv4)
    case .jwt(let policy): return jwt(policy)
    case .hmac(let policy): return hmac(policy)
    case .httpSignature(let policy): return httpSignature(policy)
    case .digest(let digest): return Self.digest(digest)
    case .negotiate(let policy): return negotiate(policy)
    case .query: return "query, \(targetPart(policy))"
    case .path: return "path, first segment \(targetPart(policy))"
    }
  }

  private static func dpop(_ dpop: OAuth2Policy.DPoP?) -> String {
    switch dpop {
    case nil: ""
    case .generated?: "; DPoP with a generated key"
    case .key(let key)?: "; DPoP with key \(key.thumbprint)"
    }
  }

  /// What it presents to servers; nil: no certificate.
  static func certificate(_ policy: CredentialPolicy) -> String? {
    guard case .oauth2(let oauth2) = policy.kind, let certificate = oauth2.clientCertificate,
      let leaf = try? Certificate.parse(pem: certificate.files.certificates).first
    else { return nil }
    let servers = certificate.bindsTokens ? "its server and origins, as its tokens are bound to it" : "its server"
    return "client certificate \(leaf.subject) for \(servers), until \(expiry(leaf.notAfter))"
  }

  private static func grant(_ grant: OAuth2Policy.Grant) -> String {
    switch grant {
    case .clientCredentials: "client_credentials"
    case .refreshToken: "refresh_token"
    case .password: "password"
    case .jwtBearer: "jwt_bearer"
    case .authorizationCode: "authorization_code"
    case .deviceCode: "device_code"
    case .tokenExchange: "token_exchange"
    case .source: "source"
    }
  }

  static func fieldName(_ policy: CredentialPolicy) -> String {
    switch policy.kind {
    case .query, .path: targetPart(policy)
    case .header(let name, _, _): name
    case .oauth2(let oauth2) where oauth2.dpop != nil: "Authorization and DPoP"
    case .jwt(let jwt): jwt.field
    case .hmac(let hmac): hmac.fields.map(\.name).joined(separator: ", ")
    case .httpSignature: "Signature and Signature-Input"
    case .sigv4: "Authorization, X-Amz-Date and X-Amz-Security-Token"
    case .basic, .bearer, .oauth2, .digest, .negotiate: "Authorization"
    }
  }

  // MARK: Trust

  /// One line for the anchors, then one for the requirement of each evaluator.
  static func trust(_ policy: TrustPolicy) -> [String] {
    if policy.evaluators.contains(.disabled) { return ["DISABLED: accepts every certificate of every host"] }
    var lines = ["\(anchors(policy)), \(policy.minimumVersion == .tls13 ? "TLS 1.3" : "TLS 1.2 or newer")"]
    let gaps = [
      policy.validatesChain ? nil : "the chain is NOT validated", policy.validatesHost ? nil : "the host is NOT compared",
    ]
    lines += gaps.compactMap { $0 }
    for entry in policy.flattened {
      switch entry.evaluator {
      case .chain, .composite, .disabled: break
      case .pinnedPublicKeys(let pins):
        let enforced = pins.enforce ? "" : ", report only"
        lines.append(
          "\(count(pins.pins.count, "pinned public key"))\(enforced)" + (pins.expires.map { ", until \(expiry($0))" } ?? ""))
      case .pinnedCertificates(let pins):
        let alone = pins.acceptSelfSigned ? ", as the only anchors" : ""
        lines.append(count(pins.certificates.count, "pinned certificate") + alone)
      case .revocation(let revocation):
        let methods = revocation.methods.map(\.rawValue).joined(separator: ", then ")
        let failure = revocation.requirePositiveResponse ? "no answer fails" : "no answer passes"
        lines.append("revocation by \(methods); \(failure)")
      }
    }
    return lines
  }

  private static func anchors(_ policy: TrustPolicy) -> String {
    switch policy.effectiveAnchors {
    case .system: "system roots"
    case .systemAnd(let own): "system roots and \(count(own.count, "certificate")) of its own"
    case .only(let own): "\(count(own.count, "certificate")) of its own, no system roots"
    }
  }

  /// The last day on which pins are enforced. `time` is the first second after it.
  static func expiry(_ time: Int64) -> String { "\(Days.date(time - 1)) (\(Days.distance(time - 1)))" }
}
