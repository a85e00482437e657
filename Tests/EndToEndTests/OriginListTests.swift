import Foundation
import Testing

/// A list of origins: the next when one cannot be reached, and the first again when it works.
@Suite struct OriginListTests {
  /// `entry`: more keys of the entry. `top`: more lines of the file.
  static func configuration(_ urls: [String], entry: String = "", top: String = "") -> String {
    """
    admin: 127.0.0.1:0
    hosts: {a.example.test: [127.0.0.1], b.example.test: [127.0.0.1]}
    timeouts: {connect: 2s, response_head: 5s}
    upstreams:
      - match: api.test
        origin: [\(urls.map { "\"\($0)\"" }.joined(separator: ", "))]
        \(entry)
    \(top)

    """
  }

  private static func up(_ origin: String) -> String { #"authproxy_origin_up{upstream="api.test",origin="\#(origin)"}"# }

  @Test(arguments: ["http", "https"])
  func `the next serves while the first is down, which is preferred again when it works`(_ scheme: String) throws {
    let (first, second) = (try ListedOrigin(scheme), try ListedOrigin(scheme))
    let urls = [first.url("a.example.test"), second.url("b.example.test")]
    try withProxy(Self.configuration(urls)) { proxy throws in
      func ask() throws -> Answer.Listed { try #require(try proxy.ask("http://api.test/x?y").listed) }
      #expect(try ask().port == first.port)
      first.kill()
      for _ in 0..<3 {
        let received = try ask()
        #expect(received.port == second.port && received.target == "/x?y")
        #expect(received.fields["host"] == "b.example.test:\(second.port)")
      }
      #expect(
        proxy.process.awaitLine { $0.contains("an origin is down") && $0.contains(urls[0]) && $0.contains("api.test") } != nil,
        "\(proxy.tail)")
      #expect(try proxy.metric(Self.up(urls[0])) == 0 && proxy.metric(Self.up(urls[1])) == 1)
      let entries = try #require(try proxy.status()["upstreams"] as? [[String: Any]])
      let origins = try #require(entries.first { $0["name"] as? String == "api.test" }?["origins"] as? [[String: Any]])
      #expect(origins.map { $0["origin"] as? String } == urls && origins.map { $0["up"] as? Bool } == [false, true])
      let before = Date()
      try first.restart()
      #expect(try eventually(seconds: 9) { try ask().port == first.port })
      #expect(Date().timeIntervalSince(before) < 8)
      #expect(try ask().fields["host"] == "a.example.test:\(first.port)")
      #expect(proxy.process.awaitLine { $0.contains("an origin works again") && $0.contains(urls[0]) } != nil)
      #expect(try proxy.metric(Self.up(urls[0])) == 1)
    }
  }

  @Test func `any method goes to the next, with all of its body, and Upgrades go, too`() throws {
    let (dead, second) = (try TestListener(backlog: nil), try ListedOrigin())
    for method in ["GET", "POST", "DELETE", "PATCH"] {
      // A proxy of its own, which does not know yet that the first one is down.
      try withProxy(Self.configuration(["https://localhost:\(dead.port)", second.url()])) { proxy throws in
        let body = String(repeating: "b", count: method == "POST" ? 1_000_000 : 5)
        let received = try #require(try proxy.ask(method, "http://api.test/", body: body).listed)
        #expect(received.method == method && received.size == body.utf8.count)
      }
    }
    try withProxy(Self.configuration(["https://localhost:\(dead.port)", second.url()])) { proxy throws in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/", WebSocketTests.fields) + "early")
      #expect(try client.readAnswer().status == 101)
      #expect(try client.read(5) == Array("early".utf8))
    }
  }

  @Test(arguments: [ListedOrigin.Mode.close, .hang, .wrong])
  func `an origin that fails before a request was sent is down, and asked once for many requests`(
    _ mode: ListedOrigin.Mode
  ) throws {
    let (first, second) = (try ListedOrigin("https", mode), try ListedOrigin())
    try withProxy(Self.configuration([first.url(), second.url()], top: "threads: 2")) { proxy throws in
      let start = Date()
      for _ in 0..<20 { #expect(try proxy.ask("POST", "http://api.test/", body: "x").listed?.port == second.port) }
      // The first one has at most its share of the time, once.
      #expect(Date().timeIntervalSince(start) < 1.8)
      #expect(try first.taken() == 1)
      if mode == .wrong {
        #expect(try proxy.metric(Self.trustFailures) == 1)
        #expect(proxy.process.lines.contains { $0.contains("an origin is down") }, "\(proxy.tail)")
      }
    }
  }

  private static let trustFailures =
    #"authproxy_trust_failures_total{upstream="api.test",evaluator="default",reason="host_mismatch"}"#

  @Test func `a port that drops connection requests leaves half of the time to the next`() throws {
    let (hole, second) = (try BlackHole(), try ListedOrigin("http"))
    try withProxy(Self.configuration(["http://127.0.0.1:\(hole.port)", second.url()])) { proxy throws in
      let start = Date()
      #expect(try proxy.ask("http://api.test/").listed?.port == second.port)
      #expect(abs(Date().timeIntervalSince(start) - 1) < 0.5)
    }
  }

  @Test func `a request that was sent is not sent again elsewhere, but those after it go to the next`() throws {
    let (first, second) = (try ListedOrigin("http", .swallow), try ListedOrigin("http"))
    try withProxy(Self.configuration([first.url(), second.url()])) { proxy throws in
      let answer = try proxy.ask("POST", "http://api.test/", body: "x")
      #expect(answer.status == 502 && answer.proxyError == "http_protocol_error", "\(answer.head)")
      #expect(try second.taken() == 0)
      #expect(try proxy.ask("POST", "http://api.test/", body: "x").listed?.port == second.port)
    }
  }

  @Test func `an answer is an answer: 503 of the first goes to the app`() throws {
    let (first, second) = (try ListedOrigin("https", .busy), try ListedOrigin())
    try withProxy(Self.configuration([first.url(), second.url()])) { proxy throws in
      for _ in 0..<3 { #expect(try proxy.ask("http://api.test/").status == 503) }
      #expect(try second.taken() == 0)
    }
  }

  @Test func `all down: all are tried in order, and the answer tells of the last`() throws {
    let (refused, wrong) = (try TestListener(backlog: nil), try ListedOrigin("https", .wrong))
    try withProxy(Self.configuration(["https://localhost:\(refused.port)", wrong.url()])) { proxy throws in
      for round in 1...3 {
        let answer = try proxy.ask("http://api.test/")
        #expect(answer.status == 502 && answer.proxyError == "tls_certificate_error", "\(answer.head)")
        #expect(try wrong.taken() == round)
      }
    }
  }

  @Test func `a request in line at the first one's limit stays there`() throws {
    let origin = try Origin()
    let (name, second) = (Origin.newName(), try ListedOrigin())
    try origin.script(name, [.gate("on"), .send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")])
    let urls = ["https://localhost:\(origin.ports.https)", second.url()]
    try withProxy(Self.configuration(urls, top: "limits: {upstream_connections: 1}")) { proxy throws in
      let holder = try proxy.connect()
      try holder.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
      try origin.await(name, gate: "on")
      let answer = try proxy.ask("http://api.test/")
      #expect(answer.status == 503 && answer.proxyError == "connection_limit_reached", "\(answer.head)")
      #expect(try proxy.metric(Self.up(urls[0])) == 1)
      try origin.open("on", of: name, count: 1)
      #expect(try holder.readAnswer().status == 200)
      #expect(try second.taken() == 0)
    }
  }

  @Test func `URLs of any of them lead back to the match, and paths are the same at all`() throws {
    let (first, second) = (try ListedOrigin(), try ListedOrigin())
    let urls = [first.url("a.example.test"), second.url("b.example.test")]
    let text = Self.configuration(urls.map { $0 + "/base" })
    try withProxy(text) { proxy throws in
      for url in urls {
        let answer = try proxy.ask("http://api.test/v1", ["X-Location: \(url)/base/next"])
        #expect(answer["Location"] == "http://api.test/next")
        #expect(answer.listed?.target == "/base/v1")
      }
      let other = try proxy.ask("http://api.test/", ["X-Location: https://c.example.test:\(first.port)/base/next"])
      #expect(other["Location"] == "https://c.example.test:\(first.port)/base/next")
    }
  }

  @Test func `what is signed is signed for the origin that is asked`() throws {
    let (first, second) = (try ListedOrigin(), try ListedOrigin())
    let credential = """
      credentials:
        signed:
          hmac:
            key: 5ecret-hmac-key
            algorithm: sha256
            message: "{method}{authority}{target}"
            fields: {X-Sign: "{signature}"}
      """
    let alone = """
        - {match: alone.test, origin: "\(second.url("b.example.test"))", credential: signed}
      """
    let urls = [first.url("a.example.test"), second.url("b.example.test")]
    try withProxy(Self.configuration(urls, entry: "credential: signed\n\(alone)", top: credential)) { proxy throws in
      func signature(_ host: String) throws -> String? { try proxy.ask("http://\(host)/").listed?.fields["x-sign"] }
      let (ofFirst, ofSecond) = (try signature("api.test"), try signature("alone.test"))
      #expect(ofFirst != nil && ofSecond != nil && ofFirst != ofSecond)
      first.kill()
      #expect(try signature("api.test") == ofSecond)
    }
  }

  @Test func `a parent that is down is not the origin's fault, and its refusal is final`() throws {
    let (parent, first, second) = (try ParentServer(), try ListedOrigin(), try ListedOrigin())
    let urls = [first.url("a.example.test"), second.url("b.example.test")]
    let routes = """
      parents: {up: {url: "\(parent.url("http"))", resolve: here}}
      routes: [{match: a.example.test, via: up}]
      """
    try withProxy(Self.configuration(urls, top: routes)) { proxy throws in
      #expect(try proxy.ask("http://api.test/").listed?.port == first.port)
      #expect(try parent.asked().map(\.kind) == ["connect"])
    }
    try withProxy(Self.configuration(urls, top: routes)) { proxy throws in
      try parent.set(#"{"closes": true}"#)
      #expect(try proxy.ask("http://api.test/").listed?.port == second.port)
      #expect(try proxy.metric(Self.up(urls[0])) == 1)
      #expect(try proxy.metric(#"authproxy_parent_up{parent="up"}"#) == 0)
    }
    try parent.set(#"{"closes": false, "answer": "HTTP/1.1 403 No\r\n\r\n"}"#)
    try withProxy(Self.configuration(urls, top: routes)) { proxy throws in
      let answer = try proxy.ask("http://api.test/")
      #expect(answer.status == 502 && answer.proxyError == "http_request_denied", "\(answer.head)")
      #expect(try proxy.metric(Self.up(urls[0])) == 1)
    }
    try parent.set(#"{"answer": "HTTP/1.1 503 No\r\n\r\n"}"#)
    try withProxy(Self.configuration(urls, top: routes)) { proxy throws in
      #expect(try proxy.ask("http://api.test/").listed?.port == second.port)
      #expect(try proxy.metric(Self.up(urls[0])) == 0)
    }
  }

  @Test func `one entry's trust says nothing of another's`() throws {
    let (first, second) = (try ListedOrigin(), try ListedOrigin())
    let urls = [first.url(), second.url()]
    let pinned = """
        - {match: pinned.test, origin: ["\(urls[0])", "\(urls[1])"], trust: pinned}
      trust:
        default: [{default: {ca_file: \(try Surroundings.pki())/ca.pem, system_roots: false}}]
        pinned:
          - default: {ca_file: \(try Surroundings.pki())/ca.pem, system_roots: false}
          - pinned_public_keys: {pins: ["sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]}
      """
    try withProxy(Self.configuration(urls, entry: "name: api.test\n\(pinned)")) { proxy throws in
      #expect(try proxy.ask("http://pinned.test/").proxyError == "tls_certificate_error")
      #expect(try proxy.ask("http://api.test/").listed?.port == first.port)
      #expect(try proxy.metric(Self.up(urls[0])) == 1)
      #expect(try proxy.metric(#"authproxy_origin_up{upstream="pinned.test",origin="\#(urls[0])"}"#) == 0)
    }
  }

  @Test func `check and explain show the list`() throws {
    let urls = ["https://a.example.test:8443", "https://b.example.test"]
    let folder = try Surroundings.newFolder()
    try ProxyProcess.write(try ProxyProcess.complete(Self.configuration(urls)), to: folder + "/proxy.conf")
    let check = try ChildProcess.run(Surroundings.program, ["check", "--config", folder + "/proxy.conf"])
    // Long lines are broken.
    let words = check.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    #expect(words.contains("http://api.test -> \(urls[0]), else \(urls[1])"), "\(check.output)\(check.errors)")
    let explain = try ChildProcess.run(
      Surroundings.program, ["explain", "--config", folder + "/proxy.conf", "GET", "http://api.test/"])
    #expect(explain.output.contains("goes to") && explain.output.contains(urls[0]), "\(explain.output)\(explain.errors)")
    #expect(explain.output.contains("or, if not reached") && explain.output.contains(urls[1]), "\(explain.output)")
  }
}
