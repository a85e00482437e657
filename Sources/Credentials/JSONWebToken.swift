import Crypto
import JSON

/// A signed JWT for use as an assertion (RFC 7523 section 3).
enum JSONWebToken {
  struct Claims {
    var issuer: String
    /// Omitted if empty.
    var subject: String
    /// Omitted if empty.
    var audience: String
    /// Unix seconds.
    var issuedAt: Int64
    /// Seconds.
    var lifetime: Int64
    /// Omitted if empty.
    var identifier: String
  }

  static func sign(_ claims: Claims, with key: OAuth2Policy.SigningKey) throws(TokenFailure) -> Secret {
    do throws(OpenSSLError) {
      let privateKey = try PrivateKey(pem: key.pem.bytes, passphrase: key.passphrase?.bytes)
      guard let algorithm = key.algorithm ?? privateKey.jwsAlgorithm else {
        throw OpenSSLError(.key, "the private key is neither RSA of at least 2048 bits, P-256, P-384 nor Ed25519")
      }
      let input = input(claims, algorithm: algorithm.rawValue, keyID: key.keyID)
      return token(input, try privateKey.sign(input, as: algorithm))
    } catch { throw .signing(error.message) }
  }

  /// HS256.
  static func sign(_ claims: Claims, with secret: Secret) throws(TokenFailure) -> Secret {
    guard secret.bytes.count >= OAuth2Policy.shortestSigningSecret else {
      throw .signing("the client secret is shorter than \(OAuth2Policy.shortestSigningSecret) bytes")
    }
    let input = input(claims, algorithm: "HS256", keyID: nil)
    do throws(OpenSSLError) { return token(input, try HMACSHA256.code(of: input, key: secret.bytes)) } catch {
      throw .signing(error.message)
    }
  }

  /// JWS signing input (RFC 7515 section 5.1).
  private static func input(_ claims: Claims, algorithm: String, keyID: String?) -> [UInt8] {
    var header: [JSONValue.Member] = [
      .init(name: "alg", value: .string(algorithm)), .init(name: "typ", value: .string("JWT")),
    ]
    if let keyID { header.append(.init(name: "kid", value: .string(keyID))) }
    var body: [JSONValue.Member] = [.init(name: "iss", value: .string(claims.issuer))]
    if !claims.subject.isEmpty { body.append(.init(name: "sub", value: .string(claims.subject))) }
    // No `nbf`: the server would refuse it if its clock were a second behind.
    if !claims.audience.isEmpty { body.append(.init(name: "aud", value: .string(claims.audience))) }
    body += [
      .init(name: "iat", value: .integer(claims.issuedAt)),
      .init(name: "exp", value: .integer(claims.issuedAt + claims.lifetime)),
    ]
    if !claims.identifier.isEmpty { body.append(.init(name: "jti", value: .string(claims.identifier))) }
    return Base64.encodeURL(JSONValue.object(header).text) + [UInt8(ascii: ".")] + Base64.encodeURL(JSONValue.object(body).text)
  }

  private static func token(_ input: [UInt8], _ signature: [UInt8]) -> Secret {
    Secret(input + [UInt8(ascii: ".")] + Base64.encodeURL(signature))
  }

  /// 128 random bits, so that no server takes an assertion for a replay of another one.
  static func identifier() throws(TokenFailure) -> String {
    do { return String(decoding: Base64.encodeURL(try SecureRandom.bytes(16)), as: UTF8.self) } catch {
      throw .signing(error.message)
    }
  }
}
