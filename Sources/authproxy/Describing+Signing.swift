import Credentials
import Crypto
import Settings

/// Describes credentials that sign. Never shows a key, nor a template: people write secrets into them.
extension Describing {
  static func jwt(_ policy: JWTPolicy) -> String {
    var parts = ["jwt \(policy.algorithm.rawValue)"]
    if let keyID = policy.keyID { parts.append("key ID \(keyID)") }
    if case .privateKey(let pem, let passphrase) = policy.key { parts += fingerprint(pem, passphrase) }
    if let issuer = policy.claims.issuer { parts.append("issuer \(issuer)") }
    if let subject = policy.claims.subject { parts.append("subject \(subject)") }
    if let audience = policy.claims.audience { parts.append("audience \(audience)") }
    if policy.preset == .apns {
      parts.append("for Apple: a new one at 50m, never within 20m of the last")
    } else {
      parts.append("for \(Units.text(duration: policy.lifetime))" + (policy.expires ? "" : ", without exp"))
    }
    return parts.joined(separator: ", ")
  }

  static func hmac(_ policy: HMACPolicy) -> String {
    "hmac \(policy.algorithm.rawValue)" + (policy.needsBody ? ", reads bodies whole" : ", bodies stream")
  }

  static func httpSignature(_ policy: HTTPSignaturePolicy) -> String {
    var parts = ["http_signature \(policy.algorithm.rawValue)", "key ID \(policy.keyID)"]
    if case .privateKey(let pem, let passphrase) = policy.key { parts += fingerprint(pem, passphrase) }
    parts.append("covers \(policy.components.joined(separator: " "))")
    return parts.joined(separator: ", ")
  }

  /// Of the public key: SHA-256 of its SubjectPublicKeyInfo, as pins have it.
  private static func fingerprint(_ pem: Secret, _ passphrase: Secret?) -> [String] {
    guard let key = try? PrivateKey(pem: pem.bytes, passphrase: passphrase?.bytes) else { return [] }
    return ["key sha256/" + String(decoding: Base64.encode(SHA256.digest(key.publicKeyInfo)), as: UTF8.self)]
  }
}
