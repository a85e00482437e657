import Crypto
import JSON

/// What a token store keeps of one credential: enough to continue after a restart, and for a second process.
public struct TokenRecord: Sendable, Hashable {
  /// Of `TokenBinding`. A record with another one belongs to another configuration and is replaced.
  public var binding: [UInt8]
  /// Increases with each issued token; the higher one is newer.
  public var generation: UInt64
  public var refreshToken: Secret
  /// Kept so that a restart and other processes need no refresh.
  public var accessToken: Secret?
  /// Unix seconds, of the access token.
  public var expiresAt: Int64
  /// Seconds of lifetime when it was issued: bounds `expiresAt` if the clock was set back.
  public var lifetime: Int64
  /// Set before a request sends `refreshToken`, cleared by its answer. If another process finds it set, the token may be used
  /// up.
  public var inFlight: Bool

  public init(
    binding: [UInt8], generation: UInt64, refreshToken: Secret, accessToken: Secret? = nil, expiresAt: Int64 = 0,
    lifetime: Int64 = 0, inFlight: Bool = false
  ) {
    self.binding = binding
    self.generation = generation
    self.refreshToken = refreshToken
    self.accessToken = accessToken
    self.expiresAt = expiresAt
    self.lifetime = lifetime
    self.inFlight = inFlight
  }
}

/// Identifies the configuration that a stored token belongs to.
public enum TokenBinding {
  /// SHA-256 over endpoint, client, grant, user and the configured first token, each preceded by its length.
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
    // A login with a browser and one with a device code bring the same tokens.
    case .authorizationCode, .deviceCode: parts.append(Array("login".utf8))
    }
    return SHA256.digest(parts: parts)
  }
}

extension TokenRecord {
  var json: JSONValue {
    var members: [JSONValue.Member] = [
      .init(name: "binding", value: Self.encoded(binding)),
      .init(name: "generation", value: .integer(generation)),
      .init(name: "refresh_token", value: Self.encoded(refreshToken.bytes)),
    ]
    if let accessToken {
      members += [
        .init(name: "access_token", value: Self.encoded(accessToken.bytes)),
        .init(name: "expires_at", value: .integer(expiresAt)),
        .init(name: "lifetime", value: .integer(lifetime)),
      ]
    }
    if inFlight { members.append(.init(name: "in_flight", value: .bool(true))) }
    return .object(members)
  }

  /// nil if a member is missing or invalid.
  init?(_ json: JSONValue) {
    guard let binding = Self.decoded(json["binding"]), binding.count == 32, let generation = json["generation"]?.integer,
      generation >= 0, let refreshToken = Self.decoded(json["refresh_token"]), !refreshToken.isEmpty
    else { return nil }
    self.init(binding: binding, generation: UInt64(generation), refreshToken: Secret(refreshToken))
    if let value = json["access_token"] {
      guard let token = Self.decoded(value), TokenResponse.isAccessToken(token), let expiresAt = json["expires_at"]?.integer,
        let lifetime = json["lifetime"]?.integer, (1...TokenResponse.maximumLifetime).contains(lifetime)
      else { return nil }
      self.accessToken = Secret(token)
      self.expiresAt = expiresAt
      self.lifetime = lifetime
    }
    if let value = json["in_flight"] {
      guard case .bool(let mark) = value else { return nil }
      inFlight = mark
    }
  }

  private static func encoded(_ bytes: [UInt8]) -> JSONValue {
    .string(String(decoding: Base64.encode(bytes), as: UTF8.self))
  }

  private static func decoded(_ value: JSONValue?) -> [UInt8]? {
    value?.string.flatMap { Base64.decode(Array($0.utf8)) }
  }
}
