import Settings
import TLS
import Trust

/// Where requests really go, and under which trust: what pools, sessions and verdicts are keyed by. Two entries with equal
/// identities share their connections; a reload that changes a part of it leads to another identity.
public struct OriginIdentity: Sendable, Hashable {
  public var scheme: UpstreamSettings.Origin.Scheme
  /// Lower-case, without brackets and trailing dot.
  public var host: String
  public var port: UInt16
  /// Digest of the trust policy's content; empty for http.
  public var trustDigest: [UInt8]
  /// Digest of the client certificate; empty = none.
  public var certificateDigest: [UInt8]
  /// Whether `forbidden_addresses` applies: not where the operator wrote the origin out.
  public var checksAddresses: Bool

  var trustKey: TrustKey { TrustKey(host: host, port: port, policy: trustDigest, identity: certificateDigest) }
  var isTLS: Bool { scheme == .https }
  /// `host[:port]`, the port left out where it is the scheme's own; IPv6 in brackets.
  var authority: String { Self.authority(host: host, port: port, defaultPort: scheme == .https ? 443 : 80) }

  static func authority(host: String, port: UInt16, defaultPort: UInt16) -> String {
    let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
    return port == defaultPort ? name : "\(name):\(port)"
  }
}

/// An identity with what is needed to connect there: shared, immutable.
public final class Origin: Sendable {
  public let identity: OriginIdentity
  public let trust: TrustMaterial?
  /// For mutual TLS.
  let clientIdentity: TLSIdentity?
  /// `Host: ...\r\n` as it is sent there.
  let hostLine: [UInt8]

  init(_ identity: OriginIdentity, trust: TrustMaterial?, clientIdentity: TLSIdentity?) {
    self.identity = identity
    self.trust = trust
    self.clientIdentity = clientIdentity
    hostLine = Array("Host: \(identity.authority)\r\n".utf8)
  }
}
