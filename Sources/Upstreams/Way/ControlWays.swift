import EventIO
import Fetch
import HTTPWire

/// The ways of the proxy's own requests: as those of apps' requests to the same host.
final class ControlWays: FetchWays {
  private unowned let upstreams: Upstreams
  private var passages: [Held] = []
  init(_ upstreams: Upstreams) { self.upstreams = upstreams }

  private struct Held { weak var passage: Passage? }

  func way(of fetch: HTTPFetch) -> FetchWay {
    // libcurl may read more into such a URL, but no way belongs to a host that only it knows.
    guard let url = try? HTTPURL(fetch.url) else { return .refused }
    guard let route = route(to: url, judgesParent: fetch.judgesParent) else { return .direct }
    let passage = Passage(to: url, by: route, for: fetch, on: upstreams)
    passages.removeAll { $0.passage?.isOpen != true }
    passages.append(Held(passage: passage))
    return .through(passage)
  }

  /// The configuration has changed.
  func adopted() {
    for case let passage? in passages.map(\.passage) where passage.isOpen {
      passage.take(route(to: passage.url, judgesParent: passage.judgesParent) ?? Route.plain)
    }
  }

  /// - Returns: nil: directly, from any address.
  private func route(to url: HTTPURL, judgesParent: Bool) -> Route? {
    guard let route = upstreams.rules.route(url.host, url.effectivePort, url.isHTTPS) else { return nil }
    // A parent's loopback is another machine, and what is meant for this one may be in clear (RFC 8252 section 8.3).
    if url.isOfThisMachine { return route.direct }
    return judgesParent ? route.avoiding(upstreams.rules.judgedHops) : route
  }
}

extension HTTPURL {
  /// Loopback in any spelling, `localhost` and the names below it (RFC 6761 section 6.3).
  var isOfThisMachine: Bool {
    if host == "localhost" || host.hasSuffix(".localhost") { return true }
    return Address(literal: host, port: effectivePort)?.isLoopbackOrUnix ?? false
  }
}
