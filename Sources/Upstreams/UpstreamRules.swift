import EventIO
import Forwarding
import Settings
import Trust
import WayOut

/// What one configuration says about connections to origins.
public struct UpstreamRules: Sendable {
  /// Of origins that no entry has used yet.
  public let timeouts: Deadlines
  /// How many connections an origin may have in the whole process.
  public var connections: Int
  /// How many requests may be in progress on one HTTP/2 connection.
  public let streams: Int
  public var forbiddenAddresses: [AddressRange]
  /// Of this proxy, in Via.
  public let name: ProxyName
  public var parents: [ParentSettings]
  /// With the credentials that they have in this configuration.
  public var parentAccounts: Set<ParentAccount> = []
  /// Those of entries that have several: name of the entry, and `https://host[:port]`.
  public var origins: [Hop: (upstream: String, origin: String)] = [:]
  /// How the proxy's own requests reach a host: name or address, port, and whether it speaks TLS.
  public var route: @Sendable (String, UInt16, Bool) -> Route? = { _, _, _ in nil }
  /// Of the parents whose certificates are judged by revocation.
  public var judgedHops: Set<Hop> = []
  /// Bytes of a response head.
  public let responseHead: Int
  /// Hosts that the configuration itself names, as an origin or as a tunnel's target. No client is charged for looking them up.
  public var writtenHosts: Set<String>
  /// The trust for OCSP responders that the operator configured with https: the default anchors, without a check of revocation.
  public var responderTrust: TrustMaterial

  public init(_ settings: Settings, writtenHosts: Set<String>, responderTrust: TrustMaterial) {
    timeouts = Deadlines(settings.timeouts)
    connections = settings.limits.upstreamConnections
    streams = settings.limits.upstreamStreams
    forbiddenAddresses = settings.forbiddenAddresses
    parents = settings.parents
    name = ProxyName(settings.name)
    responseHead = settings.limits.responseHead
    self.writtenHosts = writtenHosts
    self.responderTrust = responderTrust
  }
}

/// The timeouts of an entry in nanoseconds.
public struct Deadlines: Sendable {
  public let resolve, tunnel, credential, upstreamIdle, drain: Int64
  public var connect, responseHead, stall: Int64
  public init(_ timeouts: Timeouts) {
    func nanoseconds(_ milliseconds: Int) -> Int64 { Int64(milliseconds) * 1_000_000 }
    resolve = nanoseconds(timeouts.resolve)
    connect = nanoseconds(timeouts.connect)
    responseHead = nanoseconds(timeouts.responseHead)
    stall = nanoseconds(timeouts.stall)
    tunnel = nanoseconds(timeouts.tunnel)
    credential = nanoseconds(timeouts.credential)
    upstreamIdle = nanoseconds(timeouts.upstreamIdle)
    drain = nanoseconds(timeouts.drain)
  }
}
