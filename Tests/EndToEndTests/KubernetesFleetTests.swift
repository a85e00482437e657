import Foundation
import Testing

/// Processes that share their tokens in one Secret.
@Suite struct KubernetesFleetTests {
  private func fleet(_ count: Int, _ configuration: String) throws -> [ProxyProcess] {
    let fleet = try (0..<count).map { _ in try ProxyProcess(configuration) }
    for proxy in fleet {
      guard proxy.process.awaitLine(where: { $0.contains("token store reachable") }) != nil else {
        throw HarnessError("no store: \(proxy.process.output)")
      }
    }
    return fleet
  }

  /// Asks all at once.
  private func answers(_ fleet: [ProxyProcess], _ url: String) throws -> [Answer] {
    let clients = try fleet.map { try $0.connect() }
    for client in clients { try client.send(ProxyProcess.request("GET", url)) }
    return try clients.map { try $0.readAnswer() }
  }

  @Test func `a cold start of three processes is one token request, and nothing of it is readable`() throws {
    let (server, kubernetes) = (try TokenServer(#"{"delay": 0.3}"#), try KubernetesAPI())
    let fleet = try fleet(3, server.configuration(top: kubernetes.section))
    defer { for proxy in fleet { proxy.stop() } }
    for answer in try answers(fleet, server.url()) { #expect(answer.status == 200, "\(answer.text)") }
    let (issued, state) = (try server.state(), try kubernetes.state)
    #expect(issued.requests.count == 1)
    #expect(state.records.count == 1)
    let token = try #require(issued.issued.first)
    for secret in [token, Data(token.utf8).base64EncodedString(), "shh-5ecret-client"] {
      #expect(!"\(state.data)".contains(secret))
      for request in state.requests { #expect(request.body?.contains(secret) != true) }
      for proxy in fleet { #expect(!proxy.process.output.contains(secret)) }
    }
    for proxy in fleet { #expect(!proxy.process.output.contains(KubernetesAPI.token)) }
    // Neither a right more than the Role's, nor another content type.
    #expect(state.count("list 403") == 0 && state.count("get 403") == 0 && state.count("patch 415") == 0)
  }

  @Test func `refresh tokens that rotate are spent once, and the others adopt what came of it`() throws {
    let server = try TokenServer(#"{"rotate": true, "refresh_token": "first-5ecret-refresh"}"#)
    let kubernetes = try KubernetesAPI()
    let configuration = try server.configuration(
      "grant: refresh_token", "refresh_token: first-5ecret-refresh", top: kubernetes.section)
    let fleet = try fleet(3, configuration)
    defer { for proxy in fleet { proxy.stop() } }
    for round in 1...4 {
      for answer in try answers(fleet, server.url()) { #expect(answer.status == 200, "round \(round): \(answer.text)") }
      #expect(try server.state().requests.count == round)
      // All meet a 401 with the token that they share.
      try server.set(#"{"revoke": true}"#)
    }
    let state = try server.state()
    #expect(state.reuse == nil, "a spent refresh token was sent")
  }

  @Test func `a saved token reaches the others by the watch, before they need it`() throws {
    let (server, kubernetes) = (try TokenServer(#"{"expires_in": 3600}"#), try KubernetesAPI())
    let fleet = try fleet(2, server.configuration(top: kubernetes.section))
    defer { for proxy in fleet { proxy.stop() } }
    #expect(try fleet[0].ask(server.url()).status == 200)
    let start = Date()
    #expect(fleet[1].process.awaitLine(where: { $0.contains("token adopted") }) != nil, "\(fleet[1].process.output)")
    #expect(Date().timeIntervalSince(start) < 5)
    // With the API server gone, the adopted token is used.
    try kubernetes.act(#"{"do": "set", "failures": 1000000, "failure_status": 503}"#)
    #expect(try fleet[1].ask(server.url()).status == 200)
    #expect(try server.state().requests.count == 1)
  }

  @Test func `"tokens --clear" replaces a record that cannot be read, and keeps what was there`() throws {
    let (server, kubernetes) = (try TokenServer(#"{"expires_in": 3600}"#), try KubernetesAPI())
    let first = try fleet(1, server.configuration(top: kubernetes.section))[0]
    #expect(try first.ask(server.url()).status == 200)
    let key = try #require(try kubernetes.state.records.keys.first)
    first.stop()
    try kubernetes.act("{\"do\": \"put\", \"name\": \"tokens\", \"data\": {\"\(key)\": \"hello\"}}")
    let next = try fleet(1, server.configuration(top: kubernetes.section))[0]
    defer { next.stop() }
    expect(try next.ask(server.url()), 502, next)
    let cleared = try ChildProcess.run(
      Surroundings.program, ["tokens", "--config", next.configurationPath, "--clear", "api"])
    #expect(cleared.status == .exited(0) && cleared.errors.contains("kept as \(key).unreadable-"), "\(cleared.errors)")
    #expect(try eventually { try next.ask(server.url()).status == 200 }, "\(next.tail)")
    #expect(try kubernetes.state.records.contains { $0.key.hasPrefix("\(key).unreadable-") && $0.value == "hello" })
    #expect(try server.state().requests.count == 2)
  }

  @Test func `writers of other records in the same object are no conflict`() throws {
    let kubernetes = try KubernetesAPI()
    let servers = try (0..<3).map { _ in try TokenServer() }
    // Credentials of three, each with a record of its own.
    let fleets = try servers.map { try fleet(1, $0.configuration(top: kubernetes.section))[0] }
    defer { for proxy in fleets { proxy.stop() } }
    try kubernetes.act(#"{"do": "set", "rivals": 6}"#)
    let clients = try fleets.map { try $0.connect() }
    for (client, server) in zip(clients, servers) { try client.send(ProxyProcess.request("GET", server.url())) }
    for client in clients { #expect(try client.readAnswer().status == 200) }
    for server in servers { #expect(try server.state().requests.count == 1) }
    let state = try kubernetes.state
    #expect(state.count("patch 409") >= 6)
    #expect(state.records.keys.count { $0.hasPrefix("api.") } == 3)
  }

  @Test func `the pod's token is read again when it was replaced`() throws {
    let (server, kubernetes) = (
      try TokenServer(#"{"rotate": true, "refresh_token": "first-5ecret-refresh"}"#), try KubernetesAPI()
    )
    let configuration = try server.configuration(
      "grant: refresh_token", "refresh_token: first-5ecret-refresh", top: kubernetes.section)
    let fleet = try fleet(1, configuration)
    defer { for proxy in fleet { proxy.stop() } }
    #expect(try fleet[0].ask(server.url()).status == 200)
    try ProxyProcess.write("another-t0ken", to: kubernetes.folder + "/token")
    try kubernetes.act(#"{"do": "token", "token": "another-t0ken"}"#)
    try server.set(#"{"revoke": true}"#)
    #expect(try fleet[0].ask(server.url()).status == 200)
    #expect(try kubernetes.state.count("patch 401") + kubernetes.state.count("get 401") == 1)
    #expect(try server.state().reuse == nil)
  }

  @Test func `without the right to write nothing is spent, and the answer names it`() throws {
    let (server, kubernetes) = (
      try TokenServer(#"{"rotate": true, "refresh_token": "first-5ecret-refresh"}"#), try KubernetesAPI()
    )
    try kubernetes.act(#"{"do": "set", "verbs": ["get", "watch"]}"#)
    let configuration = try server.configuration(
      "grant: refresh_token", "refresh_token: first-5ecret-refresh", top: kubernetes.section)
    let fleet = try fleet(1, configuration)
    defer { for proxy in fleet { proxy.stop() } }
    let answer = try fleet[0].ask(server.url())
    #expect(answer.status == 503, "\(answer.text)")
    #expect(answer.proxyDetails?.contains("may not patch the Secret") == true, "\(answer.proxyDetails ?? "")")
    #expect(try server.state().requests.isEmpty)
    try kubernetes.act(#"{"do": "set", "verbs": ["get", "watch", "patch"]}"#)
    #expect(try eventually(seconds: 30) { try fleet[0].ask(server.url()).status == 200 })
  }
}
