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
  }
  /// RFC 9530.
  public enum ContentDigest: String, Sendable, Hashable, CaseIterable {
    case sha256 = "sha-256"
    case sha512 = "sha-512"
  }

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
    keyID: String, key: Key, algorithm: Algorithm, components: [String], contentDigest: ContentDigest = .sha256,
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
}
