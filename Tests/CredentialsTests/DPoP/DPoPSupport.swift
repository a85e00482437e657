import Crypto
import JSON
import Testing

@testable import Credentials

/// A proof, taken apart; its signature is verified with the key that it names.
struct ReadProof {
  let header: JSONValue
  let claims: JSONValue
  let identifier: String
  let key: PublicKey

  init(_ text: String) throws {
    let parts = text.split(separator: ".").map(String.init)
    try #require(parts.count == 3)
    header = try JSONParser.parse(try #require(Base64.decodeURL(parts[0].utf8)))
    claims = try JSONParser.parse(try #require(Base64.decodeURL(parts[1].utf8)))
    identifier = try #require(claims["jti"]?.string)
    let jwk = try #require(header["jwk"])
    key = try publicKey(x: try #require(jwk["x"]?.string), y: try #require(jwk["y"]?.string))
    let signature = try #require(Base64.decodeURL(parts[2].utf8))
    try #require(key.verifyES256(signature, of: bytes(parts[0] + "." + parts[1])))
  }

  /// The only DPoP field of a request.
  init(of request: TokenHTTPRequest) throws {
    let proofs = request.fields.filter { $0.name == "DPoP" }
    try #require(proofs.count == 1)
    try self.init(text(proofs[0].value.bytes))
  }

  var nonce: String? { claims["nonce"]?.string }
  var uri: String? { claims["htu"]?.string }
  var method: String? { claims["htm"]?.string }
  var thumbprint: String? {
    guard let x = header["jwk"]?["x"]?.string, let y = header["jwk"]?["y"]?.string else { return nil }
    return DPoPKey.thumbprint(x: bytes(x), y: bytes(y))
  }
}

/// From base64url coordinates.
func publicKey(x: String, y: String) throws -> PublicKey {
  let (x, y) = (try #require(Base64.decodeURL(x.utf8)), try #require(Base64.decodeURL(y.utf8)))
  return try #require(PublicKey(x: x, y: y))
}

func dpopPolicy(
  grant: OAuth2Policy.Grant = .clientCredentials, dpop: OAuth2Policy.DPoP? = .generated,
  endpoint: OAuth2Policy.Endpoint = .token(url: "https://login.example.com/token?tenant=7"), scope: String? = nil
) -> OAuth2Policy {
  OAuth2Policy(
    endpoint: endpoint, grant: grant, clientID: "app", clientAuthentication: .basic(secret: Secret("hush-hush")), scope: scope,
    dpop: dpop)
}
