import Interception
import Routing
import TLS
import Trust

/// `intercept`: what the proxy answers TLS handshakes with.
public struct InterceptSettings: Sendable, Hashable {
  /// Where the authorities come from.
  public enum Source: Sendable, Hashable {
    /// Files that the operator made.
    case files
    /// A folder that the proxy fills where no authority in it permits a host. Absolute path.
    case generated(folder: String)
    /// Made at start, gone with the process.
    case memory
  }
  public var source: Source
  /// As read with the configuration: none for `memory`, and maybe too few for `generated`.
  public var authorities: SigningCAs
  /// The folder for what apps are given; nil: none. Absolute path.
  public var publish: String?
  public var leafLifetime = 24 * 3_600_000
  /// How many leafs are kept.
  public var leafCache = 1000
  /// Of apps.
  public var minimumVersion = TrustPolicy.TLSVersion.tls12

  public init(source: Source, authorities: SigningCAs = SigningCAs([]), publish: String? = nil) {
    self.source = source
    self.authorities = authorities
    self.publish = publish
  }
}

extension Settings {
  /// What leafs are made for: hosts of https:// matches, and names of TLS listeners; each once, in the order of the file.
  public var signedNames: [SignedName] {
    var seen: Set<SignedName> = []
    let matches = upstreams.flatMap(\.matches).filter { $0.scheme == .https }
    let ofListeners = listeners.flatMap { $0.tls?.names ?? [] }
    return (matches.map { SignedName(host: $0.host, isWildcard: $0.isWildcard) } + ofListeners.map { SignedName(host: $0) })
      .filter { seen.insert($0).inserted }
  }

  /// Names that one leaf has together: of a TLS listener each.
  public var namesTogether: [[PeerName]] {
    listeners.compactMap { $0.tls?.names }.filter { !$0.isEmpty }.map { $0.map { PeerName($0) } }
  }
}
