import Foundation
import Testing

/// A server's nonce: learned from any answer, and worth one repeat, which is no refusal (RFC 9449 sections 8 and 9).
@Suite struct DPoPNonceTests {
  private static let secret = "grant: client_credentials, client_secret: shh-5ecret-client"

  @Test func `the first answer teaches it, and the app sees neither nonce nor challenge`() throws {
    let server = try DPoPServer(#"{"nonce": "fixed"}"#)
    try withProxy(server.configuration(top: "threads: 1")) { proxy throws in
      for _ in 0..<3 {
        let answer = try proxy.ask(server.url())
        #expect(answer.status == 200)
        #expect(answer["DPoP-Nonce"] == nil)
        #expect(answer.proxyDetails == nil)
      }
      let state = try server.state()
      #expect(state.uses.map(\.status) == [401, 200, 200, 200])
      #expect(state.tokens.count == 1)
      let metrics = try proxy.admin("metrics").text
      #expect(metrics.contains("authproxy_dpop_nonce_retries_total{upstream=\"api.test\"} 1\n"))
      #expect(!metrics.contains("authproxy_unauthorized_retries_total{"))
      let logged = try eventually { proxy.process.lines.count { $0.contains("\"attempts\":") } == 3 }
      #expect(logged && proxy.process.lines.count { $0.contains("\"attempts\":2") } == 1)
    }
  }

  @Test func `a nonce that changes with every answer costs no repeat`() throws {
    let server = try DPoPServer(#"{"nonce": "each"}"#)
    try withProxy(server.configuration(top: "threads: 1")) { proxy throws in
      for index in 0..<20 { #expect(try proxy.ask(server.url("\(index)")).status == 200) }
      let uses = try server.state().uses
      #expect(uses.map(\.status) == [401] + Array(repeating: 200, count: 20))
      #expect(Set(uses.compactMap(\.nonce)).count == 20)
      #expect(Set(uses.map(\.jti)).count == 21)
    }
  }

  @Test func `a server that always asks again is asked twice; its challenge is relayed, and costs the token nothing`() throws {
    let server = try DPoPServer(#"{"nonce": "always"}"#)
    try withProxy(server.configuration(Self.secret + ", dpop: true, refresh_window: {interval: 1h, attempts: 1}")) {
      proxy throws in
      for count in 1...4 {
        let answer = try proxy.ask(server.url())
        #expect(answer.status == 401)
        #expect(answer["WWW-Authenticate"]?.contains("use_dpop_nonce") == true)
        #expect(answer["DPoP-Nonce"] == nil)
        #expect(answer.proxyError == nil)
        #expect(answer.proxyDetails == "not retried, the origin asks for yet another DPoP nonce, or names none")
        #expect(try server.state().uses.count == 2 * count)
      }
      #expect(try server.state().tokens.count == 1)
      // Nothing is remembered against the request, and refresh_window is unused.
      try server.set(#"{"nonce": "off", "revoke": true, "forget": true}"#)
      #expect(try proxy.ask(server.url()).status == 200)
      #expect(try server.state().uses.map(\.why) == ["invalid_token", ""])
      #expect(try server.state().tokens.count == 1)
    }
  }

  @Test func `bodies are sent again: small ones from memory, large ones after a question`() throws {
    let server = try DPoPServer()
    try withProxy(server.configuration(top: "threads: 1")) { proxy throws in
      #expect(try proxy.ask(server.url()).status == 200)
      for size in [1, 60_000, 300_000] {
        try server.set(#"{"nonce": "each", "forget": true, "spoil": true}"#)
        let body = String(repeating: "b", count: size)
        let answer = try proxy.ask("POST", server.url("upload"), body: body)
        #expect(answer.status == 200, "\(size): \(answer.head)")
        let uses = try server.state().uses
        #expect(uses.map(\.why) == ["use_dpop_nonce", ""], "\(size)")
        #expect(uses.last?.length == size)
        try server.set(#"{"nonce": "off"}"#)
        #expect(try proxy.ask(server.url()).status == 200)
      }
    }
  }

  @Test func `a token that is refused later is refreshed, with a nonce in between`() throws {
    let server = try DPoPServer(#"{"nonce": "fixed", "as_nonce": "each"}"#)
    try withProxy(server.configuration()) { proxy throws in
      #expect(try proxy.ask(server.url()).status == 200)
      try server.set(#"{"revoke": true, "forget": true}"#)
      #expect(try proxy.ask("POST", server.url(), body: "again").status == 200)
      let state = try server.state()
      #expect(state.uses.map(\.why) == ["invalid_token", ""])
      #expect(state.uses.map(\.length) == [5, 5])
      // The token server's nonce of the first exchange was still good.
      #expect(state.tokens.map(\.why) == [""])
      try server.set(#"{"revoke": true, "forget": true, "nonce": "each"}"#)
      #expect(try proxy.ask(server.url()).status == 200)
      #expect(try server.state().uses.last?.why == "")
    }
  }

  @Test func `a large chunked body can answer a challenge after a refresh`() throws {
    let server = try DPoPServer()
    try withProxy(server.configuration(top: "threads: 1")) { proxy throws in
      #expect(try proxy.ask(server.url()).status == 200)
      // The token is refused first, then the proof for the new token.
      try server.set(#"{"revoke": true, "forget": true, "nonce_after": true}"#)
      let client = try proxy.connect()
      try client.send("POST \(server.url()) HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\n\r\n")
      let piece = String(repeating: "b", count: 50_000)
      for _ in 0..<6 { try client.send("c350\r\n\(piece)\r\n") }
      try client.send("0\r\n\r\n")
      let answer = try client.readAnswer()
      #expect(answer.status == 200, "\(answer.head)")
      let uses = try server.state().uses
      #expect(uses.map(\.why) == ["invalid_token", "use_dpop_nonce", ""])
      #expect(uses.last?.length == 300_000)
    }
  }

  @Test func `retry for 401 does not repeat a challenge that cannot be answered`() throws {
    let server = try DPoPServer(#"{"nonce": "always"}"#)
    try withProxy(server.configuration(entry: ", retry: {attempts: 2, backoff: 10ms, statuses: [401]}")) { proxy throws in
      let answer = try proxy.ask(server.url())
      #expect(answer.status == 401)
      #expect(answer.proxyDetails == "not retried, the origin asks for yet another DPoP nonce, or names none")
      #expect(try server.state().uses.count == 2)
    }
  }

  @Test(arguments: [
    [String(repeating: "n", count: 3_000)], ["a b"], ["a\\\"b"], ["a\\tb"], ["\\u00e4"], [""], ["one", "two"], [],
  ])
  func `a nonce that is none is not kept, and the challenge is relayed`(values: [String]) throws {
    let lines = values.map { "\"\($0)\"" }.joined(separator: ", ")
    let server = try DPoPServer("{\"nonce\": \"fixed\", \"raw_nonce\": [\(lines)]}")
    try withProxy(server.configuration()) { proxy throws in
      let answer = try proxy.ask(server.url())
      #expect(answer.status == 401)
      #expect(answer.all("DPoP-Nonce") == [])
      #expect(try server.state().uses.map(\.nonce) == [nil])
      try server.set(#"{"raw_nonce": null}"#)
      #expect(try proxy.ask(server.url()).status == 200)
    }
  }

  @Test func `a control character in a nonce breaks the answer, not the proxy`() throws {
    let server = try DPoPServer(#"{"nonce": "fixed", "raw_nonce": ["a\u0001b"]}"#)
    try withProxy(server.configuration()) { proxy throws in
      expectOwnAnswer(try proxy.ask(server.url()), 502, "http_protocol_error")
      try server.set(#"{"raw_nonce": null}"#)
      #expect(try proxy.ask(server.url()).status == 200)
    }
  }

  @Test func `each origin has its own nonce`() throws {
    let first = try DPoPServer(#"{"nonce": "fixed"}"#)
    let second = try DPoPServer(#"{"nonce": "fixed"}"#)
    let text = first.configuration(top: "threads: 1").replacingOccurrences(
      of: "credentials:", with: "  - {match: other.test, origin: \"\(second.base)\", credential: api}\ncredentials:")
    try withProxy(text) { proxy throws in
      #expect(try proxy.ask(first.url()).status == 200)
      // The other server does not know the token.
      #expect(try proxy.ask("http://other.test/api/x").status == 401)
      let foreign = try second.state().uses
      #expect(foreign.first?.nonce == nil)
      #expect(foreign.first?.why == "use_dpop_nonce")
      try first.set(#"{"forget": true}"#)
      #expect(try proxy.ask(first.url()).status == 200)
      #expect(try first.state().uses.map(\.status) == [200])
    }
  }
}
