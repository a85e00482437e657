import Foundation
import Testing

/// The process that refreshes dies, freezes or loses the store: the rows of docs/fleet.md's table. Claims hold for 26 s here: what a test does
/// while a token request is under way may take up to 8 s.
@Suite(.enabled(if: RedisServer.isInstalled)) struct PeerFleetHolderTests {
  private static let refreshToken = ["grant: refresh_token", "refresh_token: first-5ecret-refresh", "timeout: 8s"]

  /// - Parameter more: of the token server, which detects reuse otherwise.
  private func fleet(_ step: String, _ more: String = "") throws -> Fleet {
    try Fleet(#"{"rotate": true, "refresh_token": "first-5ecret-refresh", "queue": [\#(step)]\#(more)}"#)
  }

  @Test func `killed before the server has seen anything: another one takes over`() throws {
    let fleet = try fleet(#"{"gate": "on", "drop": true}"#)
    defer { fleet.stop() }
    try fleet.start(3, Self.refreshToken)
    _ = try fleet.begin(fleet.proxies[0])
    try fleet.awaitRequests(1)
    fleet.kill(0)
    for answer in try fleet.askAll() { #expect(answer.status == 200, "\(answer.head)\(answer.text)") }
    try fleet.server.openGate()
    let state = try fleet.server.state()
    #expect(state.requests.count == 2, "\(fleet.story)")
    #expect(state.reuse == nil, "\(fleet.story)")
    #expect(fleet.logged("claim taken over") == 1)
    #expect(fleet.proxies.contains { $0.process.lines.contains { $0.contains("claim taken over") && $0.contains("proxy1@") } })
    #expect(try fleet.metric("token_claims_total", #"{credential="api",result="taken_over"}"#).reduce(0, +) == 1)
  }

  @Test func `killed after the server has rotated, with reuse detection: one more attempt, and then an operator is needed`()
    throws
  {
    let fleet = try fleet(#"{"held": "on"}"#)
    defer { fleet.stop() }
    try fleet.start(3, Self.refreshToken)
    _ = try fleet.begin(fleet.proxies[0])
    #expect(try eventually { try fleet.server.state().issued.count == 1 })
    fleet.kill(0)
    for answer in try fleet.askAll() {
      #expect(answer.status == 502)
      #expect(answer.head.contains("invalid_grant"), "\(answer.head)")
    }
    try fleet.server.openGate()
    let next = try fleet.start(try fleet.configuration(Self.refreshToken, name: "next"))
    #expect(try fleet.begin(next).readAnswer().status == 502, "\(fleet.story)")
    #expect(
      try fleet.server.state().requests.map { $0.form["refresh_token"] } == Array(repeating: "first-5ecret-refresh", count: 2))
    #expect(try fleet.metric("credential_needs_operator") == [1, 1, 1])
  }

  @Test func `the same, with a grace period: it works`() throws {
    let fleet = try fleet(#"{"held": "on"}"#, #", "confirm": true"#)
    defer { fleet.stop() }
    try fleet.start(3, Self.refreshToken)
    _ = try fleet.begin(fleet.proxies[0])
    #expect(try eventually { try fleet.server.state().issued.count == 1 })
    fleet.kill(0)
    for answer in try fleet.askAll() { #expect(answer.status == 200, "\(answer.head)\(answer.text)") }
    try fleet.server.openGate()
    let state = try fleet.server.state()
    #expect(state.requests.count == 2, "\(fleet.story)")
    #expect(state.lost == 1, "\(fleet.story)")
    #expect(state.reuse == nil, "\(fleet.story)")
  }

  @Test func `frozen past its time after it has sent: it adopts what another one has got`() throws {
    let fleet = try fleet(#"{"held": "on"}"#, #", "confirm": true"#)
    defer { fleet.stop() }
    try fleet.start(3, Self.refreshToken)
    let asked = try fleet.begin(fleet.proxies[0])
    #expect(try eventually { try fleet.server.state().issued.count == 1 })
    try fleet.proxies[0].pause()
    let others = try fleet.proxies.dropFirst().map { try fleet.begin($0) }
    for connection in others { #expect(try connection.readAnswer().status == 200, "\(fleet.story)") }
    try fleet.server.openGate()
    fleet.proxies[0].goOn()
    // Its own time is over as well.
    let late = try asked.readAnswer()
    #expect(late.status == 200 || late.status == 503 && !late.all("Retry-After").isEmpty, "\(late.head)")
    #expect(try eventually { try fleet.ask(fleet.proxies[0]) == 200 })
    #expect(try eventually { try fleet.metric("credential_generation") == [1, 1, 1] })
    // All have the token of the one that took over.
    let before = try fleet.server.state()
    for answer in try fleet.askAll("after") { #expect(answer.status == 200) }
    let state = try fleet.server.state()
    #expect(Set(state.uses.filter { $0.path == "after" }.map(\.token)) == [before.issued[1]])
    #expect(state.requests.count == 2, "\(fleet.story)")
    #expect(state.reuse == nil, "\(fleet.story)")
  }

  @Test func `frozen for longer than its request may take: the answer that lies there is read, and its token saved`() throws {
    let fleet = try fleet(#"{"held": "on"}"#)
    defer { fleet.stop() }
    try fleet.start(3, Self.refreshToken)
    let asked = try fleet.begin(fleet.proxies[0])
    #expect(try eventually { try fleet.server.state().issued.count == 1 })
    try fleet.proxies[0].pause()
    try fleet.server.openGate()
    usleep(11_000_000)
    fleet.proxies[0].goOn()
    expect(try asked.readAnswer(), 200, fleet.proxies[0])
    for answer in try fleet.askAll() { expect(answer, 200) }
    let state = try fleet.server.state()
    #expect(state.requests.count == 1, "\(fleet.story)")
    #expect(state.reuse == nil, "\(fleet.story)")
  }

  @Test func `frozen past its time before it has sent: it sends nothing`() throws {
    let fleet = try fleet("")
    defer { fleet.stop() }
    try fleet.startRelayed(3, Self.refreshToken, timeout: "20s")
    // Its claim stands, and it does not know yet.
    try fleet.relays[0].delay(milliseconds: 5_000)
    let asked = try fleet.begin(fleet.proxies[0])
    #expect(try eventually(seconds: 40) { try fleet.redis.command("--raw", "dbsize").hasPrefix("1") })
    try fleet.proxies[0].pause()
    let others = try fleet.proxies.dropFirst().map { try fleet.begin($0) }
    for connection in others { #expect(try connection.readAnswer().status == 200, "\(fleet.story)") }
    #expect(fleet.logged("claim taken over") == 1)
    try fleet.relays[0].serve()
    fleet.proxies[0].goOn()
    // Its own time is over as well.
    let late = try asked.readAnswer()
    #expect(late.status == 200 || late.status == 503 && !late.all("Retry-After").isEmpty, "\(late.head)")
    #expect(try eventually { try fleet.ask(fleet.proxies[0]) == 200 })
    #expect(try fleet.server.state().requests.count == 1, "\(fleet.story)")
  }

  @Test func `cut off between claim and save, for less than a claim: its token is saved, and adopted by all`() throws {
    let fleet = try fleet(#"{"held": "on"}"#)
    defer { fleet.stop() }
    try fleet.startRelayed(3, Self.refreshToken)
    let asked = try fleet.begin(fleet.proxies[0])
    #expect(try eventually { try fleet.server.state().issued.count == 1 })
    try fleet.relays[0].refuse()
    try fleet.server.openGate()
    expect(try asked.readAnswer(), 200, fleet.proxies[0])
    let others = try fleet.proxies.dropFirst().map { try fleet.begin($0) }
    try fleet.relays[0].serve()
    for connection in others { #expect(try connection.readAnswer().status == 200, "\(fleet.story)") }
    #expect(try fleet.server.state().requests.count == 1, "\(fleet.story)")
    #expect(fleet.logged("claim taken over") == 0)
    #expect(fleet.logged("token adopted") == 2)
  }

  @Test func `cut off for more than a claim: its token is saved all the same, and heals the fleet`() throws {
    let fleet = try fleet(#"{"held": "on"}"#, #", "lenient": true"#)
    defer { fleet.stop() }
    try fleet.startRelayed(3, Self.refreshToken)
    let asked = try fleet.begin(fleet.proxies[0])
    #expect(try eventually { try fleet.server.state().issued.count == 1 })
    try fleet.relays[0].refuse()
    try fleet.server.openGate()
    expect(try asked.readAnswer(), 200, fleet.proxies[0])
    let others = try fleet.proxies.dropFirst().map { try fleet.begin($0) }
    for connection in others { #expect(try connection.readAnswer().status == 502, "\(fleet.story)") }
    #expect(try fleet.ask(fleet.proxies[0]) == 200, "\(fleet.story)")
    #expect(try fleet.server.state().requests.count == 2, "\(fleet.story)")
    try fleet.relays[0].serve()
    #expect(try eventually { try fleet.metric("credential_needs_operator") == [0, 0, 0] })
    for answer in try fleet.askAll() { #expect(answer.status == 200, "\(answer.head)\(answer.text)") }
    #expect(try fleet.server.state().requests.count == 2, "\(fleet.story)")
    // What all have is the newest.
    try fleet.server.set(#"{"revoke": true}"#)
    for answer in try fleet.askAll() { #expect(answer.status == 200, "\(answer.head)\(answer.text)") }
    #expect(try fleet.server.state().requests.count == 3, "\(fleet.story)")
  }
}
