import Credentials
import Settings

/// What a TLS library has to say about certificates, keys and CRLs at load, beyond their outline: dates, key sizes, whether key
/// and certificate belong together. Findings are reported at the key of the configuration that named the file.
public struct CertificateInspector: Sendable {
  public struct Finding: Sendable, Hashable {
    public var severity: Diagnostic.Severity
    /// A clause that follows the file's name: `expires in 12 days`.
    public var message: String
    public init(_ severity: Diagnostic.Severity, _ message: String) {
      self.severity = severity
      self.message = message
    }
  }
  /// DER of one certificate.
  public var certificate: @Sendable ([UInt8]) -> [Finding]
  /// DER of one CRL.
  public var revocationList: @Sendable ([UInt8]) -> [Finding]
  /// PEM of a key and its passphrase.
  public var privateKey: @Sendable (Secret, Secret?) -> [Finding]
  /// DER of a chain, leaf first; PEM of the key, and its passphrase.
  public var keyPair: @Sendable ([[UInt8]], Secret, Secret?) -> [Finding]

  public init(
    certificate: @escaping @Sendable ([UInt8]) -> [Finding] = { _ in [] },
    revocationList: @escaping @Sendable ([UInt8]) -> [Finding] = { _ in [] },
    privateKey: @escaping @Sendable (Secret, Secret?) -> [Finding] = { _, _ in [] },
    keyPair: @escaping @Sendable ([[UInt8]], Secret, Secret?) -> [Finding] = { _, _, _ in [] }
  ) {
    self.certificate = certificate
    self.revocationList = revocationList
    self.privateKey = privateKey
    self.keyPair = keyPair
  }

  /// Content with the right outline is taken for what it says it is.
  public static let accepting = CertificateInspector()
}
