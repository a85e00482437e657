import Credentials
import WayOut

/// A parent proxy: an entry of `parents`, or what a variable of `environment` names.
public struct ParentSettings: Sendable, Hashable {
  public struct Field: Sendable, Hashable {
    public var name: String
    public var value: String
    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  /// Of `parents`, or `http_proxy`, `https_proxy`, `all_proxy`.
  public let name: String
  public let scheme: Hop.Scheme
  /// Lower-case, without brackets.
  public let host: String
  public let port: UInt16
  /// Name in `Settings.credentials`. Userinfo of a variable is there, too, under a name that no file can have.
  public let credential: String?
  /// Of an https:// parent; nil = as for an entry.
  public let trust: String?
  public let clientCertificate: CertificateFiles?
  /// The proxy resolves and checks names itself, and asks for addresses.
  public let resolvesHere: Bool
  /// http:// origins by CONNECT, too.
  public let tunnelsHTTP: Bool
  /// More fields of the CONNECT request.
  public let connectFields: [Field]

  public init(
    name: String, scheme: Hop.Scheme, host: String, port: UInt16, credential: String? = nil, trust: String? = nil,
    clientCertificate: CertificateFiles? = nil, resolvesHere: Bool = false, tunnelsHTTP: Bool = false,
    connectFields: [Field] = []
  ) {
    self.name = name
    self.scheme = scheme
    self.host = host
    self.port = port
    self.credential = credential
    self.trust = trust
    self.clientCertificate = clientCertificate
    self.resolvesHere = resolvesHere
    self.tunnelsHTTP = tunnelsHTTP
    self.connectFields = connectFields
  }

  public var hop: Hop { Hop(scheme: scheme, host: host, port: port) }
}

/// From which addresses the proxy connects, and to which family.
public struct OutboundAddressing: Sendable, Hashable {
  public enum Family: String, Sendable, Hashable, CaseIterable { case auto, ipv4, ipv6 }
  /// 16 bytes each, IPv4 mapped; at most one of each family. Empty: the system chooses. Else a family without one is not used.
  public var bind: [[UInt8]]
  public var family: Family
  public init(bind: [[UInt8]] = [], family: Family = .auto) {
    self.bind = bind
    self.family = family
  }

  public var usesIPv4: Bool { family != .ipv6 && (bind.isEmpty || bind.contains(where: IPAddress.isMappedIPv4)) }
  public var usesIPv6: Bool { family != .ipv4 && (bind.isEmpty || bind.contains { !IPAddress.isMappedIPv4($0) }) }
}

extension WayTable {
  /// - Parameters:
  ///   - host: a name or a literal address, lower-case, without a trailing dot and brackets.
  ///   - isTLS: an https:// origin, or a tunnel of the app.
  ///   - entry: the entry's own `via`.
  /// - Returns: at least one way, in the order of preference.
  public func ways(host: String, port: UInt16, isTLS: Bool, via entry: Via? = nil) -> (ways: [Name], rule: Rule) {
    ways(host: host, address: IPAddress.parse(host), port: port, isTLS: isTLS, via: entry)
  }
}

extension Settings {
  /// The parents among these ways, in their order.
  public func parents(of ways: [WayTable.Name]) -> [ParentSettings] {
    ways.compactMap { way in
      if case .parent(let index) = way, parents.indices.contains(index) { parents[index] } else { nil }
    }
  }
}
