import EventIO
import Fetch
import HTTPWire

/// The ways of the proxy's own requests: as those of apps' requests to the same host.
final class ControlWays: FetchWays {
  private unowned let upstreams: Upstreams
  init(_ upstreams: Upstreams) { self.upstreams = upstreams }

  func way(of fetch: HTTPFetch) -> FetchWay {
    // libcurl may read more into such a URL, but no way belongs to a host that only it knows.
    guard let url = try? HTTPURL(fetch.url) else { return .refused }
    guard let route = route(to: url, of: fetch) else { return .direct }
    return .through(
      Passage(
        to: Dial.Target(
          host: url.host, port: url.effectivePort, checksAddresses: fetch.permits != nil, route: route, isClear: !url.isHTTPS),
        within: Int64(fetch.timeout) * 1_000_000, on: upstreams))
  }

  /// - Returns: nil: directly, from any address.
  private func route(to url: HTTPURL, of fetch: HTTPFetch) -> Route? {
    guard let route = upstreams.rules.route(url.host, url.effectivePort, url.isHTTPS) else { return nil }
    // A parent's loopback is another machine, and what is meant for this one may be in clear (RFC 8252 section 8.3).
    if url.isOfThisMachine { return route.direct }
    return fetch.judgesParent ? route.avoiding(upstreams.rules.judgedHops) : route
  }
}

extension HTTPURL {
  /// Loopback in any spelling, `localhost` and the names below it (RFC 6761 section 6.3).
  var isOfThisMachine: Bool {
    if host == "localhost" || host.hasSuffix(".localhost") { return true }
    return Address(literal: host, port: effectivePort)?.isLoopbackOrUnix ?? false
  }
}
