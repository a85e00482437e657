import Crypto

/// A credential that is a JWT which the proxy signs itself. All durations are milliseconds.
public struct JWTPolicy: Sendable, Hashable {
  public enum Key: Sendable, Hashable {
    /// PEM text.
    case privateKey(Secret, passphrase: Secret?)
    /// For HS256, HS384 and HS512.
    case secret(Secret)
  }
  /// RFC 7518 section 3.1 and RFC 8037 section 3.1.
  public enum Algorithm: String, Sendable, Hashable, CaseIterable {
    case rs256 = "RS256"
    case rs384 = "RS384"
    case rs512 = "RS512"
    case ps256 = "PS256"
    case ps384 = "PS384"
    case ps512 = "PS512"
    case es256 = "ES256"
    case es384 = "ES384"
    case edDSA = "EdDSA"
    case hs256 = "HS256"
    case hs384 = "HS384"
    case hs512 = "HS512"

    /// Of those that a key can sign with, the default first.
    public static func of(_ key: PrivateKey) -> [JWTPolicy.Algorithm] {
      key.jwsAlgorithms.compactMap { JWTPolicy.Algorithm(rawValue: $0.rawValue) }
    }

    /// nil: it signs with a private key.
    public var keyedHash: HashAlgorithm? {
      switch self {
      case .hs256: .sha256
      case .hs384: .sha384
      case .hs512: .sha512
      case .rs256, .rs384, .rs512, .ps256, .ps384, .ps512, .es256, .es384, .edDSA: nil
      }
    }
  }
  public enum Preset: String, Sendable, Hashable, CaseIterable {
    /// Apple's push service refuses tokens that are minted too often.
    case apns
  }
  public struct Claims: Sendable, Hashable {
    public let issuer: String?
    public let subject: String?
    public let audience: String?
    /// The members of a JSON object, as they will be written; without the braces.
    public let more: [(name: String, json: String)]
    public init(
      issuer: String? = nil, subject: String? = nil, audience: String? = nil, more: [(name: String, json: String)] = []
    ) {
      self.issuer = issuer
      self.subject = subject
      self.audience = audience
      self.more = more
    }
    public static func == (left: Claims, right: Claims) -> Bool {
      left.issuer == right.issuer && left.subject == right.subject && left.audience == right.audience
        && left.more.elementsEqual(right.more) { $0 == $1 }
    }
    public func hash(into hasher: inout Hasher) {
      hasher.combine(issuer)
      hasher.combine(subject)
      hasher.combine(audience)
      for (name, json) in more {
        hasher.combine(name)
        hasher.combine(json)
      }
    }
  }

  public let key: Key
  /// Fits the key.
  public let algorithm: Algorithm
  public let keyID: String?
  public let claims: Claims
  public let preset: Preset?
  /// exp - iat
  public let lifetime: Int
  /// How far iat lies in the past.
  public let backdate: Int
  /// Whether it has the claim exp.
  public let expires: Bool
  public let field: String
  /// Contains `{jwt}` exactly once.
  public let format: String
  public let retryStatuses: Set<Int>

  /// Stands for the JWT in `format`.
  public static let placeholder = "{jwt}"
  /// Bytes.
  public static let shortestSecret = 32

  /// How old it becomes.
  public var renewal: Int64 {
    switch preset {
    // Apple refuses tokens from 60 minutes on.
    case .apns?: 50 * 60_000
    case nil: Int64(lifetime - backdate) * 4 / 5
    }
  }

  /// How old one may be that is sent while the next one is being made.
  var latest: Int64 {
    switch preset {
    case .apns?: 55 * 60_000
    case nil: Int64(lifetime - backdate) * 9 / 10
    }
  }

  /// How old one must be for a refusal to replace it.
  public var shortestAge: Int64 {
    switch preset {
    // Apple refuses who replaces them more often.
    case .apns?: 20 * 60_000
    case nil: Int64(lifetime) / 5
    }
  }

  public init(
    key: Key, algorithm: Algorithm, keyID: String? = nil, claims: Claims, preset: Preset? = nil, lifetime: Int = 600_000,
    backdate: Int = 60_000, expires: Bool = true, field: String = "Authorization", format: String = "Bearer {jwt}",
    retryStatuses: Set<Int> = [401]
  ) {
    self.key = key
    self.algorithm = algorithm
    self.keyID = keyID
    self.claims = claims
    self.preset = preset
    self.lifetime = lifetime
    self.backdate = backdate
    self.expires = expires
    self.field = field
    self.format = format
    self.retryStatuses = retryStatuses
  }

  /// The same with another key.
  /// - Returns: nil: the secret is too short.
  public func replacing(_ key: Key) -> JWTPolicy? {
    if case .secret(let secret) = key, secret.bytes.count < Self.shortestSecret { return nil }
    return JWTPolicy(
      key: key, algorithm: algorithm, keyID: keyID, claims: claims, preset: preset, lifetime: lifetime, backdate: backdate,
      expires: expires, field: field, format: format, retryStatuses: retryStatuses)
  }
}
