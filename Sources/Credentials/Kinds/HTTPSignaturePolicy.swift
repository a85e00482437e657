import Crypto

/// A credential that signs parts of the request as RFC 9421 says. All durations are milliseconds.
public struct HTTPSignaturePolicy: Sendable, Hashable {
  public enum Key: Sendable, Hashable {
    /// PEM text.
    case privateKey(Secret, passphrase: Secret?)
    /// For hmac-sha256.
    case secret(Secret)
  }
  /// RFC 9421 section 3.3.
  public enum Algorithm: String, Sendable, Hashable, CaseIterable {
    case ed25519
    case ecdsaP256 = "ecdsa-p256-sha256"
    case ecdsaP384 = "ecdsa-p384-sha384"
    case rsaPSS = "rsa-pss-sha512"
    case rsaPKCS1 = "rsa-v1_5-sha256"
    case hmac = "hmac-sha256"

    /// The same signature under its name in JOSE: r || s for ECDSA, a salt as long as the hash for PSS. nil: it signs with a secret.
    public var jwsAlgorithm: PrivateKey.JWSAlgorithm? {
      switch self {
      case .ed25519: .edDSA
      case .ecdsaP256: .es256
      case .ecdsaP384: .es384
      case .rsaPSS: .ps512
      case .rsaPKCS1: .rs256
      case .hmac: nil
      }
    }

    /// Of those that a key can sign with, the default first.
    public static func of(_ key: PrivateKey) -> [HTTPSignaturePolicy.Algorithm] {
      let possible = key.jwsAlgorithms
      return allCases.filter { $0.jwsAlgorithm.map(possible.contains) ?? false }
    }
  }
  /// RFC 9530.
  public enum ContentDigest: String, Sendable, Hashable, CaseIterable {
    case sha256 = "sha-256"
    case sha512 = "sha-512"
  }

  /// Derived components that it can cover (section 2.2).
  public static let derivedComponents = [
    "@method", "@authority", "@path", "@query", "@target-uri", "@scheme", "@request-target",
  ]
  public static let defaultComponents = ["@method", "@authority", "@path", "@query", "content-digest", "content-type"]

  public let keyID: String
  public let key: Key
  /// Fits the key.
  public let algorithm: Algorithm
  /// Derived components and field names in lower case, in their order.
  public let components: [String]
  public let contentDigest: ContentDigest
  /// nil: no `expires` parameter.
  public let lifetime: Int?
  public let tag: String?
  public let sendsNonce: Bool
  public let label: String

  public init(
    keyID: String, key: Key, algorithm: Algorithm, components: [String] = Self.defaultComponents,
    contentDigest: ContentDigest = .sha256,
    lifetime: Int? = nil, tag: String? = nil, sendsNonce: Bool = false, label: String = "sig1"
  ) {
    self.keyID = keyID
    self.key = key
    self.algorithm = algorithm
    self.components = components
    self.contentDigest = contentDigest
    self.lifetime = lifetime
    self.tag = tag
    self.sendsNonce = sendsNonce
    self.label = label
  }

  /// The same with another key.
  /// - Returns: nil: it does not fit the algorithm.
  public func replacing(_ key: Key) -> HTTPSignaturePolicy? {
    switch key {
    case .secret(let secret): if secret.isEmpty { return nil }
    case .privateKey(let pem, let passphrase):
      guard let opened = try? PrivateKey(pem: pem.bytes, passphrase: passphrase?.bytes),
        Algorithm.of(opened).contains(algorithm)
      else { return nil }
    }
    return HTTPSignaturePolicy(
      keyID: keyID, key: key, algorithm: algorithm, components: components, contentDigest: contentDigest, lifetime: lifetime,
      tag: tag, sendsNonce: sendsNonce, label: label)
  }
}
