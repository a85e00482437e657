import Foundation
import Testing

/// The store fails, forgets or is another one: what a fleet loses by it.
@Suite(.enabled(if: RedisServer.isInstalled)) struct PeerFleetStoreTests {
  private static let refreshToken = ["grant: refresh_token", "refresh_token: first-5ecret-refresh"]
  private static let rotating = #"{"rotate": true, "refresh_token": "first-5ecret-refresh"}"#

  private func expectAll(_ fleet: Fleet, _ status: Int = 200, sourceLocation: SourceLocation = #_sourceLocation) throws {
    for answer in try fleet.askAll() {
      #expect(answer.status == status, "\(answer.head)\(answer.text)\n\(fleet.story)", sourceLocation: sourceLocation)
    }
  }

  @Test func `killed, and started again from its append-only file: nothing is lost, and a new process finds it`() throws {
    let fleet = try Fleet(Self.rotating, redis: ["appendonly yes", "appendfsync always"])
    defer { fleet.stop() }
    try fleet.start(3, Self.refreshToken)
    try expectAll(fleet)
    fleet.redis.kill()
    try fleet.server.set(#"{"revoke": true}"#)
    try expectAll(fleet, 401)
    try fleet.redis.start()
    let next = try fleet.start(try fleet.configuration(Self.refreshToken, name: "next"))
    #expect(try fleet.ask(next) == 200, "\(fleet.story)")
    #expect(try eventually { try fleet.askAll().allSatisfy { $0.status == 200 } })
    let state = try fleet.server.state()
    #expect(state.requests.count == 2, "\(fleet.story)")
    #expect(state.reuse == nil, "\(fleet.story)")
    #expect(fleet.logged("record put back") == 0)
  }

  enum Hang: CaseIterable { case stopped, sleeping, paused }

  @Test(arguments: Hang.allCases)
  func `a store that hangs: tokens in hand are used, none is spent, and all goes on after it`(hang: Hang) throws {
    let fleet = try Fleet(Self.rotating, redis: ["enable-debug-command yes"])
    defer { fleet.stop() }
    try fleet.start(3, Self.refreshToken)
    try expectAll(fleet)
    var sleeper: ChildProcess?
    switch hang {
    case .stopped: fleet.redis.freeze()
    case .sleeping: sleeper = try ChildProcess("redis-cli", ["-p", "\(fleet.redis.port)", "debug", "sleep", "8"])
    case .paused: try fleet.redis.command("client", "pause", "8000", "ALL")
    }
    try expectAll(fleet)
    try fleet.server.set(#"{"revoke": true}"#)
    // Nobody knows whether another process refreshes: the 401 is relayed.
    for answer in try fleet.askAll() { #expect(answer.status == 401, "\(answer.head)") }
    #expect(try fleet.server.state().requests.count == 1, "\(fleet.story)")
    if hang == .stopped { fleet.redis.thaw() }
    _ = sleeper?.awaitEnd()
    #expect(try eventually(seconds: 40) { try fleet.askAll().allSatisfy { $0.status == 200 } })
    let state = try fleet.server.state()
    #expect(state.requests.count == 2, "\(fleet.story)")
    #expect(state.reuse == nil, "\(fleet.story)")
  }

  /// It announces a write before it refuses it.
  @Test func `a store that has lost the record and takes no writes is not asked without pause`() throws {
    let fleet = try Fleet(Self.rotating)
    defer { fleet.stop() }
    try fleet.start(3, Self.refreshToken)
    try expectAll(fleet)
    try fleet.redis.command("flushall")
    try fleet.redis.command("config", "set", "min-replicas-to-write", "1")
    try fleet.redis.command("config", "resetstat")
    try fleet.redis.command("client", "kill", "type", "pubsub")
    #expect(try eventually { try fleet.redis.scripts() >= 6 })
    let before = try fleet.redis.scripts()
    usleep(2_000_000)
    let asked = try fleet.redis.scripts() - before
    // Of each process twenty readings a second, each with an attempt to write.
    #expect(asked <= 3 * 2 * 2 * 20 + 20, "\(asked)")
    try expectAll(fleet)
    try fleet.redis.command("config", "set", "min-replicas-to-write", "0")
    try fleet.server.set(#"{"revoke": true}"#)
    #expect(try eventually(seconds: 20) { try fleet.askAll().allSatisfy { $0.status == 200 } }, "\(fleet.story)")
    #expect(try fleet.server.state().reuse == nil, "\(fleet.story)")
  }

  @Test func `FLUSHALL under running processes, and a new one: the record is put back, and no first token is tried`() throws {
    let fleet = try Fleet(Self.rotating)
    defer { fleet.stop() }
    try fleet.start(3, Self.refreshToken)
    try expectAll(fleet)
    try fleet.redis.command("flushall")
    let next = try fleet.start(try fleet.configuration(Self.refreshToken, name: "next"))
    // A request of one that knows makes it look.
    try fleet.server.set(#"{"revoke": true}"#)
    let connections = try fleet.proxies.map { try fleet.begin($0) }
    for connection in connections { #expect(try connection.readAnswer().status == 200, "\(fleet.story)") }
    #expect(try fleet.ask(next) == 200, "\(fleet.story)")
    let state = try fleet.server.state()
    #expect(state.requests.count == 2, "\(fleet.story)")
    #expect(state.reuse == nil, "\(fleet.story)")
  }

  @Test func `FLUSHALL, and a new process claims the first token: one that has to wait for it puts the record back`() throws {
    let fleet = try Fleet(Self.rotating)
    defer { fleet.stop() }
    try fleet.start(1, Self.refreshToken)
    try expectAll(fleet)
    try fleet.redis.command("flushall")
    let next = try fleet.start(try fleet.configuration(Self.refreshToken, name: "next"))
    try fleet.server.set(#"{"revoke": true}"#)
    let asked = try fleet.begin(next)
    #expect(try eventually { try fleet.redis.command("--raw", "dbsize").hasPrefix("1") })
    // The claim stands for a second, and for as long as the machine is slow.
    try next.pause()
    let known = try fleet.begin(fleet.proxies[0])
    #expect(fleet.proxies[0].process.awaitLine { $0.contains("record put back") } != nil, "\(fleet.story)")
    next.goOn()
    for connection in [known, asked] { #expect(try connection.readAnswer().status == 200, "\(fleet.story)") }
    let state = try fleet.server.state()
    #expect(state.requests.count == 2, "\(fleet.story)")
    #expect(state.reuse == nil, "\(fleet.story)")
  }

  @Test func `FLUSHALL, and no request but that of a new process`() throws {
    let fleet = try Fleet(Self.rotating)
    defer { fleet.stop() }
    try fleet.start(3, Self.refreshToken)
    try expectAll(fleet)
    try fleet.redis.command("flushall")
    let next = try fleet.start(try fleet.configuration(Self.refreshToken, name: "next"))
    #expect(try fleet.ask(next) == 200, "\(fleet.story)")
    let state = try fleet.server.state()
    #expect(state.requests.count == 1, "\(fleet.story)")
    #expect(state.reuse == nil, "\(fleet.story)")
    #expect(fleet.logged("record put back") >= 1)
  }

  @Test func `a replica is promoted without the last save: who knows it puts it back`() throws {
    let fleet = try Fleet(Self.rotating)
    let replica = try RedisServer(["replicaof 127.0.0.1 \(fleet.redis.port)", "repl-diskless-sync-delay 0"])
    defer { fleet.stop() }
    try fleet.startRelayed(3, Self.refreshToken)
    try expectAll(fleet)
    #expect(try eventually { try replica.command("--raw", "dbsize").hasPrefix("1") })
    try replica.command("replicaof", "no", "one")
    try fleet.server.set(#"{"revoke": true}"#)
    try expectAll(fleet)
    #expect(try fleet.metric("credential_generation") == [2, 2, 2])
    // A new process comes first, and its record is the old one.
    fleet.redis.kill()
    let next = try fleet.start(try fleet.configuration(Self.refreshToken, name: "next", address: replica.address))
    for relay in fleet.relays { try relay.move(to: replica.port) }
    let asked = try fleet.begin(next)
    expect(try asked.readAnswer(), 200, next)
    #expect(try eventually { try fleet.askAll().allSatisfy { $0.status == 200 } })
    let state = try fleet.server.state()
    #expect(state.reuse == nil, "\(state.requests.map(\.form))")
    #expect(fleet.logged("record put back") >= 1)
  }

  @Test func `a fail-over by Sentinel while a token request is under way: its token is saved, and adopted`() throws {
    let fleet = try Fleet(#"{"rotate": true, "refresh_token": "first-5ecret-refresh", "queue": [{"held": "on"}]}"#)
    let replicas = try (0..<2).map { _ in
      try RedisServer(["replicaof 127.0.0.1 \(fleet.redis.port)", "repl-diskless-sync-delay 0"])
    }
    let sentinel = try RedisServer(
      [
        "sentinel monitor mymaster 127.0.0.1 \(fleet.redis.port) 1", "sentinel down-after-milliseconds mymaster 1000",
        "sentinel failover-timeout mymaster 5000",
      ], isSentinel: true)
    defer { fleet.stop() }
    #expect(
      try eventually(seconds: 30) {
        let known = try sentinel.command("sentinel", "replicas", "mymaster")
        let attached = try fleet.redis.command("info", "replication").components(separatedBy: "state=online").count - 1
        return attached == 2 && replicas.allSatisfy { known.contains("\($0.port)") }
      })
    // `replicas` is 1 with Sentinel.
    let settings = "{sentinel: {name: mymaster, addresses: [\"\(sentinel.address)\"]}, timeout: 2s}"
    try fleet.start(3, Self.refreshToken, redis: settings)
    let asked = try fleet.begin(fleet.proxies[0])
    #expect(try eventually { try fleet.server.state().issued.count == 1 })
    fleet.redis.kill()
    #expect(fleet.proxies[0].process.awaitLine { $0.contains("token store unreachable") } != nil)
    try fleet.server.openGate()
    expect(try asked.readAnswer(), 200, fleet.proxies[0])
    #expect(try eventually(seconds: 60) { try fleet.askAll().allSatisfy { $0.status == 200 } })
    let state = try fleet.server.state()
    #expect(state.requests.count == 1, "\(fleet.story)")
    #expect(state.reuse == nil, "\(fleet.story)")
    #expect(try fleet.metric("credential_generation") == [1, 1, 1])
  }

  @Test func `replicas are frozen: a claim is not acknowledged, and nothing is presented`() throws {
    let fleet = try Fleet(Self.rotating)
    let replica = try RedisServer(["replicaof 127.0.0.1 \(fleet.redis.port)", "repl-diskless-sync-delay 0"])
    defer { fleet.stop() }
    #expect(try eventually { try fleet.redis.command("info", "replication").contains("state=online") })
    let settings = "{address: \"\(fleet.redis.address)\", timeout: 1s, replicas: 1}"
    try fleet.start(2, Self.refreshToken, redis: settings)
    replica.freeze()
    for answer in try fleet.askAll() {
      #expect(answer.status == 503)
      #expect(answer.head.contains("replicas"), "\(answer.head)")
      #expect(!answer.all("Retry-After").isEmpty)
    }
    #expect(try fleet.server.state().requests.isEmpty, "\(fleet.story)")
    replica.thaw()
    #expect(try eventually(seconds: 60) { try fleet.askAll().allSatisfy { $0.status == 200 } })
    #expect(try fleet.server.state().requests.count == 1, "\(fleet.story)")
  }

  @Test func `wall clocks that differ by hours, in both directions`() throws {
    let fleet = try Fleet(#"{"rotate": true, "refresh_token": "first-5ecret-refresh", "expires_in": 600}"#)
    defer { fleet.stop() }
    for (number, seconds) in [0, 7_200, -7_200].enumerated() {
      let clock = try ShiftedClock()
      try clock.set(seconds: seconds)
      try fleet.start(
        try fleet.configuration(Self.refreshToken + ["refresh_before_expiry: 10s"], name: "proxy\(number)"),
        environment: clock.environment)
    }
    for round in 1...3 {
      try expectAll(fleet)
      try expectAll(fleet)
      #expect(try fleet.server.state().requests.count == round, "\(fleet.story)")
      try fleet.server.set(#"{"revoke": true}"#)
    }
    #expect(try fleet.server.state().reuse == nil, "\(fleet.story)")
    // Seconds until the token ends, by each process's own calendar.
    for (proxy, ahead) in zip(fleet.proxies, [0.0, 7_200, -7_200]) {
      let left = try proxy.awaitExpiry(of: "api") - Date().timeIntervalSince1970 - ahead
      #expect(left > 300 && left < 610, "\(left)")
    }
  }
}
