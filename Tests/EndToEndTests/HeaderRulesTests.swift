import Foundation
import Testing

/// `request_headers` and `response_headers`: what they change, and what they never touch.
@Suite struct HeaderRulesTests {
  private static let clients = """
    listen: [{address: "127.0.0.1:0", clients: optional}]
    clients:
      - {name: billing, password: pw-5ecret}
      - {name: shop, password: pw-5ecret}
    anonymous: {allow: ["api.test"]}
    """

  private func login(_ name: String) -> String {
    "Proxy-Authorization: Basic " + Data("\(name):pw-5ecret".utf8).base64EncodedString()
  }

  @Test func `requests: remove, then set, then the credential, whatever the app sends`() throws {
    let rules = #"request_headers: {remove: ["X-Debug-*", Accept], set: {User-Agent: "billing/1", X-App: "app {client} {{1}"}}"#
    try withProxy(Configuration.https(rules, top: Self.clients)) { proxy throws in
      let sent = [
        "User_Agent: curl", "user-agent: curl", "x_debug_id: 1", "X-DEBUG-: 2", "X-Debug: 3", "Accept: */*", "X-App: forged",
        "x_app: forged", "Connection: X-App, User-Agent, authorization", "Authorization: Bearer mine",
      ]
      let received = try proxy.ask("http://api.test/echo", sent + [login("billing")]).received()
      #expect(received.all("User-Agent") == ["billing/1"] && received.all("User_Agent") == [])
      #expect(received.all("X-App") == ["app billing {1}"] && received.all("x_app") == [])
      #expect(received.all("X-Debug") == ["3"] && received.all("x_debug_id") == [] && received.all("X-DEBUG-") == [])
      #expect(received["Accept"] == nil)
      #expect(received.all("Authorization") == ["Bearer \(Configuration.token)"])
      // The same connection, another client, and one without a name.
      let client = try proxy.connect()
      for (fields, expected) in [([login("shop")], "app shop {1}"), ([], "app  {1}")] {
        try client.send(ProxyProcess.request("GET", "http://api.test/echo", fields))
        #expect(try client.readAnswer().received().all("X-App") == [expected])
      }
    }
  }

  @Test func `answers lose and get fields; the proxy's own answers do not`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(
      name,
      [
        .readBody, .send("HTTP/1.1 103 Early Hints\r\nServer: nginx\r\nLink: </a>\r\n\r\n"),
        .send("HTTP/1.1 200 OK\r\nserver: nginx\r\nX_Powered_By: php\r\nX-App: origin\r\nTransfer-Encoding: chunked\r\n\r\n"),
        .send("2\r\nhi\r\n0\r\nX-Powered-By: php\r\nX-App: trailer\r\nX-Sum: 1\r\n\r\n"),
      ])
    let rules = #"response_headers: {remove: [Server, "X-Powered-*"], set: {X-App: "for {client}"}}"#
    try withProxy(Configuration.https(rules, top: Self.clients)) { proxy throws in
      let answer = try proxy.ask("http://api.test/?id=\(name)", [login("billing"), "TE: trailers", "Connection: TE"])
      #expect(answer.text == "hi")
      #expect(answer["Server"] == nil && answer["X_Powered_By"] == nil)
      #expect(answer.all("X-App") == ["for billing"])
      #expect(answer.trailers.map(\.name) == ["X-Sum"])
      #expect(answer.interim.map(\.status) == [103])
      #expect(answer.interim.first?["Server"] == nil && answer.interim.first?["Link"] == "</a>")
      #expect(answer.interim.first?["X-App"] == nil)
      let own = try proxy.ask("http://other.test/", [login("billing")])
      #expect(own.status == 403 && own["X-App"] == nil)
      let trace = try proxy.ask("TRACE", "http://api.test/", [login("billing")])
      #expect(trace.status == 405 && trace["X-App"] == nil)
    }
  }

  @Test func `no trailer brings a field that a rule took out or set`() throws {
    let rules = #"request_headers: {remove: ["X-Debug-*"], set: {X-App: "{client}"}}"#
    try withProxy(Configuration.https(rules, top: Self.clients)) { proxy throws in
      let client = try proxy.connect()
      let trailers = "X_App: forged\r\nX-Debug-Id: 1\r\nX-Sum: 2\r\n"
      try client.send(
        "POST http://api.test/echo HTTP/1.1\r\nHost: api.test\r\n\(login("billing"))\r\nTransfer-Encoding: chunked\r\n\r\n"
          + "3\r\nabc\r\n0\r\n\(trailers)\r\n")
      let received = try client.readAnswer().received()
      #expect(received.all("X-App") == ["billing"] && received.body == "abc")
      #expect(received.trailers == [["X-Sum", "2"]])
    }
  }

  @Test func `a signature covers what the rules wrote`() throws {
    let server = try AWSServer()
    let rules = #"request_headers: {remove: [X-Amz-Meta-A], set: {X-Amz-Meta-B: "{client}", Content-Type: text/plain}}"#
    let configuration = server.configuration(
      "service: sqs, region: eu-central-1, \(AWSServer.keys)", entry: ", " + rules, top: Self.clients)
    try withProxy(configuration) { proxy throws in
      let answer = try proxy.ask(
        "POST", "http://api.test/",
        ["X-Amz-Meta-A: 1", "x_amz_meta_b: forged", "Content-Type: application/json", login("billing")], body: "{}")
      #expect(answer.status == 200, "\(answer.text)")
      let seen = try #require(try server.seen().first)
      #expect(seen.why == "" && seen.signed == "content-type;host;x-amz-date;x-amz-meta-b")
      #expect(seen.all("X-Amz-Meta-B") == ["billing"] && seen.all("Content-Type") == ["text/plain"])
    }
  }

  @Test func `a reload changes the rules for the next request of a connection`() throws {
    func configuration(_ rules: String...) throws -> String { try Configuration.https(rules.first ?? "decompress: false") }
    try withProxy(try configuration()) { proxy throws in
      let client = try proxy.connect()
      func ask() throws -> [String] {
        try client.send(ProxyProcess.request("GET", "http://api.test/echo", ["X-App: app"]))
        return try client.readAnswer().received().all("X-App")
      }
      #expect(try ask() == ["app"])
      try proxy.reload(try configuration("request_headers: {set: {X-App: one}}"))
      #expect(try ask() == ["one"])
      try proxy.reload(try configuration("request_headers: {remove: [X-App]}"))
      #expect(try ask() == [])
    }
  }
}
