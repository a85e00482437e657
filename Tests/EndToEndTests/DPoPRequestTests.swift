import Foundation
import Testing

/// Each request to the API proves that the proxy has the token's key (RFC 9449 section 7).
@Suite struct DPoPRequestTests {
  @Test func `every request has a proof of its own, for its method and its URL without the query`() throws {
    let server = try DPoPServer()
    try withProxy(server.configuration()) { proxy throws in
      for (method, path, body) in [
        ("GET", "a?b=c&d", nil), ("POST", "a", "body"), ("PUT", "%7Ea/b;c", "x"), ("DELETE", "", nil), ("BREW", "a\"b", nil),
        ("HEAD", "a", nil),
      ] as [(String, String, String?)] {
        let client = try proxy.connect()
        try client.send(ProxyProcess.request(method, server.url(path), body: body))
        #expect(try client.readAnswer(to: method).status == 200, "\(method) \(path)")
      }
      let state = try server.state()
      #expect(state.uses.map(\.why) == Array(repeating: "", count: 6))
      #expect(Set(state.uses.map(\.jti)).count == 6)
      #expect(state.tokens.count == 1 && state.tokens[0].why == "")
      #expect(Set(state.uses.map(\.jkt)) == Set(state.jkts))
    }
  }

  @Test func `the app's own proof and token are replaced; with reject the app gets 403`() throws {
    let server = try DPoPServer()
    try withProxy(server.configuration()) { proxy throws in
      let answer = try proxy.ask(
        server.url(), ["DPoP: mine", "dpop: mine too", "Authorization: DPoP mine", "Connection: dpop, authorization"])
      #expect(answer.status == 200)
      #expect(try server.state().uses.map(\.proofs) == [1])
    }
    try withProxy(server.configuration(entry: ", client_authorization: reject")) { proxy throws in
      #expect(try proxy.ask(server.url(), ["DPoP: mine"]).status == 403)
      #expect(try proxy.ask(server.url()).status == 200)
    }
  }

  @Test func `an app that keeps its own token sends its own proof`() throws {
    let server = try DPoPServer(#"{"nonce": "fixed"}"#)
    try withProxy(server.configuration(entry: ", client_authorization: keep")) { proxy throws in
      let answer = try proxy.ask(server.url(), ["Authorization: DPoP mine", "DPoP: mine"])
      #expect(answer.status == 401)
      #expect(answer.proxyDetails == nil)
      let uses = try server.state().uses
      #expect(uses.count == 1 && uses[0].proofs == 1 && uses[0].why == "unreadable")
      #expect(answer["DPoP-Nonce"] == nil || uses[0].nonce == nil)
    }
  }

  @Test func `with host_header app the proof names the host that is sent`() throws {
    let server = try DPoPServer()
    try withProxy(server.configuration(entry: ", host_header: app")) { proxy throws in
      #expect(try proxy.ask(server.url("a/b?c")).status == 200)
      #expect(try server.state().uses.map(\.why) == [""])
    }
  }

  @Test func `a key of the configuration is used, and the server knows it by its thumbprint`() throws {
    let server = try DPoPServer()
    let key = server.folder + "/dpop.pem"
    let made = try ChildProcess.run(
      "openssl", ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key])
    try #require(made.status == .exited(0), "\(made.errors)")
    let text = server.configuration(
      "grant: client_credentials, client_secret: shh-5ecret-client, dpop: {key: {file: \(key)}}")
    var known = ""
    for _ in 0..<2 {
      try withProxy(text) { proxy throws in
        #expect(try proxy.ask(server.url()).status == 200)
        let jkts = Set(try server.state().jkts)
        #expect(jkts.count == 1)
        known = jkts.first ?? ""
      }
    }
    let explained = try ChildProcess.run(
      Surroundings.program, ["explain", "--config", try write(text, server), "GET", server.url()])
    #expect(explained.output.contains(known), "\(explained.output)\(explained.errors)")
    #expect(explained.output.contains("sets Authorization and DPoP"))
  }

  private func write(_ text: String, _ server: DPoPServer) throws -> String {
    try ProxyProcess.write("listen: 127.0.0.1:0\n" + text, to: server.path)
    return server.path
  }

  @Test
  func `to an https origin the proof says https; trailers cannot bring another proof; interim answers pass without nonce`()
    throws
  {
    let server = try DPoPServer()
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(
      name,
      [.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nDPoP-Nonce: early-1\r\n\r\nHTTP/1.1 204 x\r\nDPoP-Nonce: n-2\r\n\r\n")])
    let text = server.configuration(top: "threads: 1").replacingOccurrences(
      of: server.base + "\", credential", with: "https://localhost:\(origin.ports.https)\", credential")
    try withProxy(text) { proxy throws in
      let client = try proxy.connect()
      try client.send("POST http://api.test/echo?q=1 HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\n\r\n")
      try client.send("5\r\nhello\r\n0\r\nDPoP: mine\r\nX-T: 1\r\n\r\n")
      let received = try client.readAnswer().received()
      #expect(received.body == "hello" && received.trailers == [["X-T", "1"]])
      #expect(received["Authorization"]?.hasPrefix("DPoP at-5ecret-") == true)
      #expect(received.all("DPoP").count == 1)
      let claims = try Self.claims(received["DPoP"])
      #expect(claims["htu"] as? String == "https://localhost:\(origin.ports.https)/echo")
      #expect(claims["htm"] as? String == "POST")
      #expect(claims["nonce"] == nil)

      try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
      let answer = try client.readAnswer()
      #expect(answer.status == 204 && answer["DPoP-Nonce"] == nil)
      #expect(answer.interim.map(\.status) == [103] && answer.interim[0]["DPoP-Nonce"] == nil)
      #expect(answer.interim[0]["Link"] == "</a>")
      try client.send(ProxyProcess.request("GET", "http://api.test/echo"))
      #expect(try Self.claims(client.readAnswer().received()["DPoP"])["nonce"] as? String == "n-2")
    }
  }

  private static func claims(_ proof: String?) throws -> [String: Any] {
    var text = (proof ?? "").split(separator: ".").dropFirst().first.map(String.init) ?? ""
    text = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
    while text.utf8.count % 4 != 0 { text += "=" }
    let object = try JSONSerialization.jsonObject(with: try #require(Data(base64Encoded: text)))
    return try #require(object as? [String: Any])
  }
}
