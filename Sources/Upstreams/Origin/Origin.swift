import Fetch
import Forwarding
import Settings
import TLS
import Trust

/// Where requests go, and which trust applies: the key of pools, sessions and verdicts. Entries with equal identities share
/// connections. If a reload changes a part of it, the identity is a different one.
public struct OriginIdentity: Sendable, Hashable {
  public var scheme: UpstreamSettings.Origin.Scheme
  /// Lower-case, without brackets and trailing dot; of a unix socket its path.
  public var host: String
  public var port: UInt16
  /// Digest of the trust policy's content; empty for http.
  public var trustDigest: [UInt8]
  /// Digest of the client certificate; empty = none.
  public var certificateDigest: [UInt8]
  /// Whether `forbidden_addresses` applies. False if the operator wrote the origin in the configuration.
  public var checksAddresses: Bool
  /// For whom the proxy authenticates its connections: an entry and its credential. Empty: it authenticates requests, if anything.
  public var account: String
  /// Digest of the route; empty: directly.
  public var route: [UInt8]
  /// An http origin behind a parent that would take requests in absolute-form: its connections are tunnels none the less.
  public var tunnels = false
  /// HTTP/2 is offered, and what shares a connection over it; nil: its connections speak 1.1.
  public var streams: StreamIdentity?

  public init(
    scheme: UpstreamSettings.Origin.Scheme, host: String, port: UInt16, trustDigest: [UInt8], certificateDigest: [UInt8],
    checksAddresses: Bool, account: String = "", route: [UInt8] = []
  ) {
    self.route = route
    self.scheme = scheme
    self.host = host
    self.port = port
    self.trustDigest = trustDigest
    self.certificateDigest = certificateDigest
    self.checksAddresses = checksAddresses
    self.account = account
  }

  var trustKey: TrustKey { TrustKey(host: host, port: port, policy: trustDigest, identity: certificateDigest) }
  public var isTLS: Bool { scheme == .https }

  /// Of the same origin, whichever form its requests take, and whatever its connections speak.
  public var ofEitherForm: OriginIdentity {
    var identity = withTunnels(false)
    identity.streams = nil
    return identity
  }

  func withTunnels(_ tunnels: Bool) -> OriginIdentity {
    var identity = self
    identity.tunnels = tunnels
    return identity
  }
}

/// An identity, and what a connection to it needs. Immutable; shared by all loops.
public final class Origin: Sendable {
  public let identity: OriginIdentity
  public let trust: TrustMaterial?
  /// Client certificate for mutual TLS; nil: none.
  let clientIdentity: TLSIdentity?
  /// How it is reached; nil: directly.
  public let route: Route?
  /// Scheme, host and port as HTTP messages spell them.
  public let authority: OriginAuthority

  /// - Parameter route: the one whose digest is in `identity`, or the same for tunnels.
  public init(_ identity: OriginIdentity, trust: TrustMaterial?, clientIdentity: TLSIdentity?, route: Route? = nil) {
    self.route = route
    self.identity = identity
    self.trust = trust
    self.clientIdentity = clientIdentity
    let origin = UpstreamSettings.Origin(scheme: identity.scheme, host: identity.host, port: identity.port)
    authority = OriginAuthority(isTLS: identity.isTLS, host: origin.messageHost, port: origin.messagePort)
  }

  /// The same origin, to which HTTP/2 is offered.
  func offering(_ streams: StreamIdentity) -> Origin {
    var identity = identity
    identity.streams = streams
    return Origin(identity, trust: trust, clientIdentity: clientIdentity, route: route)
  }

  /// Some of its requests go in absolute-form, others through tunnels.
  var hasBothForms: Bool { !identity.isTLS && route?.hasAbsoluteForm == true }

  /// The same origin through tunnels only. nil: this one is as good.
  public var tunnelling: Origin? {
    guard hasBothForms, let route, !route.tunnelsAlways else { return nil }
    return Origin(identity.withTunnels(true), trust: trust, clientIdentity: clientIdentity, route: route.tunnelling)
  }
}
