import CSystem
import Crypto
import EventIO
import WayOut

/// How a host is reached, where that is not just directly and from any address. Immutable; shared by all loops.
public final class Route: Sendable {
  /// In order of preference; nil = directly.
  public let ways: [Parent?]
  /// Written addresses of the host (`hosts`); nil: it is resolved.
  public let addresses: [Address]?
  public let source: SourceAddresses
  /// Not even a request to an http origin goes in absolute-form: an Upgrade (RFC 6455 section 4.1).
  public let tunnelsAlways: Bool
  /// Of its content, apart from `tunnelsAlways`. Connections are pooled by it: what another configuration reaches by another route is another origin.
  public let digest: [UInt8]

  public init(ways: [Parent?], addresses: [Address]?, source: SourceAddresses, tunnelsAlways: Bool = false) {
    self.ways = ways
    self.addresses = addresses
    self.source = source
    self.tunnelsAlways = tunnelsAlways
    var parts = ways.map { $0?.digest ?? Array("direct".utf8) }
    parts.append(Array((addresses.map { $0.map(\.description).joined(separator: ",") } ?? "resolved").utf8))
    parts.append(Array("\(source.addresses.map(\.host)) \(source.family ?? 0)".utf8))
    digest = SHA256.digest(parts: parts)
  }

  var isDirect: Bool { ways.allSatisfy { $0 == nil } }

  /// Whether the form of a request to an http origin depends on whether it is an Upgrade.
  public var hasAbsoluteForm: Bool { ways.contains { $0?.takesAbsoluteForm == true } }

  /// Directly, from any address.
  static let plain = Route(ways: [nil], addresses: nil, source: SourceAddresses())

  /// The same without any parent; nil: from any address.
  var direct: Route? {
    if addresses == nil, source.isAny { return nil }
    return Route(ways: [nil], addresses: addresses, source: source)
  }

  /// The same without these parents; directly, if no other way is left.
  func avoiding(_ hops: Set<Hop>) -> Route {
    let left = ways.filter { way in way.map { !hops.contains($0.hop) } ?? true }
    return Route(ways: left.isEmpty ? [nil] : left, addresses: addresses, source: source, tunnelsAlways: tunnelsAlways)
  }

  /// The ways that are left without this parent; nil: none.
  func without(_ parent: Parent) -> Route? {
    let left = ways.filter { $0?.hop != parent.hop }
    if left.isEmpty { return nil }
    return Route(ways: left, addresses: addresses, source: source, tunnelsAlways: tunnelsAlways)
  }

  /// The same for requests that need a tunnel.
  public var tunnelling: Route { Route(ways: ways, addresses: addresses, source: source, tunnelsAlways: true) }
}

/// The addresses that connections come from: `bind` and `address_family`.
public struct SourceAddresses: Sendable, Hashable {
  /// At most one of each family; empty: the kernel's choice.
  public var addresses: [Address]
  /// AF_INET or AF_INET6; nil: both.
  public var family: Int32?

  public init(addresses: [Address] = [], family: Int32? = nil) {
    self.addresses = addresses
    self.family = family
  }

  public var isAny: Bool { addresses.isEmpty && family == nil }

  func permits(_ candidate: Int32) -> Bool {
    guard family == nil || family == candidate else { return false }
    return addresses.isEmpty || addresses.contains { $0.family == candidate }
  }
}
