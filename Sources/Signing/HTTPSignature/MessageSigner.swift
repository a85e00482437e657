import Credentials
import Crypto

/// One of the six signature algorithms (RFC 9421 section 3.3) with its key. Confined to one thread at a time.
enum MessageSigner {
  case key(PrivateKey, PrivateKey.JWSAlgorithm)
  /// With OpenSSL's context kept.
  case p256(P256Signer)
  case secret(KeyedHash)

  /// - Throws: `key`, if the key is not for the algorithm.
  init(_ key: HTTPSignaturePolicy.Key, _ algorithm: HTTPSignaturePolicy.Algorithm) throws(OpenSSLError) {
    switch key {
    case .secret(let secret):
      guard algorithm == .hmac else { throw OpenSSLError(.key, "a secret signs hmac-sha256 only") }
      self = .secret(try KeyedHash(.sha256, key: secret.bytes))
    case .privateKey(let pem, let passphrase):
      let key = try PrivateKey(pem: pem.bytes, passphrase: passphrase?.bytes)
      guard let used = algorithm.jwsAlgorithm, key.jwsAlgorithms.contains(used) else {
        throw OpenSSLError(.key, "the key cannot sign \(algorithm.rawValue)")
      }
      self = used == .es256 ? .p256(try P256Signer(key)) : .key(key, used)
    }
  }

  func sign(_ message: [UInt8]) throws(OpenSSLError) -> [UInt8] {
    switch self {
    case .key(let key, let algorithm): try key.sign(message, as: algorithm)
    case .p256(let signer): try signer.sign(message)
    case .secret(let code): try code.code(of: message)
    }
  }

  var signatureLimit: Int {
    switch self {
    case .key(let key, _): key.signatureLimit
    case .p256: 64
    case .secret: 32
    }
  }
}
