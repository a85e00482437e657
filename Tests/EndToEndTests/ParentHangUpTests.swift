import Foundation
import Testing

/// A parent that closes the connections of requests in absolute-form instead of answering.
@Suite struct ParentHangUpTests {
  private func configuration(_ first: ParentServer, _ second: ParentServer) throws -> String {
    let port = try Origin.shared().ports.http
    return """
      via: [one, two]
      parents: {one: {url: "\(first.url("http"))"}, two: {url: "\(second.url("http"))"}}
      upstreams:
        - {match: good.test, origin: "http://good.far.test:\(port)"}
        - {match: evil.test, origin: "http://evil.far.test:\(port)"}
        - {match: other.test, origin: "http://other.far.test:\(port)"}
      admin: 127.0.0.1:0
      threads: 1

      """
  }

  private func isUp(_ parent: String, _ proxy: ProxyProcess) throws -> Bool {
    try proxy.metric(#"authproxy_parent_up{parent="\#(parent)"}"#) == 1
  }

  private func ask(_ host: String, _ proxy: ProxyProcess) throws -> Int { try proxy.ask("http://\(host).test/echo").status }

  /// Over a connection of the pool, and over a new one.
  @Test(arguments: [("good", #"{"drops": ""}"#), ("other", #"{"drops": ""}"#), ("other", #"{"closes": true}"#)])
  func `the next request takes the next way, though it worked a moment ago`(_ host: String, _ fault: String) throws {
    let (first, second) = (try ParentServer(), try ParentServer())
    try withProxy(try configuration(first, second)) { proxy throws in
      #expect(try ask("good", proxy) == 200)
      try first.set(fault)
      let lost = try proxy.ask("http://\(host).test/echo")
      #expect(lost.status == 502 && lost["Proxy-Status"]?.contains(#"next-hop="one""#) == true, "\(lost.head)")
      for _ in 0..<3 { #expect(try ask(host, proxy) == 200) }
      #expect(try second.asked().count == 3)
    }
  }

  @Test func `one origin for which it does so takes it from nobody else`() throws {
    let (first, second) = (try ParentServer(), try ParentServer())
    try first.set(#"{"drops": "evil"}"#)
    try withProxy(try configuration(first, second)) { proxy throws in
      #expect(try ask("good", proxy) == 200)
      #expect(try ask("evil", proxy) == 502)
      for _ in 0..<3 {
        #expect(try ask("evil", proxy) == 200)
        #expect(try ask("good", proxy) == 200)
      }
      #expect(try isUp("one", proxy))
      #expect(try second.asked().allSatisfy { $0.target.contains("evil") })
    }
  }

  @Test func `two of them show that it is down, and the log says why`() throws {
    let (first, second) = (try ParentServer(), try ParentServer())
    try withProxy(try configuration(first, second)) { proxy throws in
      #expect(try ask("good", proxy) == 200)
      try first.set(#"{"drops": ""}"#)
      for host in ["evil", "other"] { #expect(try ask(host, proxy) == 502) }
      let line = proxy.process.awaitLine { $0.contains("a parent proxy is down") && $0.contains("one") }
      #expect(line?.contains("closed the connection") == true, "\(proxy.tail)")
      #expect(try !isUp("one", proxy))
      for host in ["good", "evil", "other"] { #expect(try ask(host, proxy) == 200) }
    }
  }
}
