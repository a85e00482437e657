/// What a client may reach: upstream entries by name, unlisted hosts and tunnels by pattern.
public enum Access: Sendable, Hashable {
  case all
  case only(upstreams: Set<String>, hosts: [HostPattern])
}

/// The client of a request, and its permissions. The caller identifies it: by password, address or TLS.
public struct ClientIdentity: Sendable, Hashable {
  /// nil = anonymous.
  public var name: String?
  public var access: Access
  /// Most requests in flight; nil = no limit.
  public var maxRequests: Int?

  public init(name: String?, access: Access, maxRequests: Int? = nil) {
    self.name = name
    self.access = access
    self.maxRequests = maxRequests
  }

  /// Whether it may reach a host without an entry, or a tunnel's target.
  func mayReach(host: String, port: UInt16) -> Bool {
    switch access {
    case .all: true
    case .only(_, let hosts): hosts.contains { $0.matches(host: host, port: port) }
    }
  }

  @inline(__always)
  public func mayReach(entry name: @autoclosure () -> String) -> Bool {
    switch access {
    case .all: true
    case .only(let upstreams, _): upstreams.contains(name())
    }
  }
}
