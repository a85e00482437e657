import Routing
import Settings

extension Describing {
  /// What an entry's rules do to messages; empty without rules. Names fields, and no value: people write secrets into them.
  static func rules(_ upstream: UpstreamSettings) -> [String] {
    [("requests", upstream.requestHeaders), ("answers", upstream.responseHeaders)].compactMap { subject, rules in
      let removed = rules.remove.isEmpty ? nil : "lose \(rules.remove.joined(separator: ", "))"
      let set = rules.set.isEmpty ? nil : "get \(rules.set.map(\.name).joined(separator: ", "))"
      let effects = [removed, set].compactMap { $0 }
      return effects.isEmpty ? nil : "\(subject) \(effects.joined(separator: "; "))"
    }
  }
}

extension Describing {
  /// Which redirects the proxy follows itself; empty: none.
  /// - Parameter method: of one request; nil: of any.
  static func redirects(_ upstream: UpstreamSettings, method: String? = nil) -> [String] {
    guard let redirects = upstream.redirects else { return [] }
    if let method, !redirects.methods.names.contains(method) {
      return ["relayed for \(method): the proxy follows those of \(redirects.methods.names.joined(separator: ", "))"]
    }
    let methods = method == nil ? " of \(redirects.methods.names.joined(separator: ", "))" : ""
    let count = redirects.follow == 1 ? "one" : "up to \(redirects.follow)"
    let hosts = redirects.hosts.map {
      "https://" + pattern(HostPattern(host: $0.host, isWildcard: $0.isWildcard, port: $0.port == 443 ? nil : $0.port))
    }.joined(separator: ", ")
    return ["\(count)\(methods) followed, to its own origin"]
      + (hosts.isEmpty ? [] : ["to \(hosts), without a credential"])
      + redirects.upstreams.map { "to the origin of upstream \($0), with that one's credential" }
  }
}
