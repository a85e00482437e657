import Foundation
import Testing

/// Processes with one token store in Redis ask the token server as one.
@Suite(.enabled(if: RedisServer.isInstalled)) struct FleetTests {
  private static let refreshToken = ["grant: refresh_token", "refresh_token: first-5ecret-refresh"]
  private static let rotating = #"{"rotate": true, "refresh_token": "first-5ecret-refresh", "delay": 0.3}"#

  @Test(arguments: [false, true])
  func `a cold start is one token request, whoever asks first`(hasRefreshToken: Bool) throws {
    let fleet = try Fleet(hasRefreshToken ? Self.rotating : #"{"delay": 0.3}"#)
    defer { fleet.stop() }
    try fleet.start(3, hasRefreshToken ? Self.refreshToken : [])
    for answer in try fleet.askAll() { #expect(answer.status == 200, "\(answer.head)\(answer.text)") }
    let state = try fleet.server.state()
    #expect(state.requests.count == 1)
    #expect(state.concurrent == 1)
    #expect(try fleet.metric("token_claims_total", #"{credential="api",result="won"}"#).reduce(0, +) == 1)
    #expect(try fleet.metric("token_adoptions_total").reduce(0, +) == 2)
    #expect(try fleet.metric("credential_generation") == [1, 1, 1])
  }

  @Test func `a process that starts later, or again, takes the token that is there`() throws {
    let fleet = try Fleet(Self.rotating)
    defer { fleet.stop() }
    try fleet.start(1, Self.refreshToken)
    #expect(try fleet.askAll().map(\.status) == [200])
    fleet.proxies[0].stop()
    let next = try fleet.start(try fleet.configuration(Self.refreshToken, name: "next"))
    #expect(try next.ask(fleet.server.url()).status == 200)
    #expect(try fleet.server.state().requests.count == 1)
    #expect(next.process.lines.contains { $0.contains("token adopted") })
  }

  @Test func `what one process has refreshed, the others use within a second, without a request`() throws {
    let fleet = try Fleet(Self.rotating)
    defer { fleet.stop() }
    try fleet.start(3, Self.refreshToken)
    for answer in try fleet.askAll() { #expect(answer.status == 200) }
    try fleet.server.set(#"{"revoke": true}"#)
    #expect(try fleet.proxies[0].ask(fleet.server.url()).status == 200)
    let began = Date()
    #expect(try eventually { try fleet.metric("credential_generation") == [2, 2, 2] })
    // It is half a second at most. A busy machine adds to it.
    #expect(Date().timeIntervalSince(began) < 5)
    for answer in try fleet.askAll() { #expect(answer.status == 200) }
    let state = try fleet.server.state()
    #expect(state.requests.count == 2)
    #expect(state.uses.filter { $0.status == 401 }.count == 1)
  }

  @Test func `all tokens are revoked at once: one refresh, and no app sees a 401`() throws {
    let fleet = try Fleet(Self.rotating)
    defer { fleet.stop() }
    try fleet.start(3, Self.refreshToken)
    for answer in try fleet.askAll() { #expect(answer.status == 200) }
    try fleet.server.set(#"{"revoke": true}"#)
    for answer in try fleet.askAll() { #expect(answer.status == 200, "\(answer.head)") }
    let state = try fleet.server.state()
    #expect(state.requests.map { $0.form["refresh_token"]?.hasPrefix("first-") } == [true, false])
    #expect(state.reuse == nil)
  }

  @Test func `a dead refresh token is presented once, and a new process does not present it at all`() throws {
    let fleet = try Fleet(#"{"rotate": true, "refresh_token": "other-5ecret-refresh"}"#)
    defer { fleet.stop() }
    try fleet.start(2, Self.refreshToken)
    for answer in try fleet.askAll() {
      #expect(answer.status == 502)
      #expect(answer.head.contains("invalid_grant"), "\(answer.head)")
    }
    let next = try fleet.start(try fleet.configuration(Self.refreshToken, name: "next"))
    #expect(try next.ask(fleet.server.url()).status == 502)
    #expect(try fleet.server.state().requests.count == 1)
    #expect(try fleet.metric("credential_needs_operator") == [1, 1, 1])

    // The server takes it again, and the operator says so.
    try fleet.server.set(#"{"refresh_token": "first-5ecret-refresh"}"#)
    let tokens = ["tokens", "--config", next.configurationPath]
    let before = try ChildProcess.run(Surroundings.program, tokens)
    #expect(before.output.contains("needs operator") && before.output.contains("refused"), "\(before.output)\(before.errors)")
    let cleared = try ChildProcess.run(Surroundings.program, tokens + ["--clear", "api"])
    #expect(cleared.status == .exited(0), "\(cleared.errors)")
    #expect(try eventually { try fleet.metric("credential_needs_operator") == [0, 0, 0] })
    for answer in try fleet.askAll() { #expect(answer.status == 200, "\(answer.head)") }
    #expect(try fleet.server.state().requests.count == 2)
  }

  @Test func `tokens of grants without a refresh token have an end in the store, others have none`() throws {
    for (oauth, expires) in [([], true), (Self.refreshToken, false)] {
      let fleet = try Fleet(#"{"rotate": true, "refresh_token": "first-5ecret-refresh"}"#)
      defer { fleet.stop() }
      try fleet.start(1, oauth)
      #expect(try fleet.askAll().map(\.status) == [200])
      let key = try fleet.redis.command("--raw", "keys", "*").trimmingCharacters(in: .whitespacesAndNewlines)
      #expect(key.hasPrefix("authproxy:api:"))
      let life = Int(try fleet.redis.command("--raw", "ttl", key).trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0
      #expect(expires ? life > 3_600 && life <= 90_000 : life == -1, "\(life)")
      let record = try fleet.redis.command("--raw", "get", key)
      #expect(record.hasPrefix("authproxy1 "))
      let explained = try ChildProcess.run(
        Surroundings.program, ["explain", "--config", fleet.proxies[0].configurationPath, "GET", fleet.server.url()])
      // The page breaks long lines.
      let words = explained.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
      #expect(words.contains("shared by \(fleet.redis.address) as \(key)"), "\(explained.output)\(explained.errors)")
    }
  }
}
