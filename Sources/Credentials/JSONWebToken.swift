import Crypto
import JSON

/// A signed JWT for use as an assertion (RFC 7523 section 3).
enum JSONWebToken {
  struct Claims {
    var issuer: String
    /// Omitted if empty.
    var subject: String
    var audience: String
    /// Unix seconds.
    var issuedAt: Int64
    /// Seconds.
    var lifetime: Int64
    var identifier: String
  }

  static func sign(_ claims: Claims, with key: OAuth2Policy.SigningKey) throws(TokenFailure) -> Secret {
    do {
      let privateKey = try PrivateKey(pem: key.pem.bytes, passphrase: key.passphrase?.bytes)
      guard let algorithm = privateKey.jwsAlgorithm else {
        throw TokenFailure.signing("the private key is neither RSA of at least 2048 bits nor P-256")
      }
      var header: [JSONValue.Member] = [
        .init(name: "alg", value: .string(algorithm.rawValue)), .init(name: "typ", value: .string("JWT")),
      ]
      if let keyID = key.keyID { header.append(.init(name: "kid", value: .string(keyID))) }
      var body: [JSONValue.Member] = [.init(name: "iss", value: .string(claims.issuer))]
      if !claims.subject.isEmpty { body.append(.init(name: "sub", value: .string(claims.subject))) }
      // No `nbf`: the server would refuse it if its clock were a second behind.
      body += [
        .init(name: "aud", value: .string(claims.audience)),
        .init(name: "iat", value: .integer(claims.issuedAt)),
        .init(name: "exp", value: .integer(claims.issuedAt + claims.lifetime)),
        .init(name: "jti", value: .string(claims.identifier)),
      ]
      let input =
        Base64.encodeURL(JSONValue.object(header).text) + [UInt8(ascii: ".")] + Base64.encodeURL(JSONValue.object(body).text)
      let signature = try privateKey.sign(input, as: algorithm)
      return Secret(input + [UInt8(ascii: ".")] + Base64.encodeURL(signature))
    } catch let failure as TokenFailure {
      throw failure
    } catch let error as OpenSSLError {
      throw .signing(error.message)
    } catch {
      throw .signing("unknown reason")
    }
  }

  /// 128 random bits, so that no server takes an assertion for a replay of another one.
  static func identifier() throws(TokenFailure) -> String {
    do { return String(decoding: Base64.encodeURL(try SecureRandom.bytes(16)), as: UTF8.self) } catch {
      throw .signing(error.message)
    }
  }
}
