import Credentials
import Trust

/// `listen[].tls`: apps speak TLS to the proxy itself.
public struct ListenerTLS: Sendable, Hashable {
  public enum Identity: Sendable, Hashable {
    case files(CertificateFiles)
    /// One leaf for all of these, by an authority of `intercept`.
    case leaf(names: [String])
  }
  public var identity: Identity
  public var clientCertificates: ClientCertificates?
  public var minimumVersion: TrustPolicy.TLSVersion

  /// Certificates of clients, verified in the handshake.
  public struct ClientCertificates: Sendable, Hashable {
    /// DER each.
    public var anchors: [[UInt8]]
    /// A client without one is refused.
    public var isRequired: Bool
    public init(anchors: [[UInt8]], isRequired: Bool) {
      self.anchors = anchors
      self.isRequired = isRequired
    }
  }

  public init(
    identity: Identity, clientCertificates: ClientCertificates? = nil, minimumVersion: TrustPolicy.TLSVersion = .tls12
  ) {
    self.identity = identity
    self.clientCertificates = clientCertificates
    self.minimumVersion = minimumVersion
  }

  /// What its leaf is for; empty where it has files.
  public var names: [String] { if case .leaf(let names) = identity { names } else { [] } }
}
