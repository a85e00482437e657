import Foundation
import Testing

/// Requests over HTTP/2 are written anew (RFC 9113 sections 8.2 and 8.3).
@Suite struct HTTP2RequestTests {
  @Test func `pseudo fields lead, there is no Host, and names are in lower case`() throws {
    let origin = try HTTP2Origin()
    try withProxy(origin.configuration()) { proxy throws in
      let told = try proxy.ask(
        "http://api.test/a/b?c=d%20e", ["X-Custom-Thing: Value", "User-Agent: me", "Accept: text/plain", "Cookie: a=b"]
      ).told()
      #expect(Array(told.names.prefix(4)) == [":method", ":scheme", ":authority", ":path"])
      #expect(told[":method"] == "GET" && told[":scheme"] == "https" && told[":path"] == "/a/b?c=d%20e")
      #expect(told[":authority"] == "localhost:\(origin.port)")
      #expect(told["host"] == nil)
      #expect(told["x-custom-thing"] == "Value" && told["user-agent"] == "me" && told["cookie"] == "a=b")
      #expect(told["via"] == "1.1 authproxy")
      #expect(told.names.allSatisfy { $0 == $0.lowercased() }, "\(told.names)")
    }
  }

  @Test func `host_header app is the authority`() throws {
    let origin = try HTTP2Origin()
    try withProxy(origin.configuration("host_header: app")) { proxy throws in
      let told = try proxy.ask("http://api.test/").told()
      #expect(told[":authority"] == "api.test" && told["host"] == nil)
    }
  }

  @Test func `fields of connections are dropped, and of TE only trailers passes`() throws {
    let origin = try HTTP2Origin()
    try withProxy(origin.configuration()) { proxy throws in
      let told = try proxy.ask(
        "http://api.test/",
        [
          "Connection: keep-alive, X-Mine", "X-Mine: 1", "Keep-Alive: timeout=5", "Proxy-Connection: keep-alive",
          "TE: gzip;q=0.5",
        ]
      ).told()
      let forbidden = ["connection", "x-mine", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade"]
      #expect(told.names.filter(forbidden.contains).isEmpty, "\(told.fields)")
      let other = try proxy.ask("http://api.test/", ["Connection: TE", "TE: trailers"]).told()
      #expect(other["te"] == nil || other["te"] == "trailers", "\(other.fields)")
      #expect(try origin.tell().connections.count == 1)
    }
  }

  @Test func `a body has its length, a chunked one none, and its trailers follow`() throws {
    let origin = try HTTP2Origin()
    try withProxy(origin.configuration()) { proxy throws in
      let plain = try proxy.ask("POST", "http://api.test/", body: "12345").told()
      #expect(plain["content-length"] == "5" && plain.body == "12345" && plain.trailers.isEmpty)
      let client = try proxy.connect()
      try client.send(
        ProxyProcess.request("POST", "http://api.test/?id=", ["Transfer-Encoding: chunked", "Trailer: X-Sum"])
          + "3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\nX-Sum: 7\r\n\r\n")
      let told = try client.readAnswer().told()
      #expect(told["content-length"] == nil && told["transfer-encoding"] == nil && told.body == "abcdefg")
      #expect(told.trailers.map(\.name) == ["x-sum"] && told.trailers.first?.value == "7")
    }
  }

  @Test func `chunks in pieces of any size arrive whole`() throws {
    let origin = try HTTP2Origin()
    try withProxy(origin.configuration()) { proxy throws in
      let message = Array("3\r\nabc\r\n10;x=y\r\n0123456789abcdef\r\n0\r\nX-Sum: 7\r\n\r\n".utf8)
      let head = ProxyProcess.request("POST", "http://api.test/", ["Transfer-Encoding: chunked"])
      for size in [1, 2, 3, 5, 7] {
        let client = try proxy.connect()
        try client.send(head)
        var rest = message[...]
        while !rest.isEmpty {
          try client.send(Array(rest.prefix(size)))
          rest = rest.dropFirst(size)
          usleep(500)
        }
        let told = try client.readAnswer().told()
        #expect(told.body == "abc0123456789abcdef" && told.trailers.count == 1, "pieces of \(size)")
      }
    }
  }

  @Test func `Expect 100-continue waits for the origin, or for its answer`() throws {
    let origin = try HTTP2Origin()
    try origin.script("yes", [.gate("asked"), .only100] + HTTP2Origin.Step.answer("done"))
    try origin.script("no", [.only([[":status", "417"]])])
    try withProxy(origin.configuration()) { proxy throws in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("POST", "http://api.test/?id=yes", ["Expect: 100-continue", "Content-Length: 4"]))
      try origin.await(.standing, of: "asked")
      #expect(client.staysSilent(for: 0.1))
      #expect(try origin.tell().of("yes").first?["expect"] == "100-continue")
      try origin.open("asked")
      #expect(try client.readHead().status == 100)
      try client.send("body")
      #expect(try client.readAnswer().text == "done")
      #expect(try origin.tell().of("yes").first?.body == "body")
      let other = try proxy.connect()
      try other.send(ProxyProcess.request("POST", "http://api.test/?id=no", ["Expect: 100-continue", "Content-Length: 4"]))
      #expect(try other.readAnswer().status == 417)
    }
  }

  @Test func `HEAD, 204 and 304 have no body`() throws {
    let origin = try HTTP2Origin()
    try origin.script("head", [.only([[":status", "200"], ["content-length", "500"]])])
    try origin.script("none", [.only([[":status", "204"]])])
    try origin.script("same", [.only([[":status", "304"], ["content-length", "500"]])])
    try withProxy(origin.configuration()) { proxy throws in
      let client = try proxy.connect()
      for _ in 0..<2 {
        try client.send(ProxyProcess.request("HEAD", "http://api.test/?id=head"))
        #expect(try client.readAnswer(to: "HEAD")["Content-Length"] == "500")
        try client.send(ProxyProcess.request("GET", "http://api.test/?id=none"))
        #expect(try client.readAnswer().status == 204)
        try client.send(ProxyProcess.request("GET", "http://api.test/?id=same"))
        #expect(try client.readAnswer().status == 304)
      }
    }
  }

  @Test func `an early answer ends the upload`() throws {
    let origin = try HTTP2Origin()
    try origin.script("reset", [.awaitBytes(1), .head([[":status", "413"]]), .last("too much"), .reset(0)])
    try origin.script("kept", [.awaitBytes(1), .head([[":status", "413"]]), .last("too much")])
    try withProxy(origin.configuration()) { proxy throws in
      for name in ["reset", "kept"] {
        let client = try proxy.connect()
        try client.send(ProxyProcess.request("POST", "http://api.test/?id=\(name)", ["Content-Length: 1000000"]) + "x")
        let answer = try client.readAnswer()
        #expect(answer.status == 413 && answer.text == "too much", "\(name): \(answer.head)")
      }
      try origin.await(.resets, of: "kept")
      #expect(try origin.tell().of("kept").first?.reset == 0)
      #expect(try proxy.ask("http://api.test/").status == 200)
      #expect(try origin.tell().connections.count == 1)
    }
  }

  @Test func `an app that leaves costs a frame, not the connection`() throws {
    let origin = try HTTP2Origin()
    try origin.script("slow", [.head([[":status", "200"]]), .data("a"), .zeros(300_000), .gate("never")])
    try withProxy(origin.configuration()) { proxy throws in
      for _ in 0..<3 {
        let client = try proxy.connect()
        try client.send(ProxyProcess.request("GET", "http://api.test/?id=slow"))
        #expect(try client.readHead().status == 200)
        client.close()
      }
      try origin.await(.resets, 3, of: "slow")
      let slow = try origin.tell().of("slow")
      #expect(slow.allSatisfy { $0.reset == 8 }, "\(slow)")
      #expect(try proxy.ask("http://api.test/").status == 200)
      #expect(try origin.tell().connections.count == 1)
    }
  }
}

extension HTTP2Origin.Step {
  /// An interim answer.
  static var only100: Self { .head([[":status", "100"]]) }
}
