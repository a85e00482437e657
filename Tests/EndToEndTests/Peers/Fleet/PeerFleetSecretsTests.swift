import Foundation
import Testing

/// Nothing that is worth stealing leaves a process but to the token server and the API.
@Suite(.enabled(if: RedisServer.isInstalled)) struct PeerFleetSecretsTests {
  private static let refreshToken = ["grant: refresh_token", "refresh_token: first-5ecret-refresh"]

  /// The rules of docs/fleet.md's user.
  private static func documentedRules() throws -> String {
    let page = try String(contentsOfFile: Surroundings.root + "/docs/fleet.md", encoding: .utf8)
    let start = "user authproxy on #SHA256 "
    let line = page.split(separator: "\n").first { $0.contains(start) }
    return String(try #require(line?.components(separatedBy: start).last))
  }

  @Test func `no token, secret or key in wire, dump, log or pages; and the documented user suffices`() throws {
    let rules = try Self.documentedRules()
    // Its password is the one secret that the store must be told.
    let fleet = try Fleet(
      #"{"rotate": true, "refresh_token": "first-5ecret-refresh"}"#,
      redis: ["appendonly yes", "appendfsync always", "user authproxy on >store-password \(rules)"])
    defer { fleet.stop() }
    try fleet.startRelayed(
      3, Self.refreshToken, keep: true, store: ", username: authproxy, password: store-password, replicas: 0")
    for round in 1...3 {
      for answer in try fleet.askAll() { expect(answer, 200) }
      #expect(try fleet.server.state().requests.count == round)
      try fleet.server.set(#"{"revoke": true}"#)
    }
    // Lost, and put back.
    try fleet.redis.command("flushall")
    for answer in try fleet.askAll() { expect(answer, 200) }
    // Lost connections, and found again.
    for relay in fleet.relays {
      try relay.reset()
      try relay.serve()
    }
    try fleet.server.set(#"{"revoke": true}"#)
    #expect(try eventually { try fleet.askAll().allSatisfy { $0.status == 200 } })
    try fleet.redis.command("save")

    var found: [(place: String, bytes: [UInt8])] = []
    for (number, relay) in fleet.relays.enumerated() {
      let (sent, received) = (try relay.kept().flatMap { $0 }, try relay.answers().flatMap { $0 })
      #expect(sent.count > 1_000 && received.count > 1_000)
      found += [("sent by \(number)", sent), ("sent to \(number)", received)]
    }
    for case let file as String in FileManager.default.enumerator(atPath: fleet.redis.folder) ?? .init() {
      let path = fleet.redis.folder + "/" + file
      guard let bytes = FileManager.default.contents(atPath: path) else { continue }
      found.append((file, Array(bytes)))
    }
    #expect(found.contains { $0.place == "dump.rdb" && !$0.bytes.isEmpty })
    #expect(found.contains { $0.place.contains("appendonly") && !$0.bytes.isEmpty })
    for proxy in fleet.proxies {
      let tokens = try ChildProcess.run(Surroundings.program, ["tokens", "--config", proxy.configurationPath])
      #expect(tokens.status == .exited(0), "\(tokens.errors)")
      found.append(("tokens", Array((tokens.output + tokens.errors).utf8)))
      for page in ["status", "metrics", "readyz?credentials"] { found.append((page, try proxy.admin(page).body)) }
      found.append(("log", Array((proxy.process.output + proxy.process.errors).utf8)))
    }
    let state = try fleet.server.state()
    #expect(state.reuse == nil)
    let raw = try #require(Data(base64Encoded: Fleet.key))
    let secrets = (state.issued + state.requests.compactMap { $0.form["refresh_token"] }).flatMap {
      [Array($0.utf8), Array(Data($0.utf8).base64EncodedString().trimmingCharacters(in: ["="]).dropLast(2).utf8)]
    }
    let all = secrets + [Array("5ecret".utf8), Array(Fleet.key.utf8), Array(raw)]
    for (place, bytes) in found {
      let data = Data(bytes)
      for secret in all { #expect(data.range(of: Data(secret)) == nil, "\(place)") }
    }
    // Commands and keys that the user was refused.
    #expect(try fleet.redis.command("acl", "log").trimmingCharacters(in: .whitespacesAndNewlines) == "")
  }
}
