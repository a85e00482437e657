import CSystem
import Crypto
import EventIO
import JSON

/// Checks DPoP proofs (RFC 9449 section 4.3), each with a nonce of this server (section 8).
struct ProofVerifier {
  enum Problem: Error, Equatable {
    /// The client must repeat the request with the present nonce.
    case needsNonce
    case invalid(String)

    var code: String { self == .needsNonce ? "use_dpop_nonce" : "invalid_dpop_proof" }
    var text: String {
      switch self {
      case .needsNonce: "the proof needs the nonce of this answer"
      case .invalid(let why): why
      }
    }
  }

  /// Seconds by which clocks may differ.
  private static let skew: Int64 = 300
  /// Nanoseconds after which there is a new nonce. The one before is valid as long again.
  private static let nonceAge: Int64 = 60_000_000_000

  private var nonces: [String] = []
  private var nonceMade: Int64 = 0
  /// Each `jti` with its time in Unix seconds.
  private var seen: [String: Int64] = [:]

  /// - Returns: the present one; nil without random bytes.
  mutating func nonce() -> String? {
    if nonces.isEmpty || csys_monotonic() - nonceMade > Self.nonceAge {
      guard let next = try? TokenBook.randomText() else { return nil }
      nonces = [next] + nonces.prefix(1)
      nonceMade = csys_monotonic()
    }
    return nonces[0]
  }

  /// - Parameters:
  ///   - url: of the request, without query.
  ///   - token: that the request uses; nil at a token endpoint.
  /// - Returns: the key's thumbprint (RFC 7638); nil if the request has no proof.
  mutating func thumbprint(_ request: ServedProof, url: String, token: String?) throws(Problem) -> String? {
    guard let first = request.proofs.first else { return nil }
    guard request.proofs.count == 1 else { throw .invalid("two fields DPoP") }
    let parts = first.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let signature = Base64.decodeURL(parts[2]), let header = Self.object(parts[0]),
      let claims = Self.object(parts[1])
    else { throw .invalid("the proof is no JWT") }
    guard header["typ"]?.string == "dpop+jwt", header["alg"]?.string == "ES256" else {
      throw .invalid("typ is not dpop+jwt, or alg is not ES256")
    }
    guard let jwk = header["jwk"], jwk["kty"]?.string == "EC", jwk["crv"]?.string == "P-256", jwk["d"] == nil,
      let x = Base64.decodeURL((jwk["x"]?.string ?? "").utf8), let y = Base64.decodeURL((jwk["y"]?.string ?? "").utf8),
      let key = PublicKey(x: x, y: y)
    else { throw .invalid("jwk is no public P-256 key") }
    let message = Array(parts[0]) + [UInt8(ascii: ".")] + Array(parts[1])
    guard key.verifyES256(signature, of: message) else { throw .invalid("the signature is wrong") }
    try check(claims, request.method, url, token)
    return key.thumbprint
  }

  private mutating func check(_ claims: JSONValue, _ method: String, _ url: String, _ token: String?) throws(Problem) {
    guard claims["htm"]?.string == method else { throw .invalid("htm is not \(method)") }
    guard claims["htu"]?.string == url else { throw .invalid("htu is not \(url)") }
    guard case .number(let text)? = claims["iat"], let issued = Double(text) else { throw .invalid("no iat") }
    let now = wallClockSeconds()
    guard abs(issued - Double(now)) <= Double(Self.skew) else { throw .invalid("iat is not the present time") }
    if let token {
      let digest = Base64.encodeURL(SHA256.digest(Array(token.utf8)))
      guard claims["ath"]?.string == String(decoding: digest, as: UTF8.self) else { throw .invalid("ath is not the token's") }
    }
    guard let nonce = claims["nonce"]?.string, nonces.contains(nonce) else { throw .needsNonce }
    guard let identifier = claims["jti"]?.string, !identifier.isEmpty else { throw .invalid("no jti") }
    seen = seen.filter { $0.value >= now - 2 * Self.skew }
    guard seen.updateValue(now, forKey: identifier) == nil else { throw .invalid("the proof was used before") }
  }

  private static func object(_ part: some Sequence<UInt8>) -> JSONValue? {
    guard let bytes = Base64.decodeURL(part), let value = try? JSONParser.parse(bytes), case .object = value else { return nil }
    return value
  }
}

/// What of a request the proof is about.
struct ServedProof {
  var method: String
  /// Values of all fields DPoP.
  var proofs: [String]
}

extension PublicKey {
  /// Members in the order that the thumbprint requires (RFC 7638 section 3.3).
  var jwk: [JSONValue.Member] {
    func text(_ bytes: [UInt8]) -> JSONValue { .string(String(decoding: Base64.encodeURL(bytes), as: UTF8.self)) }
    return [
      .init(name: "crv", value: .string("P-256")), .init(name: "kty", value: .string("EC")),
      .init(name: "x", value: text(x)), .init(name: "y", value: text(y)),
    ]
  }

  var thumbprint: String {
    String(decoding: Base64.encodeURL(SHA256.digest(JSONValue.object(jwk).text)), as: UTF8.self)
  }
}
