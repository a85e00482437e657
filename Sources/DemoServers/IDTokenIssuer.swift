import Crypto
import EventIO
import JSON

/// Signs id_tokens (OpenID Connect Core section 2) with a key of this run.
struct IDTokenIssuer {
  /// Seconds.
  private static let lifetime: Int64 = 300

  private let issuer, keyID: String
  private let key: PrivateKey
  private let publicKey: PublicKey

  init(issuer: String) throws(OpenSSLError) {
    key = try PrivateKey.generateP256()
    guard let publicKey = PublicKey(of: key) else { throw OpenSSLError(.crypto, "a P-256 key without public half") }
    self.publicKey = publicKey
    self.issuer = issuer
    keyID = publicKey.thumbprint
  }

  var jwk: [JSONValue.Member] {
    publicKey.jwk + [
      .init(name: "use", value: .string("sig")), .init(name: "alg", value: .string("ES256")),
      .init(name: "kid", value: .string(keyID)),
    ]
  }

  func issue(to client: String, person: String, nonce: String?) throws(OpenSSLError) -> String {
    let now = wallClockSeconds()
    let header: JSONValue = ["alg": .string("ES256"), "typ": .string("JWT"), "kid": .string(keyID)]
    var claims: [JSONValue.Member] = [
      .init(name: "iss", value: .string(issuer)), .init(name: "aud", value: .string(client)),
      .init(name: "sub", value: .string("user-\(person)")), .init(name: "preferred_username", value: .string(person)),
      .init(name: "iat", value: .integer(now)), .init(name: "exp", value: .integer(now + Self.lifetime)),
    ]
    if let nonce { claims.append(.init(name: "nonce", value: .string(nonce))) }
    let input = Base64.encodeURL(header.text) + [UInt8(ascii: ".")] + Base64.encodeURL(JSONValue.object(claims).text)
    let signature = try key.sign(input, as: .es256)
    return String(decoding: input + [UInt8(ascii: ".")] + Base64.encodeURL(signature), as: UTF8.self)
  }
}
