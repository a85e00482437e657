import Crypto

/// Identifies the configuration that a stored token belongs to.
public enum TokenBinding {
  /// SHA-256 over endpoint, client, grant, user, the configured first token, `dpop`, and what else tokens are bound to, each preceded by its length.
  public static func digest(of policy: OAuth2Policy) -> [UInt8] {
    var parts: [[UInt8]] = [Array("authproxy token binding 1".utf8)]
    switch policy.endpoint {
    case .token(let url): parts += [Array("token".utf8), Array(url.utf8)]
    case .issuer(let url): parts += [Array("issuer".utf8), Array(url.utf8)]
    }
    parts.append(Array((policy.clientID ?? "").utf8))
    switch policy.grant {
    case .clientCredentials: parts.append(Array("client_credentials".utf8))
    case .refreshToken(let first): parts += [Array("refresh_token".utf8), first.bytes]
    case .password(let username, _): parts += [Array("password".utf8), Array(username.utf8)]
    case .jwtBearer: parts.append(Array("jwt_bearer".utf8))
    case .tokenExchange: parts.append(Array("token_exchange".utf8))
    case .source(let source): parts += [Array("source".utf8)] + source.continuity
    // A login with a browser and one with a device code bring the same tokens.
    case .authorizationCode, .deviceCode: parts.append(Array("login".utf8))
    }
    switch policy.dpop {
    case nil: break
    case .generated?: parts.append(Array("dpop".utf8))
    case .key(let key)?: parts += [Array("dpop key".utf8), Array(key.thumbprint.utf8)]
    }
    // RFC 8705 section 4: a public client's refresh tokens are bound to the certificate, too. A server that sees one with another
    // certificate may end the login.
    if case .none = policy.clientAuthentication, let thumbprint = policy.boundThumbprint {
      parts += [Array("certificate".utf8), thumbprint]
    }
    return SHA256.digest(parts: parts)
  }

  /// Identifies what an access token is asked for with: scope, resource, audience, parameters.
  static func request(of policy: OAuth2Policy) -> [UInt8] {
    var parts = [Array("authproxy token request 1".utf8), Array((policy.scope ?? "").utf8)]
    parts.append(Array("\(policy.resource.count)".utf8))
    parts += policy.resource.map { Array($0.utf8) }
    for (name, value) in policy.parameters.sorted(by: { $0.key < $1.key }) { parts += [Array(name.utf8), Array(value.utf8)] }
    if let exchange = policy.exchange { parts += exchange.continuity }
    return SHA256.digest(parts: parts)
  }
}
