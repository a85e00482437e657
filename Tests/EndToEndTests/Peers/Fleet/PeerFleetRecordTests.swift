import Foundation
import Testing

/// What lies in the store is not what a process of the fleet has put there.
@Suite(.enabled(if: RedisServer.isInstalled)) struct PeerFleetRecordTests {
  private static let refreshToken = ["grant: refresh_token", "refresh_token: first-5ecret-refresh"]

  enum Damage: CaseIterable { case ofAnotherCredential, truncated, oneByteChanged, empty, noRecord }

  @Test(arguments: Damage.allCases)
  func `a damaged record is left as it is, no first token is tried, and who has a token uses it`(damage: Damage) throws {
    let fleet = try Fleet(#"{"rotate": true, "refresh_token": "first-5ecret-refresh"}"#)
    defer { fleet.stop() }
    try fleet.start(1, Self.refreshToken)
    #expect(try fleet.ask(fleet.proxies[0]) == 200, "\(fleet.story)")
    let key = try word(fleet, "keys", "authproxy:api:*")
    let good = try word(fleet, "get", key)
    #expect(good.hasPrefix("authproxy1 "))
    let value: String
    switch damage {
    case .ofAnotherCredential:
      try fleet.start(try fleet.configuration(name: "other"))
      #expect(try fleet.ask(fleet.proxies[1]) == 200, "\(fleet.story)")
      let keys = try word(fleet, "keys", "authproxy:api:*").split(separator: "\n").map(String.init)
      value = try word(fleet, "get", try #require(keys.first { $0 != key }))
    case .truncated: value = String(good.dropLast(8))
    case .oneByteChanged: value = good.replacing(try #require(good.suffix(40).first.map(String.init)), with: "x")
    case .empty: value = ""
    case .noRecord: value = "hello"
    }
    #expect(value != good)
    try fleet.redis.command("set", key, value)
    let count = try fleet.server.state().requests.count
    let next = try fleet.start(try fleet.configuration(Self.refreshToken, name: "next"))
    let answer = try next.ask(fleet.server.url())
    expect(answer, 502, next)
    #expect(answer.head.contains("proxy_configuration_error"), "\(answer.head)")
    #expect(try fleet.ask(fleet.proxies[0]) == 200, "\(fleet.story)")
    #expect(try word(fleet, "get", key) == value)
    #expect(try fleet.server.state().requests.count == count, "\(fleet.story)")
    try fleet.redis.command("set", key, good)
    let last = try fleet.start(try fleet.configuration(Self.refreshToken, name: "last"))
    #expect(try fleet.ask(last) == 200, "\(fleet.story)")
    #expect(try fleet.server.state().requests.count == count, "\(fleet.story)")
  }

  @Test(arguments: [true, false])
  func `"tokens --clear" replaces a record that cannot be read, and keeps what was there`(hasRefreshToken: Bool) throws {
    let fleet = try Fleet(hasRefreshToken ? #"{"rotate": true, "refresh_token": "first-5ecret-refresh"}"# : "{}")
    defer { fleet.stop() }
    let oauth = hasRefreshToken ? Self.refreshToken : []
    try fleet.start(1, oauth)
    #expect(try fleet.ask(fleet.proxies[0]) == 200, "\(fleet.story)")
    let key = try word(fleet, "keys", "authproxy:api:*")
    try fleet.redis.command("set", key, "hello")
    let next = try fleet.start(try fleet.configuration(oauth, name: "next"))
    let answer = try next.ask(fleet.server.url())
    expect(answer, 502, next)
    #expect(answer.head.contains("tokens --clear api"), "\(answer.head)")
    let shown = try ChildProcess.run(Surroundings.program, ["tokens", "--config", next.configurationPath])
    #expect(shown.output.contains("damaged") && shown.output.contains("tokens --clear api"), "\(shown.output)\(shown.errors)")
    // One proxy knows its token.
    try clear(fleet, next, keeping: "hello")
    #expect(try eventually { try fleet.metric("credential_generation") == [1, 1] }, "\(fleet.story)")
    #expect(try fleet.metric("credential_needs_operator") == [0, 0], "\(fleet.story)")
    #expect(try fleet.ask(next) == 200, "\(fleet.story)")
    #expect(try fleet.server.state().requests.count == 1, "\(fleet.story)")
    // Nobody knows it.
    for proxy in fleet.proxies { proxy.stop() }
    try fleet.redis.command("set", key, "authproxy1 unknown-key \(Data("sealed".utf8).base64EncodedString())")
    try fleet.server.set(#"{"refresh_token": "first-5ecret-refresh"}"#)
    let last = try fleet.start(try fleet.configuration(oauth, name: "last"))
    let refused = try last.ask(fleet.server.url())
    expect(refused, 502, last)
    #expect(refused.head.contains("previous_keys"), "\(refused.head)")
    try clear(fleet, last, keeping: "authproxy1 unknown-key")
    #expect(try eventually { try fleet.ask(last) == 200 }, "\(fleet.story)")
    #expect(try fleet.server.state().requests.count == 2, "\(fleet.story)")
  }

  private func clear(_ fleet: Fleet, _ proxy: ProxyProcess, keeping value: String) throws {
    let tokens = ["tokens", "--config", proxy.configurationPath, "--clear", "api"]
    let cleared = try ChildProcess.run(Surroundings.program, tokens)
    #expect(cleared.status == .exited(0) && cleared.errors.contains("kept as "), "\(cleared.errors)")
    let kept = try word(fleet, "keys", "authproxy:api:*.unreadable-*").split(separator: "\n").map(String.init)
    #expect(try kept.contains { try word(fleet, "get", $0).hasPrefix(value) }, "\(kept)")
    let again = try ChildProcess.run(Surroundings.program, tokens)
    #expect(again.errors.contains("nothing to clear"), "\(again.errors)")
  }

  @Test func `a record of another prefix is not opened`() throws {
    let fleet = try Fleet()
    defer { fleet.stop() }
    try fleet.start(1)
    #expect(try fleet.ask(fleet.proxies[0]) == 200, "\(fleet.story)")
    let key = try word(fleet, "keys", "authproxy:api:*")
    try fleet.redis.command("set", key.replacing("authproxy:", with: "elsewhere:"), try word(fleet, "get", key))
    let other = try fleet.start(try fleet.configuration(name: "other", store: "prefix: \"elsewhere:\""))
    expect(try other.ask(fleet.server.url()), 502, other)
    #expect(try fleet.server.state().requests.count == 1, "\(fleet.story)")
  }

  private func word(_ fleet: Fleet, _ first: String, _ second: String) throws -> String {
    try fleet.redis.command("--raw", first, second).trimmingCharacters(in: .whitespacesAndNewlines)
  }
}
