import Crypto

/// The key to which a server binds tokens (RFC 9449), always P-256: it signs on event loops, in 15 µs. Equal keys have equal
/// thumbprints. No description shows the private part.
public final class DPoPKey: Sendable {
  let privateKey: PrivateKey
  /// RFC 7638, SHA-256: what authorization requests send as `dpop_jkt`. Not a secret.
  public let thumbprint: String
  /// The encoded header of every proof.
  let header: [UInt8]

  /// - Throws: `key`, for keys that are not P-256.
  public init(_ key: PrivateKey) throws(OpenSSLError) {
    guard let point = key.p256Point else { throw OpenSSLError(.key, "the key is not an EC key over P-256") }
    privateKey = key
    let (x, y) = (Base64.encodeURL(point.x), Base64.encodeURL(point.y))
    thumbprint = Self.thumbprint(x: x, y: y)
    header = Base64.encodeURL(Self.header(x: x, y: y))
  }

  /// A new key.
  public static func generated() throws(OpenSSLError) -> DPoPKey { try DPoPKey(.generateP256()) }

  /// - Parameter stored: what `stored` was.
  public convenience init(stored: Secret) throws(OpenSSLError) { try self.init(PrivateKey(pem: stored.bytes)) }

  /// The private key for a token store, which protects it as it protects tokens.
  public func stored() throws(OpenSSLError) -> Secret { Secret(try privateKey.pem()) }

  /// What signs with it on one thread at a time.
  public func signer() throws(OpenSSLError) -> P256Signer { try P256Signer(privateKey) }

  /// `ath`: base64url of the token's SHA-256.
  static func hash(of token: Secret) -> [UInt8] { Base64.encodeURL(SHA256.digest(token.bytes)) }

  static func header(x: [UInt8], y: [UInt8]) -> [UInt8] {
    Array(#"{"typ":"dpop+jwt","alg":"ES256","jwk":{"kty":"EC","x":""#.utf8) + x + Array(#"","y":""#.utf8) + y
      + Array(#"","crv":"P-256"}}"#.utf8)
  }

  /// RFC 7638 section 3: the required members in the order of their names, without blanks.
  static func thumbprint(x: [UInt8], y: [UInt8]) -> String {
    let members =
      Array(#"{"crv":"P-256","kty":"EC","x":""#.utf8) + x + Array(#"","y":""#.utf8) + y + Array(#""}"#.utf8)
    return String(decoding: Base64.encodeURL(SHA256.digest(members)), as: UTF8.self)
  }
}

extension DPoPKey: Hashable {
  public static func == (left: DPoPKey, right: DPoPKey) -> Bool { left.thumbprint == right.thumbprint }
  public func hash(into hasher: inout Hasher) { hasher.combine(thumbprint) }
}

extension DPoPKey: CustomStringConvertible, CustomReflectable {
  public var description: String { "<DPoP key \(thumbprint)>" }
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// How a token is used, as a server calls it (RFC 6749 section 7.1).
public enum TokenScheme: String, Sendable, Hashable {
  case bearer = "Bearer"
  case dpop = "DPoP"
}
