import COpenSSL
import Crypto
import Glibc
import TLS

@testable import Interception

/// Seconds since 1970.
let now = Int64(time(nil))

func hosts(_ names: [String]) -> [PeerName] { names.map { PeerName($0) } }

/// An authority made for these hosts, and what signs with it.
func authority(for names: [String], days: Int = 730) throws -> (made: LocalAuthority, signing: SigningCA) {
  let made = try LocalAuthority.create(for: hosts(names), days: days, now: now)
  return (made, try SigningCA(made, now: now))
}

/// A leaf for any name at all by the issuer's key, as a thief of it would make one.
func forgedLeaf(for name: String, by authority: LocalAuthority) throws -> TLSIdentity {
  let key = try PrivateKey.generateP256()
  var builder = CertificateBuilder.server([name])
  // OpenSSL would refuse an address here for a reason of its own.
  builder.commonName = PeerName(name).address == nil ? name : ""
  return try TLSIdentity(chain: [builder.issued(to: key, by: authority.issuer, authority.key), authority.issuer], key: key)
}

/// What OpenSSL says of a server's chain with X509_STRICT, as Python 3.13 asks by default; nil: it is good for the host.
func strictVerdict(_ chain: [Certificate], root: Certificate, host: String) -> String? {
  guard let store = X509_STORE_new(), let context = X509_STORE_CTX_new(), let rest = OPENSSL_sk_new_null() else {
    return "memory"
  }
  defer {
    OPENSSL_sk_free(rest)
    X509_STORE_CTX_free(context)
    X509_STORE_free(store)
    ERR_clear_error()
  }
  X509_STORE_add_cert(store, root.pointer)
  for certificate in chain.dropFirst() { OPENSSL_sk_push(rest, UnsafeRawPointer(certificate.pointer)) }
  guard X509_STORE_CTX_init(context, store, chain[0].pointer, rest) == 1 else { return "memory" }
  let parameters = X509_STORE_CTX_get0_param(context)
  X509_VERIFY_PARAM_set_flags(parameters, UInt(X509_V_FLAG_X509_STRICT))
  X509_VERIFY_PARAM_set_purpose(parameters, X509_PURPOSE_SSL_SERVER)
  X509_VERIFY_PARAM_set_auth_level(parameters, 2)
  if PeerName(host).address == nil {
    X509_VERIFY_PARAM_set1_host(parameters, host, host.utf8.count)
  } else {
    X509_VERIFY_PARAM_set1_ip_asc(parameters, host)
  }
  guard X509_verify_cert(context) != 1 else { return nil }
  return String(cString: X509_verify_cert_error_string(Int(X509_STORE_CTX_get_error(context))))
}

/// The text of a certificate as `openssl x509 -text` has it.
func text(_ certificate: Certificate) -> String {
  guard let output = MemoryBIO(), X509_print(output.pointer, certificate.pointer) == 1 else { return "" }
  return String(decoding: output.takeBytes(), as: UTF8.self)
}
