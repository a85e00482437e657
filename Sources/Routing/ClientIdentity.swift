/// What somebody may reach: upstream entries by name, unlisted hosts and tunnels by pattern.
public enum Access: Sendable, Hashable {
  case all
  case only(upstreams: Set<String>, hosts: [HostPattern])
}

/// Who a request comes from, and what that client was granted. How it was found out is the caller's: by password, address or TLS.
public struct ClientIdentity: Sendable, Hashable {
  /// nil = anonymous.
  public var name: String?
  public var access: Access
  /// How many of its requests may be in flight at once; nil = no limit.
  public var maxRequests: Int?

  public init(name: String?, access: Access, maxRequests: Int? = nil) {
    self.name = name
    self.access = access
    self.maxRequests = maxRequests
  }

  /// Whether it may use what is no entry's: an unlisted host, a tunnel.
  func mayReach(host: String, port: UInt16) -> Bool {
    switch access {
    case .all: true
    case .only(_, let hosts): hosts.contains { $0.matches(host: host, port: port) }
    }
  }

  @inline(__always)
  func mayReach(entry name: @autoclosure () -> String) -> Bool {
    switch access {
    case .all: true
    case .only(let upstreams, _): upstreams.contains(name())
    }
  }
}
