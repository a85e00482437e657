import COpenSSL
import COpenSSLShims
import Crypto

/// A certificate chain with the leaf's private key, of a server or of a client. Read once; shared by contexts.
public final class TLSIdentity: Sendable {
  /// Leaf first.
  public let chain: [Certificate]
  public let key: PrivateKey
  /// SHA-256 over the chain, which also determines the key.
  public let digest: [UInt8]

  public init(chain: [Certificate], key: PrivateKey) throws(OpenSSLError) {
    guard let leaf = chain.first else { throw OpenSSLError(.configuration, "an identity needs a certificate") }
    ERR_clear_error()
    guard X509_check_private_key(leaf.pointer, key.pointer) == 1 else {
      ERR_clear_error()
      throw OpenSSLError(.key, "the private key does not belong to the certificate \(leaf.subject)")
    }
    self.chain = chain
    self.key = key
    digest = SHA256.digest(Array(chain.map(\.fingerprint).joined()))
  }

  public convenience init(certificatesPEM: [UInt8], keyPEM: [UInt8], passphrase: [UInt8]? = nil) throws(OpenSSLError) {
    try self.init(
      chain: Certificate.parse(pem: certificatesPEM), key: PrivateKey(pem: keyPEM, passphrase: passphrase))
  }

  /// Throws if no client connection could present it, as its key is too short for OpenSSL's security level.
  public func checkForClients() throws(OpenSSLError) {
    guard let context = SSL_CTX_new(TLS_client_method()) else { throw .drained(.configuration, "TLS context") }
    defer { SSL_CTX_free(context) }
    cossl_context_basics(context, TLSContext.clientSecurityLevel)
    try install(on: context)
  }

  func install(on context: OpaquePointer) throws(OpenSSLError) {
    guard let stack = OPENSSL_sk_new_null() else { throw .drained(.configuration, "out of memory") }
    defer { OPENSSL_sk_free(stack) }
    for certificate in chain.dropFirst() { OPENSSL_sk_push(stack, UnsafeRawPointer(certificate.pointer)) }
    ERR_clear_error()
    guard SSL_CTX_use_cert_and_key(context, chain[0].pointer, key.pointer, stack, 1) == 1 else {
      throw .drained(.configuration, "certificate \(chain[0].subject)")
    }
  }
}
