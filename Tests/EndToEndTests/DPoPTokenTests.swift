import Foundation
import Testing

/// Tokens that are bound to a key: their requests, their store, and logins that bring them.
@Suite struct DPoPTokenTests {
  @Test func `a token server that asks for its nonce gets each request once more at most`() throws {
    for (mode, whys) in [("fixed", ["use_dpop_nonce", ""]), ("always", ["use_dpop_nonce", "use_dpop_nonce"])] {
      let server = try DPoPServer("{\"as_nonce\": \"\(mode)\"}")
      try withProxy(server.configuration()) { proxy throws in
        let answer = try proxy.ask(server.url())
        #expect(answer.status == (mode == "fixed" ? 200 : 503))
        #expect(try server.state().tokens.map(\.why) == whys)
      }
    }
  }

  @Test(arguments: ["Bearer", "bearer", "N_A"])
  func `a token of another type is refused as a downgrade, and never sent`(type: String) throws {
    let server = try DPoPServer("{\"token_type\": \"\(type)\"}")
    try withProxy(server.configuration()) { proxy throws in
      let answer = try proxy.ask(server.url())
      expectOwnAnswer(answer, 503, "proxy_internal_response")
      #expect(answer.text.contains("its token_type is '\(type)', not DPoP") || answer.head.contains("not DPoP"))
      #expect(try server.state().uses.isEmpty)
    }
  }

  @Test func `a login generates the key, and refreshes, restarts and other processes go on with it`() throws {
    let server = try DPoPServer(#"{"nonce": "each", "as_nonce": "each", "expires_in": 3600}"#)
    let text = server.configuration(
      "grant: authorization_code, dpop: true", top: "token_store: {file: \(server.folder)/tokens.json}")
    try ProxyProcess.write("listen: 127.0.0.1:0\n" + text, to: server.path)
    let login = try server.logIn()
    #expect(login.ending == .exited(0), "\(login.errors)")
    // A fresh client knows no nonce: PAR is asked for again, and the code then has the nonce.
    #expect(try server.state().tokens.map(\.why) == ["use_dpop_nonce", "", ""])
    for round in 0..<2 {
      try withProxy(text) { proxy throws in
        #expect(try proxy.ask(server.url()).status == 200)
        try server.set(#"{"revoke": true}"#)
        #expect(try proxy.ask("POST", server.url(), body: "x").status == 200, "round \(round)")
      }
    }
    let state = try server.state()
    #expect(state.jkts.count == 3 && Set(state.jkts).count == 1, "one login and two refreshes, all bound to one key")
    #expect(Set(state.uses.map(\.jkt)) == Set(state.jkts))
    let stored = try String(contentsOfFile: server.folder + "/tokens.json", encoding: .utf8)
    #expect(stored.contains("\"dpop_key\""))
    #expect(!stored.contains("PRIVATE KEY"))
    // Another login is another key.
    #expect(try server.logIn().ending == .exited(0))
    #expect(Set(try server.state().jkts).count == 2)
  }

  @Test func `if dpop changes, the login no longer counts`() throws {
    let server = try DPoPServer()
    let store = "token_store: {file: \(server.folder)/tokens.json}"
    let text = server.configuration("grant: authorization_code, dpop: true", top: store)
    try ProxyProcess.write("listen: 127.0.0.1:0\n" + text, to: server.path)
    #expect(try server.logIn().ending == .exited(0))
    try withProxy(server.configuration("grant: authorization_code", top: store)) { proxy throws in
      let answer = try proxy.ask(server.url())
      expectOwnAnswer(answer, 502, "proxy_configuration_error")
      #expect(try server.state().uses.isEmpty, "never sent without a proof")
    }
    let listed = try ChildProcess.run(Surroundings.program, ["tokens", "--config", server.path])
    #expect(listed.output.contains("logged in"), "\(listed.output)")
    #expect(!listed.output.contains("PRIVATE"))
  }

  @Test func `a device login polls with proofs`() throws {
    let server = try DPoPServer(#"{"as_nonce": "fixed"}"#)
    let text = server.configuration(
      "grant: device_code, dpop: true", top: "token_store: {file: \(server.folder)/tokens.json}")
    try ProxyProcess.write("listen: 127.0.0.1:0\n" + text, to: server.path)
    let done = try ChildProcess.run(Surroundings.program, ["login", "--config", server.path])
    #expect(done.status == .exited(0), "\(done.errors)")
    #expect(try server.state().tokens.map(\.why) == ["use_dpop_nonce", ""])
    try withProxy(text) { proxy throws in #expect(try proxy.ask(server.url()).status == 200) }
  }

  @Test func `no output has a key, a token or a proof`() throws {
    let server = try DPoPServer(#"{"nonce": "each", "as_nonce": "each"}"#)
    let text = server.configuration(top: "log: {level: trace}")
    let proxy = try ProxyProcess(text)
    #expect(try proxy.ask(server.url()).status == 200)
    try server.set(#"{"revoke": true}"#)
    #expect(try proxy.ask(server.url()).status == 200)
    try server.set(#"{"token_type": "Bearer", "revoke": true}"#)
    #expect(try proxy.ask(server.url()).status == 401)
    let pages = try ["status", "metrics", "readyz?credentials"].map { try proxy.admin($0).text }.joined()
    let uses = try server.state().uses
    proxy.stop()
    let said = proxy.process.output + proxy.process.errors + pages
    for word in ["5ecret", "PRIVATE KEY", "dpop+jwt", "eyJ0eXAiOiJkcG9wK2p3dCI"] + uses.compactMap(\.nonce) + uses.map(\.jti) {
      #expect(word.isEmpty || !said.contains(word), "\(word)")
    }
  }

  @Test func `reloads under load lose no request and keep the key`() throws {
    let server = try DPoPServer(#"{"nonce": "fixed"}"#)
    let text = server.configuration(top: "log: {access: false}")
    try withProxy(text) { proxy throws in
      #expect(try proxy.ask(server.url()).status == 200)
      let load = try LoadGenerator.start(proxy, server.url("load"), ["--clients", "8", "--requests", "3000"], seconds: 60)
      for round in 0..<3 { try proxy.reload(text + "# round \(round)\nname: authproxy\(round)\n") }
      let result = try LoadGenerator.result(load, seconds: 60)
      #expect(result.good == 3_000, "\(result)")
      let state = try server.state()
      #expect(Set(state.jkts).count == 1 && state.tokens.count == 1)
      #expect(state.uses.allSatisfy { $0.why == "" || $0.why == "use_dpop_nonce" })
      #expect(Set(state.uses.map(\.jti)).count == state.uses.count)
    }
  }
}
