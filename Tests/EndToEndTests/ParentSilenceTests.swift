import Foundation
import Testing

/// A parent that takes requests in absolute-form and never answers: a TCP connection alone does not show that it works.
@Suite struct ParentSilenceTests {
  private func configuration(_ first: ParentServer, _ second: ParentServer) throws -> String {
    let port = try Origin.shared().ports.http
    return """
      via: [one, two]
      parents: {one: {url: "\(first.url("http"))"}, two: {url: "\(second.url("http"))"}}
      upstreams: [{match: plain.test, origin: "http://localhost:\(port)"}]
      admin: 127.0.0.1:0
      threads: 1
      timeouts: {connect: 3s, response_head: 1s}

      """
  }

  private func isUp(_ parent: String, _ proxy: ProxyProcess) throws -> Bool {
    try proxy.metric(#"authproxy_parent_up{parent="\#(parent)"}"#) == 1
  }

  @Test(arguments: [(#"{"silent": ""}"#, 504), (#"{"closes": true}"#, 502)])
  func `it is down, and the next way serves`(_ fault: String, _ status: Int) throws {
    let (first, second) = (try ParentServer(), try ParentServer())
    try first.set(fault)
    try withProxy(try configuration(first, second)) { proxy throws in
      #expect(try proxy.ask("http://plain.test/echo").status == status)
      #expect(proxy.process.awaitLine { $0.contains("a parent proxy is down") && $0.contains("one") } != nil, "\(proxy.tail)")
      #expect(try !isUp("one", proxy))
      for _ in 0..<3 { #expect(try proxy.ask("http://plain.test/echo").status == 200) }
      #expect(try second.asked().count == 3)
    }
  }

  @Test func `the one connection that tries it again does not make it up by TCP alone`() throws {
    let (first, second) = (try ParentServer(), try ParentServer())
    try first.set(#"{"silent": ""}"#)
    try withProxy(try configuration(first, second)) { proxy throws in
      #expect(try proxy.ask("http://plain.test/echo").status == 504)
      _ = try first.news()
      // Its pause is 5 s, and a quarter at most.
      #expect(try eventually(seconds: 10) { try proxy.ask("http://plain.test/echo").status == 504 })
      #expect(try first.news().count == 1)
      #expect(try !isUp("one", proxy))
      #expect(!proxy.process.lines.contains { $0.contains("works again") }, "\(proxy.tail)")
      #expect(try proxy.ask("http://plain.test/echo").status == 200)
      // The next pause is longer.
      try first.set(#"{"silent": null}"#)
      #expect(try eventually(seconds: 15) { try proxy.ask("http://plain.test/echo").status == 200 && isUp("one", proxy) })
      #expect(try first.news().count >= 1)
    }
  }

  @Test(arguments: [#"SSH-2.0-x\r\n\r\n"#, #"HTTP/1.1 200 OK\r\nbroken head\r\n\r\n"#])
  func `that connection wants an answer which is HTTP`(_ garbage: String) throws {
    let (first, second) = (try ParentServer(), try ParentServer())
    try first.set(#"{"silent": ""}"#)
    try withProxy(try configuration(first, second)) { proxy throws in
      #expect(try proxy.ask("http://plain.test/echo").status == 504)
      try first.set(#"{"silent": null, "before": "\#(garbage)"}"#)
      #expect(try eventually(seconds: 10) { try proxy.ask("http://plain.test/echo").status == 502 })
      for _ in 0..<3 { #expect(try proxy.ask("http://plain.test/echo").status == 200) }
      #expect(try !isUp("one", proxy))
    }
  }

  @Test func `one that hangs has one request as long as that waits`() throws {
    let (first, second) = (try ParentServer(), try ParentServer())
    try first.set(#"{"silent": ""}"#)
    let text = try configuration(first, second)
      .replacing("{connect: 3s, response_head: 1s}", with: "{connect: 1s, response_head: 3s}")
    try withProxy(text) { proxy throws in
      #expect(try proxy.ask("http://plain.test/echo").status == 504)
      _ = try first.news()
      var (waiting, tried): ([RawConnection], Int) = ([], 0)
      #expect(
        try eventually(seconds: 20) {
          let client = try proxy.connect()
          try client.send(ProxyProcess.request("GET", "http://plain.test/echo"))
          waiting.append(client)
          tried += try first.news().count
          return tried > 0
        })
      let end = Date(timeIntervalSinceNow: 2)
      while Date() < end { #expect(try proxy.ask("http://plain.test/echo").status == 200) }
      #expect(try first.news().isEmpty && tried == 1)
    }
  }

  @Test func `an origin that does not answer is not its fault, as it served others a moment ago`() throws {
    let (first, second) = (try ParentServer(), try ParentServer())
    try first.set(#"{"silent": "/slow"}"#)
    try withProxy(try configuration(first, second)) { proxy throws in
      #expect(try proxy.ask("http://plain.test/echo").status == 200)
      for _ in 0..<2 { #expect(try proxy.ask("http://plain.test/slow").status == 504) }
      #expect(try isUp("one", proxy))
      #expect(try proxy.ask("http://plain.test/echo").status == 200)
      #expect(try second.asked().isEmpty)
    }
  }
}
