import Interception
import Routing
import Settings
import TLS

/// What becomes of a CONNECT, and by which pattern, in the words of `explain`.
struct ConnectReport {
  let settings: Settings
  let router: Router

  init(_ settings: Settings) {
    self.settings = settings
    router = Router(
      settings.upstreams.map(\.routed), forwardsUnlisted: settings.unlistedHosts == .forward,
      connectAllow: settings.connectAllow)
  }

  /// The rows about a CONNECT to a host and port; nil where no https:// match has to do with it.
  /// - Parameters:
  ///   - host: lower-case, without a trailing dot and brackets.
  ///   - client: nil: one without a name.
  ///   - now: seconds since 1970.
  func rows(host: String, port: UInt16, client: ClientSettings?, at now: Int64) -> [(label: String, text: String)]? {
    let identity =
      client.map { ClientIdentity(name: $0.name, access: $0.allow, maxRequests: $0.maxRequests) }
      ?? ClientIdentity(name: nil, access: settings.anonymous, maxRequests: settings.anonymousMaxRequests)
    guard let routes = router.findIntercepted(host: host, port: port), let match = router.pattern(of: routes) else {
      return nil
    }
    let pattern = Describing.match(
      UpstreamSettings.Match(scheme: .https, host: match.host, isWildcard: match.isWildcard, port: match.port))
    var rows: [(String, String)] = []
    do throws(RoutingError) {
      switch try router.decideConnect(host: host, port: port, for: identity) {
      case .tunnel:
        let tunnel = router.tunnelPattern(host: host, port: port).map(Describing.pattern) ?? ""
        rows.append(("TLS", "an opaque tunnel by \(tunnel) of connect.allow: no credential, nothing looked at"))
        rows.append(("not", "\(pattern): is less specific, or for other clients"))
      case .served(let served):
        rows += tls(served.tls, pattern, host, now)
        if case .intercepted(let routes) = served.tls, offersHTTP2(router.usableEntries(of: routes, for: identity)) {
          rows.append(("offers", "h2 and http/1.1 to the app, which chooses"))
        }
        let clear = served.clear?.entries.map { settings.upstreams[$0].name }.joined(separator: ", ")
        rows.append(
          ("clear HTTP", clear.map { "served by \($0)" } ?? "403: no match without a scheme is for this host and port"))
      }
    } catch {
      rows.append(("TLS", "refused with 403: \(pattern) is not for this client, which gets no tunnel instead"))
    }
    return rows
  }

  /// Of the entries that the client may use, one that speaks HTTP/2 is enough; requests for others go on as those say.
  private func offersHTTP2(_ entries: [Int]) -> Bool { entries.contains { settings.upstreams[$0].httpVersion != .http1 } }

  private func tls(_ way: ServedConnect.TLS, _ pattern: String, _ host: String, _ now: Int64) -> [(String, String)] {
    switch way {
    case .refused: return [("TLS", "closed: \(pattern) is not for this client")]
    case .tunnelled: return [("TLS", "an opaque tunnel, as connect.allow permits")]
    case .intercepted(let routes):
      let entries = routes.entries.map { settings.upstreams[$0].name }.joined(separator: ", ")
      let signer = settings.intercept.map { Describing.signer(of: SignedName(host: host), $0, at: now) } ?? "nobody"
      return [
        ("TLS", "intercepted by \(pattern), for \(entries): the proxy answers the handshake and adds the credential"),
        ("signed by", signer),
      ]
    }
  }
}
