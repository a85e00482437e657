import Foundation
import Testing

/// Reloads of a process that shares its tokens, and of those that share them with it.
@Suite(.enabled(if: RedisServer.isInstalled)) struct FleetReloadTests {
  private static let refreshToken = ["grant: refresh_token", "refresh_token: first-5ecret-refresh"]
  private static let rotating = #"{"rotate": true, "refresh_token": "first-5ecret-refresh"}"#

  private func listening(_ proxy: ProxyProcess, _ configuration: String) -> String {
    "listen: \(proxy.addresses[0])\n" + configuration
  }

  @Test func `another store: the process connects anew, the token stays, and is put there`() throws {
    let fleet = try Fleet(Self.rotating)
    let other = try RedisServer()
    defer { fleet.stop() }
    try fleet.start(1, Self.refreshToken)
    let proxy = fleet.proxies[0]
    #expect(try proxy.ask(fleet.server.url()).status == 200)
    let before = proxy.process.lines.count
    try proxy.reload(listening(proxy, try fleet.configuration(Self.refreshToken, address: other.address)))
    #expect(proxy.process.awaitLine(from: before) { $0.contains("record put back") } != nil)
    #expect(try proxy.ask(fleet.server.url()).status == 200)
    #expect(try fleet.server.state().requests.count == 1)
    #expect(try other.command("--raw", "keys", "*").hasPrefix("authproxy:api:"))
    #expect(try eventually { try !fleet.redis.command("client", "list").contains("name=authproxy") })
  }

  @Test func `the key changes in two roll-outs, and nobody notices; a foreign key is said, and its record stays`() throws {
    let fleet = try Fleet(Self.rotating)
    defer { fleet.stop() }
    let first = "key: \(Fleet.key)"
    let both = "key: \(Fleet.key)\n  previous_keys: [\(Fleet.otherKey)]"
    let turned = "key: \(Fleet.otherKey)\n  previous_keys: [\(Fleet.key)]"
    try fleet.start(2, Self.refreshToken)
    for answer in try fleet.askAll() { #expect(answer.status == 200) }
    for keys in [both, turned] {
      for proxy in fleet.proxies {
        try proxy.reload(listening(proxy, try fleet.configuration(Self.refreshToken, keys: keys)))
        try fleet.server.set(#"{"revoke": true}"#)
        for answer in try fleet.askAll() { #expect(answer.status == 200, "\(answer.head)") }
      }
    }
    #expect(try fleet.server.state().reuse == nil)
    let count = try fleet.server.state().requests.count
    // It was away for both roll-outs.
    let late = try fleet.start(try fleet.configuration(Self.refreshToken, name: "late", keys: first))
    let answer = try late.ask(fleet.server.url())
    #expect(answer.status == 502)
    #expect(answer.head.contains("encrypted with another key"), "\(answer.head)")
    for answer in try fleet.askAll().dropLast() { #expect(answer.status == 200) }
    #expect(try fleet.server.state().requests.count == count)
    // It gets the missing key.
    try late.reload(listening(late, try fleet.configuration(Self.refreshToken, name: "late", keys: turned)))
    #expect(try eventually { try late.ask(fleet.server.url()).status == 200 }, "\(fleet.story)")
    #expect(try fleet.server.state().requests.count == count)
  }

  @Test func `a credential that is another one has another record`() throws {
    let fleet = try Fleet()
    defer { fleet.stop() }
    try fleet.start(2)
    for answer in try fleet.askAll() { #expect(answer.status == 200) }
    let proxy = fleet.proxies[0]
    try proxy.reload(listening(proxy, try fleet.configuration(["scope: other"])))
    for answer in try fleet.askAll() { #expect(answer.status == 200) }
    #expect(try fleet.server.state().requests.map { $0.form["scope"] } == [nil, "other"])
    #expect(try fleet.redis.command("--raw", "dbsize").hasPrefix("2"))
    // Not shared any more.
    try proxy.reload(listening(proxy, try fleet.configuration(["shared: false"])))
    #expect(try proxy.ask(fleet.server.url()).status == 200)
    #expect(try fleet.server.state().requests.count == 3)
  }

  @Test func `a credential and its store are removed before its token was saved: it is told as lost, and holds up no exit`()
    throws
  {
    let fleet = try Fleet(#"{"rotate": true, "refresh_token": "first-5ecret-refresh", "queue": [{"held": "on"}]}"#)
    defer { fleet.stop() }
    try fleet.start(1, Self.refreshToken)
    let proxy = fleet.proxies[0]
    let asked = try fleet.begin(proxy)
    #expect(try eventually { try fleet.server.state().issued.count == 1 })
    fleet.redis.kill()
    try fleet.server.openGate()
    #expect(try asked.readAnswer().status == 200)
    #expect(proxy.process.awaitLine { $0.contains("could not be saved") } != nil, "\(proxy.tail)")
    try proxy.reload(listening(proxy, try fleet.server.configuration("client_id: another", top: "admin: 127.0.0.1:0")))
    #expect(proxy.process.awaitLine { $0.contains("a new token is lost") } != nil, "\(proxy.tail)")
    proxy.process.signal(SIGTERM)
    #expect(proxy.process.awaitEnd(seconds: 20) == .exited(0), "\(proxy.tail)")
  }

  @Test func `SIGTERM lets a refresh finish, and its token is saved`() throws {
    let fleet = try Fleet(Self.rotating)
    defer { fleet.stop() }
    try fleet.start(2, Self.refreshToken)
    try fleet.server.holdNext()
    let connection = try fleet.proxies[0].connect()
    try connection.send(ProxyProcess.request("GET", fleet.server.url()))
    #expect(try eventually { try fleet.server.state().requests.count == 1 })
    fleet.proxies[0].process.signal(SIGTERM)
    #expect(fleet.proxies[0].process.awaitLine { $0.contains("draining") } != nil)
    try fleet.server.openGate()
    #expect(try connection.readAnswer().status == 200)
    #expect(fleet.proxies[0].process.awaitEnd(seconds: 20) == .exited(0))
    #expect(try fleet.proxies[1].ask(fleet.server.url()).status == 200)
    #expect(try fleet.server.state().requests.count == 1)
  }
}
