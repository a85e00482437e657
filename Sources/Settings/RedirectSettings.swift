import Routing

/// `redirects` of an entry: which ones the proxy follows itself.
public struct RedirectSettings: Sendable, Hashable {
  /// Most hops of a request.
  public var follow: Int
  /// Of the app's request.
  public var methods: AllowedMethods
  /// Asked without a credential, over https. Each has a port.
  public var hosts: [HostPattern]
  /// Names of entries, each asked with its own credential.
  public var upstreams: [String]

  public init(follow: Int, methods: AllowedMethods, hosts: [HostPattern] = [], upstreams: [String] = []) {
    self.follow = follow
    self.methods = methods
    self.hosts = hosts
    self.upstreams = upstreams
  }

  /// As the router takes them.
  /// - Parameter upstreams: of the configuration.
  public func rules(among upstreams: [UpstreamSettings]) -> RedirectRules {
    RedirectRules(
      limit: follow, methods: methods, hosts: hosts,
      entries: self.upstreams.compactMap { name in upstreams.firstIndex { $0.name == name } })
  }
}
