import Foundation
import Testing

/// What a fleet does while its token store cannot be reached.
@Suite(.enabled(if: RedisServer.isInstalled)) struct FleetStoreDownTests {
  private static let refreshToken = ["grant: refresh_token", "refresh_token: first-5ecret-refresh"]

  @Test func `a process starts without the store; a refresh token is not spent, and the store's return heals it`() throws {
    let fleet = try Fleet(#"{"rotate": true, "refresh_token": "first-5ecret-refresh"}"#)
    defer { fleet.stop() }
    fleet.redis.kill()
    let proxy = try fleet.start(try fleet.configuration(Self.refreshToken))
    #expect(try proxy.admin("readyz").status == 200)
    let answer = try proxy.ask(fleet.server.url())
    #expect(answer.status == 503)
    #expect(!answer.all("Retry-After").isEmpty)
    #expect(answer.head.contains("details=\"credential api: token store \(fleet.redis.address): "), "\(answer.head)")
    #expect(try fleet.server.state().requests.isEmpty)
    #expect(proxy.process.awaitLine { $0.contains("token store unreachable") } != nil)
    #expect(try proxy.metric("authproxy_token_store_up") == 0)
    let store = try proxy.status()["token_store"] as? [String: Any]
    #expect(store?["up"] as? Bool == false)
    #expect(store?["address"] as? String == fleet.redis.address)

    try fleet.redis.start()
    #expect(proxy.process.awaitLine { $0.contains("token store reachable") } != nil)
    #expect(try eventually { try proxy.ask(fleet.server.url()).status == 200 })
    #expect(try proxy.metric("authproxy_token_store_up") == 1)
    #expect(proxy.process.lines.filter { $0.contains("token store unreachable") }.count == 1)
    #expect(try fleet.server.state().requests.count == 1)
  }

  @Test func `a token in hand is used, and a refused one is relayed, while the store is away`() throws {
    let fleet = try Fleet(#"{"rotate": true, "refresh_token": "first-5ecret-refresh"}"#)
    defer { fleet.stop() }
    try fleet.start(1, Self.refreshToken)
    let proxy = fleet.proxies[0]
    #expect(try proxy.ask(fleet.server.url()).status == 200)
    fleet.redis.kill()
    #expect(proxy.process.awaitLine { $0.contains("token store unreachable") } != nil)
    for _ in 0..<3 { #expect(try proxy.ask(fleet.server.url()).status == 200) }
    try fleet.server.set(#"{"revoke": true}"#)
    #expect(try proxy.ask(fleet.server.url()).status == 401)
    #expect(try fleet.server.state().requests.count == 1)
    // The store has lost everything. Who knows the token puts it back.
    try fleet.redis.start()
    #expect(proxy.process.awaitLine { $0.contains("record put back") } != nil)
    #expect(try eventually { try proxy.ask(fleet.server.url()).status == 200 })
    #expect(try fleet.server.state().reuse == nil)
    #expect(try proxy.metric(#"authproxy_token_records_put_back_total{credential="api"}"#) == 1)
  }

  @Test func `client credentials: each process for itself`() throws {
    let fleet = try Fleet()
    defer { fleet.stop() }
    fleet.redis.kill()
    let proxy = try fleet.start(try fleet.configuration())
    #expect(try proxy.ask(fleet.server.url()).status == 200)
    #expect(try fleet.server.state().requests.count == 1)
  }

  @Test func `a store that hangs holds up nobody who has a token`() throws {
    let fleet = try Fleet()
    defer { fleet.stop() }
    try fleet.start(1)
    let proxy = fleet.proxies[0]
    #expect(try proxy.ask(fleet.server.url()).status == 200)
    fleet.redis.freeze()
    for _ in 0..<3 { #expect(try proxy.ask(fleet.server.url()).status == 200) }
    fleet.redis.thaw()
  }
}
