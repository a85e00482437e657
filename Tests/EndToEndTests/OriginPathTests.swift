import Foundation
import Testing

/// `origin` with a path, and `strip_prefix`: the match and the origin exchange the beginnings of paths.
@Suite struct OriginPathTests {
  private func configuration() throws -> String {
    let origin = "https://localhost:\(try Origin.shared().ports.https)"
    return """
      upstreams:
        - {match: api.test/v1, origin: "\(origin)/api/v2", credential: one}
        - {match: open.test, origin: "\(origin)/api/v2/"}
        - {match: bare.test/v1, origin: "\(origin)", strip_prefix: true}
        - {match: as-sent.test/v1, origin: "\(origin)/"}
      credentials:
        one: {bearer: {token: one-5ecret}}
      """
  }

  @Test func `paths get the origin's beginning once, on whole segments, and the rest byte for byte`() throws {
    let origin = try Origin.shared()
    try withProxy(try configuration()) { proxy in
      each([
        ("api.test/v1", "/api/v2"), ("api.test/v1/", "/api/v2/"), ("api.test/v1/v1/x", "/api/v2/v1/x"),
        ("api.test/v1/a%20b+c%2C;d=%E2%82%AC/api/v2", "/api/v2/a%20b+c%2C;d=%E2%82%AC/api/v2"), ("open.test", "/api/v2/"),
        ("open.test/", "/api/v2/"), ("open.test/v1", "/api/v2/v1"), ("bare.test/v1", "/"), ("bare.test/v1/x/v1", "/x/v1"),
        ("as-sent.test/v1/x", "/v1/x"),
      ]) { (url, expected) throws in
        let name = Origin.newName()
        #expect(try proxy.ask("http://\(url)?id=\(name)&v1=/v1").proxyError == nil, "\(url)")
        let received = try #require(try origin.exchanges(name).first)
        #expect(received.target == "\(expected)?id=\(name)&v1=/v1")
        #expect(received["Authorization"] == (url.hasPrefix("api.test") ? "Bearer one-5ecret" : nil))
      }
      each(["/v10", "/", "/x/v1"]) { path throws in #expect(try proxy.ask("http://api.test\(path)").status == 403) }
    }
  }

  @Test func `no spelling of a path leaves the origin's path`() throws {
    let origin = try Origin.shared()
    try withProxy(try configuration()) { proxy in
      each([
        "/..", "/../x", "/./x", "/%2e%2e/x", "/.%2e/x", "//x", "/x%2f..", "/x%5c..", "/..;a=b/x", "/%252e%252e/x",
        "/x/%252e%252e/%252e%252e/y",
      ]) { path throws in
        for url in ["http://open.test\(path)", "http://api.test/v1\(path)", "http://bare.test/v1\(path)"] {
          // The last one has no path to leave at its origin, but a prefix here.
          if url.hasPrefix("http://bare"), path.hasPrefix("/x/%25") { continue }
          let name = Origin.newName()
          let answer = try proxy.ask("\(url)?id=\(name)")
          #expect(answer.status == 400 && answer.proxyError == "http_request_error", "\(url): \(answer.head)")
          #expect(try origin.exchanges(name).isEmpty, "\(url)")
        }
      }
    }
  }

  @Test func `URLs of answers get the match's prefix back, in all their forms`() throws {
    let origin = try Origin.shared()
    let place = "https://localhost:\(origin.ports.https)"
    try withProxy(try configuration()) { proxy in
      func answer(_ url: String, _ location: String) throws -> Answer {
        let name = Origin.newName()
        let fields =
          "Location: \(location)\r\nContent-Location: \(location)\r\nLink: <\(location)>; rel=next, <https://else.test/api/v2>\r\n"
        try origin.script(name, [.readBody, .send("HTTP/1.1 302 Found\r\n\(fields)Content-Length: 0\r\n\r\n")])
        return try proxy.ask("\(url)?id=\(name)")
      }
      let api = [
        ("\(place)/api/v2/next?a#b", "http://api.test/v1/next?a#b"), ("\(place)/api/v2", "http://api.test/v1"),
        ("/api/v2/next", "/v1/next"), ("//localhost:\(origin.ports.https)/api/v2?x", "//api.test/v1?x"),
        ("/api/v2/api/v2/x", "/v1/api/v2/x"),
        ("\(place)/api/v20/x", "\(place)/api/v20/x"), ("/api/v20", "/api/v20"), ("/elsewhere", "/elsewhere"),
        ("next", "next"), ("//else.test/api/v2", "//else.test/api/v2"), ("\(place)/", "\(place)/"),
      ]
      let bare = [
        ("\(place)/x", "http://bare.test/v1/x"), ("/x", "/v1/x"), ("/", "/v1/"), ("x", "x"), ("//else.test/x", "//else.test/x"),
      ]
      let open = [("\(place)/api/v2", "http://open.test/"), ("/api/v2/x", "/x"), ("/api/v2?q", "/?q"), ("/x", "/x")]
      let asSent = [("\(place)/v1/x", "http://as-sent.test/v1/x"), ("/v1/x", "/v1/x")]
      for (url, cases) in [
        ("http://api.test/v1/x", api), ("http://bare.test/v1/x", bare), ("http://open.test/x", open),
        ("http://as-sent.test/v1", asSent),
      ] {
        for (location, expected) in cases {
          let answer = try answer(url, location)
          #expect(answer["Location"] == expected && answer["Content-Location"] == expected, "\(url): \(location)")
          #expect(answer["Link"] == "<\(expected)>; rel=next, <https://else.test/api/v2>", "\(url): \(location)")
        }
      }
    }
  }

  @Test func `a signature is of the path that is sent, and explain shows it`() throws {
    let server = try AWSServer()
    let configuration = server.configuration("service: execute-api, region: eu-central-1, \(AWSServer.keys)")
      .replacingOccurrences(
        of: "match: api.test, origin: \"http://127.0.0.1:\(server.clear)\"",
        with: "match: api.test/v1, origin: \"http://127.0.0.1:\(server.clear)/stage/a%20b\"")
    try withProxy(configuration) { proxy throws in
      let answer = try proxy.ask("http://api.test/v1/x?b=1&a=2")
      #expect(answer.status == 200, "\(answer.text)")
      #expect(try server.seen().map(\.target) == ["/stage/a%20b/x?b=1&a=2"])
      let told = try ChildProcess.run(
        Surroundings.program, ["explain", "--config", proxy.configurationPath, "--sign", "GET", "http://api.test/v1/x?b=1&a=2"])
      #expect(told.output.contains("goes to     http://127.0.0.1:\(server.clear)"))
      #expect(told.output.contains("asks for /stage/a%20b/x?b=1&a=2"))
      // AWS wants the path encoded once more.
      #expect(told.output.contains("  GET\n  /stage/a%2520b/x\n"), "\(told.output)")
    }
  }

  @Test func `a reload changes the path for the next request of a connection`() throws {
    let origin = try Origin.shared()
    func configuration(_ path: String) -> String {
      "upstreams: [{match: api.test/v1, origin: \"https://localhost:\(origin.ports.https)\(path)}]\n"
    }
    try withProxy(configuration("/one\"")) { proxy throws in
      let client = try proxy.connect()
      func ask() throws -> String {
        let name = Origin.newName()
        try client.send(ProxyProcess.request("GET", "http://api.test/v1/x?id=\(name)"))
        _ = try client.readAnswer()
        return try #require(try origin.exchanges(name).first).target.replacingOccurrences(of: "?id=\(name)", with: "")
      }
      #expect(try ask() == "/one/x")
      try proxy.reload(configuration("/two\""))
      #expect(try ask() == "/two/x")
      try proxy.reload(configuration("\", strip_prefix: true"))
      #expect(try ask() == "/x")
    }
  }

  @Test func `no URL of an answer comes to name another host, or goes past the rules`() throws {
    let origin = try Origin.shared()
    let place = "https://localhost:\(origin.ports.https)"
    let kept = "\n  - {match: kept.test/v1, origin: \"\(place)\", strip_prefix: true, host_header: app}"
    let text = try configuration().replacingOccurrences(of: "\ncredentials:", with: kept + "\ncredentials:")
    try withProxy(text) { proxy in
      each([
        ("open.test", "/api/v2//evil.test/x", "http://open.test//evil.test/x"),
        ("open.test", "/api/v2/\\evil.test", "http://open.test/\\evil.test"),
        ("open.test", "HTTPS://LOCALHOST.:\(origin.ports.https)/%61pi/v2/x", "http://open.test/x"),
        ("kept.test/v1", "http://kept.test/users", "http://kept.test/v1/users"),
        ("kept.test/v1", "https://KEPT.test/users", "http://kept.test/v1/users"),
        ("kept.test/v1", "https://kept.test:\(origin.ports.https)/users", "http://kept.test/v1/users"),
        ("kept.test/v1", "http://kept.test:81/users", "http://kept.test:81/users"),
      ]) { (url, given, expected) throws in
        let name = Origin.newName()
        let link = "Link: <\(given)>; rel=next; anchor=\"\(given)\"\r\n"
        try origin.script(
          name,
          [
            .readBody, .send("HTTP/1.1 103 Early Hints\r\n\(link)\r\n"),
            .send("HTTP/1.1 302 Found\r\nLocation: \(given)\r\n\(link)Transfer-Encoding: chunked\r\n\r\n"),
            .send("2\r\nok\r\n0\r\nContent-Location: \(given)\r\n\(link)X-Sum: 1\r\n\r\n"),
          ])
        let answer = try proxy.ask("GET", "http://\(url)?id=\(name)", ["TE: trailers", "Connection: TE"])
        let links = "<\(expected)>; rel=next; anchor=\"\(expected)\""
        #expect(answer["Location"] == expected && answer["Link"] == links, "\(given): \(answer.head)")
        #expect(answer.interim.first?["Link"] == links)
        #expect(answer.trailers.map(\.name) == ["X-Sum"])
      }
    }
  }
}
