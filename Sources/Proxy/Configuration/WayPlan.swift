import CSystem
import EventIO
import Settings
import TLS
import Trust
import Upstreams
import WayOut

/// How hosts are reached under one configuration: `via`, `routes`, `parents`, `hosts`, `bind` and `address_family`, ready for use.
/// Immutable.
final class WayPlan: Sendable {
  /// As `Settings.parents`.
  let parents: [Parent]
  private let table: WayTable
  private let hosts: [String: [Address]]
  private let source: SourceAddresses
  /// No host takes another route than the direct one, from any address, but by its entry.
  private let isPlain: Bool

  /// - Parameter credentials: of the configuration.
  init(
    _ settings: Settings, _ trust: [String: TrustMaterial], _ defaultTrust: TrustMaterial,
    _ identities: [String: TLSIdentity], _ credentials: [CredentialSetup]
  ) {
    let hosts = settings.hosts.mapValues { $0.compactMap { Address(mapped: $0) } }
    let source = SourceAddresses(settings.outbound)
    parents = settings.parents.map { parent in
      Parent(
        parent, trust: parent.trust.flatMap { trust[$0] } ?? defaultTrust, clientIdentity: identities[parent.name],
        credential: credentials.first { $0.name == parent.credential },
        addresses: hosts[parent.host])
    }
    table = settings.ways
    self.hosts = hosts
    self.source = source
    isPlain = table.isDirect && hosts.isEmpty && source.isAny
  }

  /// What parents show.
  var identities: [TLSIdentity?] { parents.map(\.clientIdentity) }

  /// - Parameters:
  ///   - isTLS: an https origin, or a tunnel of an app.
  ///   - entry: nil: none leads there.
  /// - Returns: nil: directly, from any address.
  func route(to host: String, port: UInt16, isTLS: Bool, of entry: UpstreamSettings? = nil) -> Route? {
    if isPlain, entry?.via == nil, entry?.outbound == nil { return nil }
    let ways = table.ways(host: host, port: port, isTLS: isTLS, via: entry?.via).ways.map { name -> Parent? in
      if case .parent(let index) = name { parents[index] } else { nil }
    }
    let source = entry?.outbound.map { SourceAddresses($0) } ?? source
    let addresses = hosts[host]
    if ways.allSatisfy({ $0 == nil }), addresses == nil, source.isAny { return nil }
    return Route(ways: ways, addresses: addresses, source: source)
  }

  func route(to origin: UpstreamSettings.Origin, of entry: UpstreamSettings) -> Route? {
    // The socket's path is no host.
    if origin.scheme == .unix { return nil }
    return route(to: origin.host, port: origin.port, isTLS: origin.scheme == .https, of: entry)
  }

  func route(to identity: OriginIdentity, of entry: Entry) -> Route? {
    route(to: identity.host, port: identity.port, isTLS: identity.isTLS, of: entry.settings)
  }
}

extension SourceAddresses {
  init(_ settings: OutboundAddressing) {
    let family: Int32? =
      switch settings.family {
      case .auto: nil
      case .ipv4: AF_INET
      case .ipv6: AF_INET6
      }
    self.init(addresses: settings.bind.compactMap { Address(mapped: $0) }, family: family)
  }
}
