import Foundation
import Testing

/// Three processes with one refresh token of django-oauth-toolkit, whose tokens live for 3 seconds and whose reuse detection ends the login.
@Suite(.enabled(if: RedisServer.isInstalled)) struct PeerFleetLoadTests {
  /// `AUTHPROXY_FLEET_SECONDS=300` for a longer run.
  static let seconds = ProcessInfo.processInfo.environment["AUTHPROXY_FLEET_SECONDS"].flatMap { Int($0) } ?? 60
  /// Requests per second and process.
  static let rate = 8

  @Test func `tokens of 3 seconds under load: no token request is refused, and every request is answered`() throws {
    let server = try DjangoServer()
    let redis = try RedisServer(["appendonly yes"])
    let proxies = try (1...3).map { number in
      try ProxyProcess(
        server.configuration(
          """
                grant: refresh_token
                client_id: \(server.facts.client_id)
                refresh_token: \(server.facts.refresh_token)
          """,
          """
          name: proxy\(number)
          admin: 127.0.0.1:0
          log: {access: false}
          token_store:
            redis: {address: "\(redis.address)"}
            key: \(Fleet.key)
          """))
    }
    defer { for proxy in proxies { proxy.stop() } }
    // The server revokes the token before with each refresh. A request that lasts from one refresh to the second after it is refused twice,
    // so the server must have time to spare on a slow machine, too.
    let options = ["--clients", "4", "--rate", "\(Self.rate)", "--requests", "\(Self.rate * Self.seconds)"]
    let loads = try proxies.map { try LoadGenerator.start($0, "http://api.test/api", options, seconds: Self.seconds + 60) }
    for (proxy, load) in zip(proxies, loads) {
      let result = try LoadGenerator.result(load, seconds: Self.seconds + 60)
      #expect(result.failed == 0, "\(result)")
      #expect(result.statuses == ["200": Self.rate * Self.seconds], "\(result.statuses)\n\(proxy.tail)")
      print("\(result.finished) requests, p99 \(result.p99_us) µs, at most \(result.max_us) µs")
    }
    let tokens = try server.tokens()
    #expect(tokens.refused == 0)
    #expect(tokens.spent == tokens.all - 1)
    #expect(tokens.asked == tokens.all - 1)
    #expect(tokens.asked > Self.seconds / 6)
    // All at once.
    try server.ask("/revoke")
    let asked = try proxies.map { proxy in
      let connection = try proxy.connect()
      connection.timeout = 30
      try connection.send(ProxyProcess.request("GET", "http://api.test/api"))
      return connection
    }
    for connection in asked { #expect(try connection.readAnswer().status == 200) }
    #expect(try server.tokens().refused == 0)
    print("\(tokens.asked) token requests of three processes in \(Self.seconds) s")
  }

  @Test func `a token server slower than every default: one request, for which all wait`() throws {
    let fleet = try Fleet(#"{"rotate": true, "refresh_token": "first-5ecret-refresh", "delay": 33}"#)
    defer { fleet.stop() }
    try fleet.start(3, ["grant: refresh_token", "refresh_token: first-5ecret-refresh", "timeout: 50s"])
    for answer in try fleet.askAll() { expect(answer, 200) }
    #expect(try fleet.server.state().requests.count == 1, "\(fleet.story)")
    #expect(fleet.logged("claim taken over") == 0)
  }
}
