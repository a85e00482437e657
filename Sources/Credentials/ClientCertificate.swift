/// A certificate with those above it, and its key: PEM as read from the files.
public struct CertificateFiles: Sendable, Hashable {
  public var certificates: [UInt8]
  public var key: Secret
  public var passphrase: Secret?
  public init(certificates: [UInt8], key: Secret, passphrase: Secret? = nil) {
    self.certificates = certificates
    self.key = key
    self.passphrase = passphrase
  }
}

extension OAuth2Policy {
  /// What the client presents to every endpoint of its authorization server (RFC 8705).
  public struct ClientCertificate: Sendable, Hashable {
    public var files: CertificateFiles
    /// SHA-256 of the leaf in DER, as in `x5t#S256`.
    public var thumbprint: [UInt8]
    /// `certificate_bound`: the server binds tokens to it (section 3), so origins get it too.
    public var bindsTokens: Bool
    public init(files: CertificateFiles, thumbprint: [UInt8], bindsTokens: Bool = false) {
      self.files = files
      self.thumbprint = thumbprint
      self.bindsTokens = bindsTokens
    }
  }

  /// Of the certificate without which its tokens are worth nothing; nil: they are bearer tokens.
  public var boundThumbprint: [UInt8]? { clientCertificate.flatMap { $0.bindsTokens ? $0.thumbprint : nil } }

  /// Bytes, for HS256. RFC 7518 section 3.2: as many as the digest has.
  public static let shortestSigningSecret = 32

  /// The proxy signs client assertions, whose audience is the token endpoint.
  var signsAssertions: Bool {
    switch clientAuthentication {
    case .privateKeyJWT, .secretJWT: true
    case .basic, .post, .clientAssertion, .certificate, .none: false
    }
  }
}

extension CredentialPolicy {
  /// Its entries present its certificate to their origins, as its tokens are bound to it.
  public var bindsTokens: Bool { if case .oauth2(let policy) = kind { policy.boundThumbprint != nil } else { false } }
}
