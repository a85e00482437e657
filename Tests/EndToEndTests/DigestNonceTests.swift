import Foundation
import Testing

/// The nonces of Digest: too old ones cost one repeat and no refusal, and no count is used twice.
@Suite struct DigestNonceTests {
  @Test func `a nonce that is too old costs one repeat, and is no refusal`() throws {
    let server = try DigestServer()
    try withProxy(server.configuration()) { proxy throws in
      #expect(try proxy.ask(server.url()).status == 200)
      try server.set(#"{"spoil": true, "forget": true}"#)
      let answer = try proxy.ask("POST", server.url(), body: "kept")
      #expect(answer.status == 200 && answer.proxyDetails == nil)
      let state = try server.state()
      #expect(state.whys == ["stale", "good"] && state.uses.map(\.length) == [4, 4])
      #expect(state.uses.map(\.nc) == ["00000001", "00000001"].enumerated().map { $0.offset == 0 ? "00000002" : $0.element })
      let metrics = try proxy.admin("metrics").text
      #expect(metrics.contains("authproxy_challenges_total{credential=\"camera\",result=\"answered\"} 2\n"))
      #expect(!metrics.contains("authproxy_unauthorized_retries_total{"))
    }
  }

  @Test(arguments: ["always", "same"])
  func `a server that says so for ever is asked once more; its next challenge is relayed`(mode: String) throws {
    let server = try DigestServer(#"{"stale": "\#(mode)"}"#)
    try withProxy(server.configuration()) { proxy throws in
      // A nonce that is named again is no other answer.
      let expected = mode == "always" ? [["none", "stale", "stale"], ["stale", "stale"]] : [["none", "stale"], ["stale"]]
      for whys in expected {
        let answer = try proxy.ask(server.url())
        #expect(answer.status == 401 && answer["WWW-Authenticate"]?.contains("stale=TRUE") == true)
        #expect(answer.proxyError == nil)
        #expect(answer.proxyDetails == "not retried, the upstream challenges the request again")
        let state = try server.news()
        #expect(state.whys == whys && state.faults == [])
      }
      // Nothing is remembered against the request.
      try server.set(#"{"stale": ""}"#)
      #expect(try proxy.ask(server.url()).status == 200)
      #expect(!(try proxy.admin("metrics").text).contains("authproxy_unauthorized_retries_total{"))
    }
  }

  @Test(arguments: ["SHA-256", "SHA-256-sess"])
  func `a next nonce in each answer costs no repeat`(algorithm: String) throws {
    let server = try DigestServer(#"{"next": true, "algorithms": ["\#(algorithm)"]}"#)
    try withProxy(server.configuration()) { proxy throws in
      for index in 0..<20 { #expect(try proxy.ask(server.url("\(index)")).status == 200) }
      let state = try server.state()
      #expect(state.whys == ["none"] + Array(repeating: "good", count: 20) && state.faults == [])
      #expect(Set(state.uses.compactMap(\.nonce)).count == 20 && Set(state.uses.compactMap(\.nc)) == ["00000001"])
    }
  }

  @Test func `a hundred requests at once meet no nonce, then an old one; all succeed, no count is used twice`() throws {
    let server = try DigestServer(#"{"delay": 0.05}"#)
    try withProxy(server.configuration(top: "threads: 2")) { proxy throws in
      func hundred() throws {
        let clients = try (0..<100).map { _ in try proxy.connect() }
        for (index, client) in clients.enumerated() {
          try client.send(ProxyProcess.request("POST", server.url("\(index)"), body: "body \(index)"))
        }
        for client in clients { #expect(try client.readAnswer().status == 200) }
      }
      try hundred()
      let first = try server.news()
      #expect(first.faults == [] && first.whys.count { $0 == "good" } == 100)
      for _ in 0..<2 {
        try server.set(#"{"spoil": true}"#)
        try hundred()
        let state = try server.news()
        #expect(state.faults == [] && state.whys.count { $0 == "good" } == 100)
        #expect(Set(state.whys) == ["good", "stale"])
      }
      #expect(!(try proxy.admin("metrics").text).contains("authproxy_unauthorized_retries_total{"))
    }
  }

  @Test func `a nonce that lasts for a few requests is replaced while many are on their way`() throws {
    let server = try DigestServer(#"{"uses": 7, "algorithms": ["SHA-512-256"]}"#)
    try withProxy(server.configuration(top: "threads: 2\nlog: {access: false}")) { proxy throws in
      let result = try LoadGenerator.load(proxy, server.url(), "--clients", "2", "--requests", "500")
      #expect(result.finished == 500)
      let state = try server.state()
      #expect(state.faults == [] && state.whys.count { $0 == "good" } == result.good && result.good > 450)
    }
  }

  @Test func `each origin has its own nonce`() throws {
    let server = try DigestServer()
    try withProxy(server.configuration()) { proxy throws in
      #expect(try proxy.ask(server.url()).status == 200)
      let other = try DigestServer()
      try proxy.reload(
        server.configuration().replacing(
          "upstreams:\n", with: "upstreams:\n  - {match: other.test, origin: \"\(other.base)\", credential: camera}\n"))
      #expect(try proxy.ask("http://other.test/api/x").status == 200)
      #expect(try other.state().whys == ["none", "good"])
      #expect(try other.state().faults == [] && server.state().faults == [])
    }
  }

  @Test func `bodies are sent again: small ones from memory, large ones after a question`() throws {
    let server = try DigestServer()
    try withProxy(server.configuration()) { proxy throws in
      func upload(_ size: Int) throws -> (Answer, DigestServer.State) {
        try server.set(#"{"forget": true}"#)
        let answer = try proxy.ask("POST", server.url("upload"), body: String(repeating: "b", count: size))
        return (answer, try server.state())
      }
      for size in [1, 60_000, 300_000] {
        // Another user is another credential, which has no nonce yet.
        try proxy.reload(server.configuration(username: "u\(size)"))
        try server.set(#"{"user": "u\#(size)"}"#)
        for why in ["none", "stale"] {
          let (answer, state) = try upload(size)
          #expect(answer.status == 200, "\(size): \(answer.head)")
          #expect(state.faults == [] && state.whys == [why, "good"] && state.uses.last?.length == size, "\(size)")
          try server.set(#"{"spoil": true}"#)
        }
      }
      // A server that judges only behind the body.
      try server.set(#"{"late": true}"#)
      let (answer, state) = try upload(300_000)
      #expect(answer.status == 401 && answer.proxyDetails == "not retried, the request body was not kept")
      #expect(state.whys == ["stale"])
      #expect(try upload(300_000).0.status == 200)
      #expect(try proxy.admin("metrics").text.contains("challenges_total{credential=\"camera\",result=\"body_gone\"} 1\n"))
    }
  }

  @Test(arguments: [
    "Digest", "Digest realm=\\\"r", "Digest realm=r, nonce=\\\"\\\"", "Digest nonce=n",
    "Digest realm=r, nonce=n, algorithm=SHA-1",
    "Digest realm=r, nonce=n, qop=token", "Digest realm=r, nonce=n, nonce=m", "Digest realm=r nonce=n",
    "Digest abc=, realm=r, nonce=n", "Basic realm=\\\"Digest realm=r, nonce=n\\\"", "NTLM", "Negotiate", "", ",,,", "=", "\\\"",
    "Digest realm=r, nonce=\\\"a\\\\",
  ])
  func `a challenge that is none is relayed, and costs one request`(value: String) throws {
    let server = try DigestServer(#"{"raw": ["\#(value)"]}"#)
    try withProxy(server.configuration()) { proxy throws in
      let answer = try proxy.ask(server.url())
      #expect(answer.status == 401 && answer.proxyError == nil)
      #expect(try server.news().whys == ["none"])
      try server.set(#"{"raw": null}"#)
      #expect(try proxy.ask(server.url()).status == 200)
    }
  }

  @Test func `challenges without measure are bounded`() throws {
    let server = try DigestServer()
    let many = (0..<1_000).map { "p\($0)=\($0)" }.joined(separator: ", ")
    let schemes = Array(repeating: "Digest realm=r, nonce=n, algorithm=X", count: 1_000).joined(separator: ", ")
    let long = String(repeating: "n", count: 60 << 10)
    for raw in ["Digest realm=r, nonce=n, \(many)", schemes, "Digest realm=r, nonce=\\\"\(long)\\\"", "Negotiate \(long)"] {
      try server.set(#"{"raw": ["\#(raw)"], "forget": true}"#)
      try withProxy(server.configuration(top: "limits: {response_head: 128KiB}")) { proxy throws in
        #expect(try proxy.ask(server.url()).status == 401)
        #expect(try server.state().whys == ["none"])
        try server.set(#"{"raw": null}"#)
        #expect(try proxy.ask(server.url()).status == 200)
      }
    }
    try server.set(#"{"raw": ["Digest realm=\"a\u0000b\", nonce=n"], "forget": true}"#)
    try withProxy(server.configuration()) { proxy throws in
      expectOwnAnswer(try proxy.ask(server.url()), 502, "http_protocol_error")
    }
  }
}
