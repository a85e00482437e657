import Foundation
import Testing

/// Several ways: their order, their health, and what is never evaded.
@Suite struct ParentOrderTests {
  private func configuration(_ first: String, _ second: String, via: String = "[one, two]") throws -> String {
    let origin = try Origin.shared().ports
    return """
      via: \(via)
      parents: {one: {url: "\(first)"}, two: {url: "\(second)"}}
      upstreams:
        - {match: api.test, origin: "https://localhost:\(origin.https)"}
        - {match: plain.test, origin: "http://localhost:\(origin.http)"}
      admin: 127.0.0.1:0
      timeouts: {connect: 3s}

      """
  }

  @Test(arguments: ["api.test", "plain.test"])
  func `the next way serves where the first is down, and it is not tried again at once`(_ host: String) throws {
    let (dead, parent) = (try TestListener(backlog: nil), try ParentServer())
    try withProxy(try configuration("http://127.0.0.1:\(dead.port)", parent.url("http"))) { proxy throws in
      for _ in 0..<3 { #expect(try proxy.ask("http://\(host)/echo").status == 200) }
      #expect(proxy.process.awaitLine { $0.contains("a parent proxy is down") && $0.contains("one") } != nil, "\(proxy.tail)")
      #expect(try proxy.metric(#"authproxy_parent_up{parent="one"}"#) == 0)
      #expect(try proxy.metric(#"authproxy_parent_up{parent="two"}"#) == 1)
      #expect(try proxy.metric(#"authproxy_parent_connections_total{parent="one",result="broken"}"#) == 1)
    }
  }

  @Test func `a silent first way leaves its share of the time to the second`() throws {
    let (hole, parent) = (try BlackHole(), try ParentServer())
    try withProxy(try configuration("http://127.0.0.1:\(hole.port)", parent.url("http"))) { proxy throws in
      #expect(try proxy.ask("http://api.test/echo").status == 200)
    }
  }

  @Test func `a parent that cannot reach the origin leaves the next one to be tried, unblamed`() throws {
    let (first, second) = (try ParentServer(), try ParentServer())
    try first.set(#"{"answer": "HTTP/1.1 503 Down\r\n\r\n"}"#)
    try withProxy(try configuration(first.url("http"), second.url("http"))) { proxy throws in
      #expect(try proxy.ask("http://api.test/echo").status == 200)
      #expect(try first.asked().count == 1)
      #expect(try proxy.metric(#"authproxy_parent_up{parent="one"}"#) == 1)
    }
  }

  @Test(arguments: ["HTTP/1.1 403 No\\r\\n\\r\\n", "HTTP/1.1 407 No\\r\\n\\r\\n"], ["[one, two]", "[one, direct]"])
  func `a refusal is final`(_ answer: String, _ via: String) throws {
    let (first, second) = (try ParentServer(), try ParentServer())
    try first.set(#"{"answer": "\#(answer)"}"#)
    try withProxy(try configuration(first.url("http"), second.url("http"), via: via)) { proxy throws in
      #expect(try proxy.ask("http://api.test/echo").status == 502)
      #expect(try second.asked().isEmpty)
    }
  }

  @Test func `all down: the answer says of the last, and never is the origin asked directly`() throws {
    let (one, two) = (try TestListener(backlog: nil), try TestListener(backlog: nil))
    try withProxy(try configuration("http://127.0.0.1:\(one.port)", "http://127.0.0.1:\(two.port)")) { proxy throws in
      for _ in 0..<2 {
        let answer = try proxy.ask("http://api.test/echo")
        #expect(answer.status == 502)
        #expect(answer["Proxy-Status"]?.contains(#"error=connection_refused; next-hop="two""#) == true, "\(answer.head)")
      }
    }
  }

  @Test func `a reload that changes the way retires its tunnels`() throws {
    let (first, second) = (try ParentServer(), try ParentServer())
    try withProxy(try configuration(first.url("http"), second.url("http"), via: "one")) { proxy throws in
      #expect(try proxy.ask("http://api.test/echo").status == 200)
      try proxy.reload(try configuration(first.url("http"), second.url("http"), via: "two"))
      #expect(try proxy.ask("http://api.test/echo").status == 200)
      #expect(try second.asked().count == 1)
      #expect(try eventually(seconds: 5) { try first.set("{}").open == 0 })
    }
  }
}
