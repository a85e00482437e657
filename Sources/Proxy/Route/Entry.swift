import Settings
import TLS

/// One `upstreams` entry as requests use it: rendered once, immutable. Also stands for what `unlisted_hosts: forward` lets
/// through (`isUnlisted`).
public final class Entry: Sendable {
  /// Place in the snapshot's entries.
  public let index: Int
  public let settings: UpstreamSettings
  public let isUnlisted: Bool
  /// nil where each host below a wildcard is an origin of its own.
  let origin: Origin?
  let trust: TrustMaterial?
  let identity: TLSIdentity?
  /// Place in the snapshot's credentials.
  let credential: Int?
  /// Name of the field that the credential sets, for removing what the app sent.
  let credentialField: [UInt8]
  /// `Location` and the like: what stands for the origin; empty = below a wildcard, where it depends on the request.
  let rewriteTo: [UInt8]
  let timeouts: Deadlines

  var name: String { settings.name }

  init(
    index: Int, settings: UpstreamSettings, isUnlisted: Bool = false, origin: Origin?, trust: TrustMaterial?,
    identity: TLSIdentity?, credential: Int?,
    credentialField: [UInt8]
  ) {
    self.index = index
    self.settings = settings
    self.isUnlisted = isUnlisted
    self.origin = origin
    self.trust = trust
    self.identity = identity
    self.credential = credential
    self.credentialField = credentialField
    timeouts = Deadlines(settings.timeouts)
    if !settings.match.isWildcard {
      let match = settings.match
      rewriteTo = Array("http://\(OriginIdentity.authority(host: match.host, port: match.port ?? 80, defaultPort: 80))".utf8)
    } else {
      rewriteTo = []
    }
  }
}

/// The timeouts of an entry in nanoseconds.
struct Deadlines: Sendable {
  var resolve, connect, responseHead, stall, tunnel, credential, upstreamIdle: Int64
  init(_ timeouts: Timeouts) {
    func nanoseconds(_ milliseconds: Int) -> Int64 { Int64(milliseconds) * 1_000_000 }
    resolve = nanoseconds(timeouts.resolve)
    connect = nanoseconds(timeouts.connect)
    responseHead = nanoseconds(timeouts.responseHead)
    stall = nanoseconds(timeouts.stall)
    tunnel = nanoseconds(timeouts.tunnel)
    credential = nanoseconds(timeouts.credential)
    upstreamIdle = nanoseconds(timeouts.upstreamIdle)
  }
}
