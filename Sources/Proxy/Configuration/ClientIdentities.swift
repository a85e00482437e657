import Credentials
import Crypto
import Settings
import TLS

/// What the proxy presents to servers that ask for a certificate.
struct ClientIdentities {
  /// By name of the credential, for its authorization server.
  let credentials: [String: TLSIdentity]
  /// By name of the entry, for its origin.
  let upstreams: [String: TLSIdentity]
  /// By name of the parent.
  let parents: [String: TLSIdentity]
  /// For the store that a fleet shares.
  let store: TLSIdentity?

  init(_ settings: Settings) throws(SnapshotBuilder.LoadError) {
    var credentials: [String: TLSIdentity] = [:]
    for (name, policy) in settings.credentials {
      guard case .oauth2(let oauth2) = policy.kind, let certificate = oauth2.clientCertificate else { continue }
      credentials[name] = try Self.identity(certificate.files, "credentials.\(name).oauth2")
    }
    var upstreams: [String: TLSIdentity] = [:]
    for upstream in settings.upstreams {
      if let certificate = upstream.clientCertificate {
        upstreams[upstream.name] = try Self.identity(certificate, "upstreams.\(upstream.name)")
      } else if let name = upstream.credential, settings.credentials[name]?.bindsTokens == true {
        upstreams[upstream.name] = credentials[name]
      }
    }
    var parents: [String: TLSIdentity] = [:]
    for parent in settings.parents {
      if let certificate = parent.clientCertificate {
        parents[parent.name] = try Self.identity(certificate, "parents.\(parent.name)")
      }
    }
    var store: TLSIdentity?
    if case .redis(let redis)? = settings.tokenStore.shared?.engine, let certificate = redis.clientCertificate {
      store = try Self.identity(certificate, "token_store.redis")
    }
    self.store = store
    self.parents = parents
    self.credentials = credentials
    self.upstreams = upstreams
  }

  private static func identity(_ files: CertificateFiles, _ path: String) throws(SnapshotBuilder.LoadError) -> TLSIdentity {
    do throws(OpenSSLError) {
      let identity = try TLSIdentity(
        certificatesPEM: files.certificates, keyPEM: files.key.bytes, passphrase: files.passphrase?.bytes)
      try identity.checkForClients()
      return identity
    } catch { throw SnapshotBuilder.LoadError(message: "\(path).client_certificate: \(error)") }
  }
}
