import Foundation
import Testing

/// The proxy writes a new request for the origin, from what it understood.
@Suite struct ForwardedRequestTests {
  @Test func `fields keep their order, number and spelling`() throws {
    try withProxy(try Configuration.https()) { proxy in
      let fields = [
        "X-Z: 1", "x-a:2", "X-A:  3  ", "Cookie: a=b", "Cookie: c=d", "X-Empty:", "X-High: \u{fc}\u{e4}", "accept: */*",
        "ACCEPT: x/y",
      ]
      let client = try proxy.connect()
      try client.send(
        latin1: "GET http://api.test/echo HTTP/1.1\r\nHost: api.test\r\n\(fields.joined(separator: "\r\n"))\r\n\r\n")
      let received = try client.readAnswer().received()
      let own = received.fields.filter { !["host", "via", "authorization"].contains($0[0].lowercased()) }
      #expect(
        own == [
          ["X-Z", "1"], ["x-a", "2"], ["X-A", "3"], ["Cookie", "a=b"], ["Cookie", "c=d"], ["X-Empty", ""],
          ["X-High", "\u{fc}\u{e4}"],
          ["accept", "*/*"], ["ACCEPT", "x/y"],
        ])
    }
  }

  @Test func `hop-by-hop fields, and those that Connection names, stay here`() throws {
    try withProxy(try Configuration.https()) { proxy in
      let received = try proxy.ask(
        "http://api.test/echo",
        [
          "Connection: keep-alive, X-Mine,x-yours", "X-Mine: 1", "X-Yours: 2", "Keep-Alive: timeout=5",
          "Proxy-Connection: keep-alive",
          "Proxy-Authorization: Basic c2VjcmV0", "Proxy-Authenticate: Basic", "TE: gzip, trailers", "Upgrade: h2c",
          "HTTP2-Settings: AAA",
          "X-Ours: 3",
        ]
      ).received()
      for gone in ["X-Mine", "X-Yours", "Keep-Alive", "Proxy-Connection", "Proxy-Authorization", "Upgrade"] {
        #expect(received[gone] == nil, "\(gone)")
      }
      #expect(received["TE"] == nil || received["TE"] == "trailers")
      #expect(received["X-Ours"] == "3")
      let connection = received["Connection"]?.lowercased() ?? ""
      #expect(["", "te", "keep-alive"].contains(connection))
    }
  }

  @Test func `TE: trailers is handed on`() throws {
    try withProxy(try Configuration.https()) { proxy in
      let received = try proxy.ask("http://api.test/echo", ["TE: trailers", "Connection: TE"]).received()
      #expect(received["TE"] == "trailers")
    }
  }

  @Test func `Connection cannot take away what the message needs`() throws {
    try withProxy(try Configuration.https()) { proxy in
      let received = try proxy.ask(
        "POST", "http://api.test/echo",
        [
          "Connection: host, content-length, authorization, via, transfer-encoding, cookie, close", "Cookie: a=b",
          "Content-Type: a/b",
        ],
        body: "hello"
      ).received()
      #expect(received.body == "hello")
      #expect(received.all("Host").count == 1)
      #expect(received.all("Via").count == 1)
      #expect(received["Authorization"] == "Bearer \(Configuration.token)")
      #expect(received["Content-Type"] == "a/b")
    }
  }

  @Test func `Via is added to what was there, in the proxy's name`() throws {
    try withProxy(try Configuration.https(top: "name: here")) { proxy in
      let first = try proxy.ask("http://api.test/echo")
      #expect(try first.received().all("Via") == ["1.1 here"])
      #expect(first.all("Via").joined(separator: ", ") == "1.1 here")
      let chained = try proxy.ask("http://api.test/echo", ["Via: 1.0 there, 1.1 elsewhere (x)"]).received()
      #expect(chained.all("Via").joined(separator: ", ") == "1.0 there, 1.1 elsewhere (x), 1.1 here")
    }
  }

  @Test func `a request that was here before is 508`() throws {
    try withProxy(try Configuration.https()) { proxy throws in
      each([["Via: 1.1 authproxy"], ["Via: 1.0 a, 1.1 authproxy (comment)"], ["Via: 1.1 a", "via: HTTP/1.1 authproxy"]]) {
        expectOwnAnswer(try proxy.ask("http://api.test/", $0), 508, "proxy_loop_detected")
      }
      #expect(try proxy.ask("http://api.test/", ["Via: 1.1 authproxy2, 1.1 my-authproxy, 1.1 x (1.1 authproxy)"]).status == 200)
    }
  }

  @Test func `a proxy that is its own upstream notices`() throws {
    let taken = try TestListener(backlog: 64)
    let configuration = """
      listen: {address: fd:3, clients: optional}
      upstreams:
        - match: loop.test
          origin: http://127.0.0.1:\(taken.port)
          host_header: app
      """
    // The request arrives in origin-form, which is refused before anything else. No request may go round more than once.
    let proxy = try ProxyProcess(configuration, descriptors: [3: taken.descriptor])
    defer { proxy.stop() }
    let client = try RawConnection(port: taken.port)
    try client.send(ProxyProcess.request("GET", "http://loop.test/"))
    #expect([400, 403, 508].contains(try client.readAnswer().status))
  }

  @Test func `a body is framed on any method`() throws {
    try withProxy(try Configuration.https()) { proxy in
      for method in ["GET", "DELETE", "OPTIONS", "PUT", "PATCH", "PROPFIND", "X-CUSTOM"] {
        for chunked in [false, true] {
          let client = try proxy.connect()
          let framed = chunked ? "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n" : "Content-Length: 5\r\n\r\nhello"
          let next = ProxyProcess.request("GET", "http://api.test/status/202")
          try client.send("\(method) http://api.test/echo HTTP/1.1\r\nHost: api.test\r\n\(framed)\(next)")
          let received = try client.readAnswer().received()
          #expect(received.method == method)
          #expect(received.body == "hello", "\(method) chunked: \(chunked)")
          #expect(try client.readAnswer().status == 202, "\(method) chunked: \(chunked)")
        }
      }
    }
  }

  @Test func `equal Content-Lengths are one`() throws {
    try withProxy(try Configuration.https()) { proxy in
      let client = try proxy.connect()
      try client.send(
        "POST http://api.test/echo HTTP/1.1\r\nHost: api.test\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc")
      let answer = try client.readAnswer()
      // RFC 9112 section 6.3 leaves the choice: refuse, or send one field.
      if answer.status == 200 {
        #expect(try answer.received().all("Content-Length") == ["3"])
      } else {
        #expect(answer.status == 400)
      }
    }
  }

  @Test func `no trailer stands beside the credential under its name`() throws {
    let configuration = try Configuration.https("credential: api")
    let credential = "    header: {name: X-Api-Key, value: ours-5ecret}\n"
    let head =
      "POST http://api.test/echo HTTP/1.1\r\nHost: api.test\r\nTE: trailers\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"
    let start = try #require(configuration.range(of: "    bearer:"))
    try withProxy(configuration[..<start.lowerBound] + credential) { proxy in
      for name in ["X-Api-Key", "x_api_key"] {
        let client = try proxy.connect()
        try client.send(head + "0\r\n\(name): theirs\r\nX-Sum: 42\r\n\r\n")
        let received = try client.readAnswer().received()
        #expect(received["X-Api-Key"] == "ours-5ecret")
        #expect(received.trailers == [["X-Sum", "42"]])
      }
    }
  }

  @Test func `request trailers arrive, without those that frame or authorize`() throws {
    try withProxy(try Configuration.https()) { proxy in
      let client = try proxy.connect()
      try client.send(
        "POST http://api.test/echo HTTP/1.1\r\nHost: api.test\r\nTE: trailers\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n"
          + "3\r\nabc\r\n0\r\nX-Sum: 42\r\nContent-Length: 9\r\nAuthorization: Bearer mine\r\nHost: evil.test\r\n\r\n")
      let received = try client.readAnswer().received()
      #expect(received.body == "abc")
      #expect(received.trailers == [["X-Sum", "42"]])
    }
  }

  @Test func `nothing that the origin received in all these tests was out of order`() throws {
    // The origin's notes: hop-by-hop fields, bare CR or LF, malformed messages, two Hosts.
    let origin = try Origin()
    try withProxy(try Configuration.https(origin: origin)) { proxy in
      let client = try proxy.connect()
      for fields in [
        ["Connection: close, X-A", "X-A: 1"], ["Proxy-Connection: keep-alive"], ["TE: deflate;q=0.5"],
        ["Keep-Alive: 300", "Connection: keep-alive"],
      ] {
        let fresh = try proxy.connect()
        try fresh.send(ProxyProcess.request("POST", "http://api.test/echo", fields, body: "x"))
        #expect(try fresh.readAnswer().status == 200)
      }
      try client.send(ProxyProcess.request("GET", "http://api.test/"))
      #expect(try client.readAnswer().status == 200)
      let violations = try origin.violations()
      #expect(violations.isEmpty, "\(violations)")
    }
  }
}
