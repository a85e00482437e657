import Foundation
import Testing

/// A request that has waited for one origin of a list leaves little time to the next: too little to say anything of it.
@Suite struct OriginLeftoverTests {
  private static let rest = 3.5

  private static func configuration(_ urls: [String]) -> String {
    """
    admin: 127.0.0.1:0
    timeouts: {connect: 4s, response_head: 20s}
    limits: {upstream_connections: 1}
    threads: 1
    upstreams:
      - {match: api.test, origin: [\(urls.map { "\"\($0)\"" }.joined(separator: ", "))]}
      - {match: other.test, origin: "\(urls[1])", timeouts: {connect: 10s}}

    """
  }

  private static func up(_ origin: String) -> String { #"authproxy_origin_up{upstream="api.test",origin="\#(origin)"}"# }

  /// Sends a request that waits for the place of another one at the first origin, until half a second before its time is over.
  private func waitAtFirst(_ proxy: ProxyProcess, _ first: ListedOrigin) throws -> (RawConnection, RawConnection) {
    let (holder, waiter) = (try proxy.connect(), try proxy.connect())
    try holder.send(ProxyProcess.request("GET", "http://api.test/holder"))
    try first.awaitTaken(1)
    try waiter.send(ProxyProcess.request("GET", "http://api.test/waiter"))
    Thread.sleep(forTimeInterval: Self.rest)
    first.kill()
    return (holder, waiter)
  }

  @Test func `the last origin is not down because it did not use what was left`() throws {
    let (first, second) = (try ListedOrigin("https", .mute), try ListedOrigin())
    second.pause()
    try withProxy(Self.configuration([first.url(), second.url()])) { proxy throws in
      let (holder, waiter) = try waitAtFirst(proxy, first)
      let answer = try waiter.readAnswer()
      #expect(answer.status == 504 && answer.proxyError == "connection_timeout", "\(answer.head)")
      #expect(try proxy.metric(Self.up(first.url())) == 0 && proxy.metric(Self.up(second.url())) == 1, "\(proxy.tail)")
      #expect(try holder.readAnswer().status == 502)
      second.goOn()
      #expect(try proxy.ask("http://api.test/").listed?.port == second.port)
    }
  }

  @Test func `connections for others are not given up after what was left to one`() throws {
    let (first, second) = (try ListedOrigin("https", .mute), try ListedOrigin("https", .mute))
    try withProxy(Self.configuration([first.url(), second.url()])) { proxy throws in
      let (busy, other) = (try proxy.connect(), try proxy.connect())
      try busy.send(ProxyProcess.request("GET", "http://other.test/busy"))
      try second.awaitTaken(1)
      try other.send(ProxyProcess.request("GET", "http://other.test/other"))
      let (_, waiter) = try waitAtFirst(proxy, first)
      let answer = try waiter.readAnswer()
      #expect(answer.status == 503 && answer.proxyError == "connection_limit_reached", "\(answer.head)")
      // Its place goes to a new connection, for the request that is still in line.
      try second.set(.hang)
      let start = Date()
      busy.close()
      let late = try other.readAnswer()
      #expect(late.status == 504 && Date().timeIntervalSince(start) > 1.5, "\(late.head) \(Date().timeIntervalSince(start))")
    }
  }
}
