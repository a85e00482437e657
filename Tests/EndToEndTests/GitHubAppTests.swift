import Foundation
import Testing

/// Installation tokens of a GitHub App. The server verifies the JWTs with another library.
@Suite struct GitHubAppTests {
  private struct World {
    let sources: KeySources
    let key: (privateKey: String, publicKey: String)

    init(_ settings: String = "{}") throws {
      sources = try KeySources(settings)
      key = try TokenKey.make("RS256")
      let text = try String(contentsOfFile: key.publicKey, encoding: .utf8)
      try sources.set("{\"github_key\": \(String(decoding: try JSONEncoder().encode(text), as: UTF8.self))}")
    }

    func configuration(_ more: String = "", top: String = "") -> String {
      sources.configuration(
        "github_app: {app_id: \"12345\", installation_id: \"678\", private_key: {file: \(key.privateKey)}, api: \"\(sources.base)\"\(more)}",
        top: top)
    }
  }

  @Test func `an installation token for some repositories, refreshed when the API refuses it`() throws {
    let world = try World()
    try withProxy(world.configuration(", repositories: [example], permissions: {contents: read}")) { proxy in
      #expect(try proxy.ask(world.sources.url()).status == 200)
      try world.sources.set(#"{"revoke": true}"#)
      #expect(try proxy.ask(world.sources.url()).status == 200)
      let state = try world.sources.state()
      #expect(state.asked.map(\.line) == Array(repeating: "POST /app/installations/678/access_tokens", count: 2))
      #expect(state.asked[0].body == #"{"repositories":["example"],"permissions":{"contents":"read"}}"#)
      #expect(state.asked[0]["User-Agent"] == "authproxy")
      #expect(state.uses.map(\.scheme) == ["Bearer", "Bearer", "Bearer"])
      let jwt = try SignedToken(String((state.asked[0]["Authorization"] ?? "").dropFirst("Bearer ".count)))
      #expect(jwt.time("exp") - jwt.time("iat") == 540)
      let expiry = try proxy.awaitExpiry(of: "api")
      #expect(abs(expiry - Date().timeIntervalSince1970 - 3600) < 30)
    }
  }

  @Test func `scheme basic is what git sends`() throws {
    let world = try World()
    try withProxy(world.configuration(", scheme: basic")) { proxy in
      #expect(try proxy.ask(world.sources.url()).status == 200)
      let state = try world.sources.state()
      #expect(state.uses[0].scheme == "Basic")
      #expect(state.uses[0].used.hasPrefix("ghs-"))
    }
  }

  @Test func `401, 404 and 422 need an operator: nobody is asked again`() throws {
    for status in [401, 404, 422] {
      let world = try World(#"{"faults": ["status:\#(status)"]}"#)
      try withProxy(world.configuration()) { proxy in
        for _ in 0..<3 {
          let answer = try proxy.ask(world.sources.url())
          expectOwnAnswer(answer, 502, "proxy_configuration_error")
          #expect(answer.text.contains("\(status)"))
        }
        #expect(try world.sources.state().asked.count == 1)
        #expect(try proxy.metric(#"authproxy_credential_needs_operator{credential="api"}"#) == 1)
      }
    }
  }

  @Test func `a refusal for good is asked about again by a reload on demand, though the configuration is the same`() throws {
    let world = try World(#"{"faults": ["status:404"]}"#)
    try withProxy(world.configuration()) { proxy in
      for _ in 0..<2 { #expect(try proxy.ask(world.sources.url()).status == 502) }
      #expect(try world.sources.state().asked.count == 1)
      try proxy.reload(world.configuration())
      #expect(try proxy.ask(world.sources.url()).status == 200)
      #expect(try world.sources.state().asked.count == 2)
    }
  }

  @Test func `a clock that is too wrong to be corrected is no refusal for good`() throws {
    let world = try World(#"{"offset": 3600}"#)
    try withProxy(world.configuration()) { proxy in
      let answer = try proxy.ask(world.sources.url())
      expectOwnAnswer(answer, 502, "proxy_configuration_error")
      #expect(answer.text.contains("clock"), "\(answer.text)")
      try world.sources.set(#"{"offset": 0}"#)
      #expect(try eventually { try proxy.ask(world.sources.url()).status == 200 })
    }
  }

  @Test func `a limit on requests obeys Retry-After; what is no token is 503 and is followed nowhere`() throws {
    let world = try World()
    for fault in ["retry:33", "retry:3600", "500", "garbage", "empty", "half", "redirect", "close"] {
      try world.sources.set(#"{"faults": ["\#(fault)"], "forget": true}"#)
      try withProxy(world.configuration()) { proxy in
        let answer = try proxy.ask(world.sources.url())
        expectOwnAnswer(answer, 503, "proxy_internal_response")
        if let seconds = fault.split(separator: ":").dropFirst().first {
          #expect(answer["Retry-After"] == String(seconds))
          _ = try proxy.ask(world.sources.url())
        }
        #expect(answer.text.contains("GitHub (127.0.0.1:"), "\(fault): \(answer.text)")
        #expect(try world.sources.state().asked.count == 1)
        #expect(try world.sources.state().uses.isEmpty)
      }
    }
  }

  @Test func `a clock that is ten minutes wrong is corrected by GitHub's, both ways`() throws {
    for offset in [600, -600] {
      let world = try World(#"{"offset": \#(offset)}"#)
      try withProxy(world.configuration()) { proxy in
        #expect(try proxy.ask(world.sources.url()).status == 200, "\(offset)")
        #expect(try world.sources.state().asked.count == 2)
        // Its end is by that clock, too.
        let expiry = try proxy.awaitExpiry(of: "api")
        #expect(abs(expiry - Date().timeIntervalSince1970 - 3600) < 30)
      }
    }
  }

  @Test func `a crowd causes one token request, at the start and at the end of a token`() throws {
    let world = try World(#"{"lifetime": 2, "delay": 0.2}"#)
    try withProxy(world.configuration(top: "threads: 4")) { proxy in
      let end = Date(timeIntervalSinceNow: 5)
      var statuses: [Int] = []
      while Date() < end { statuses += try world.sources.crowd(50, through: proxy) }
      #expect(Set(statuses) == [200])
      #expect(try world.sources.state().peak == 1)
    }
  }

  @Test func `check names app, installation and API, and contacts nobody`() throws {
    let world = try World()
    let folder = try Surroundings.newFolder()
    try ProxyProcess.write(
      try ProxyProcess.complete(world.configuration(", repositories: [example]")), to: folder + "/proxy.conf")
    for command in [["check"], ["explain", "GET", "http://api.test/x"]] {
      let done = try ChildProcess.run(
        Surroundings.program, [command[0], "--config", folder + "/proxy.conf"] + command.dropFirst())
      #expect(
        done.output.flowed.contains("github_app 12345, installation 678 at \(world.sources.base): example; all permissions"),
        "\(done.output)\(done.errors)")
      #expect(done.status == .exited(0))
    }
    #expect(try world.sources.state().asked.isEmpty)
  }
}
