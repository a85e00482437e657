import Foundation
import Testing

/// Requests to http origins through an HTTP parent: in absolute-form (RFC 9112 section 3.2.2), or by CONNECT with `tunnel_http`.
@Suite struct ParentAbsoluteTests {
  @Test(arguments: ["http", "https"])
  func `each request carries the parent's credential, and its answer is relayed`(_ scheme: String) throws {
    let (parent, origin) = (try ParentServer(), try Origin.shared())
    try parent.set(#"{"login": "\#(ParentServer.login)"}"#)
    try withProxy(try ParentTunnelTests.configuration(parent, scheme: scheme)) { proxy throws in
      let client = try proxy.connect()
      for target in ["echo?q=1%2F2", "upload?x", "status/404"] {
        let body = target.hasPrefix("upload") ? "0123" : nil
        try client.send(ProxyProcess.request(body == nil ? "GET" : "POST", "http://plain.test/\(target)", [], body: body))
        let answer = try client.readAnswer()
        #expect(answer["X-Parent"] == "yes", "\(answer.head)")
        if target == "status/404" { #expect(answer.status == 404) }
        if target.hasPrefix("echo") {
          #expect(!answer.text.contains("pw-5ecret") && answer.text.contains("Bearer t-5ecret-api"))
        }
      }
      let asked = try parent.asked()
      #expect(asked.map(\.kind) == ["absolute", "absolute", "absolute"])
      #expect(asked.first?.target == "http://localhost:\(origin.ports.http)/echo?q=1%2F2")
      #expect(asked.allSatisfy { $0.fields["proxy-authorization"]?.count == 1 && $0.fields["host"]?.count == 1 })
      // A spelling of the app's own.
      _ = try proxy.ask("http://plain.test/echo", ["X-Before: b", "Proxy_Authorization: app-5ecret", "X-After: a"])
      let fields = try #require(try parent.asked().last?.fields)
      #expect(fields["proxy_authorization"] == nil && fields["x-before"] == ["b"] && fields["x-after"] == ["a"], "\(fields)")
      // A connection of the pool.
      #expect(Set(asked.map(\.connection)).count == 1)
    }
  }

  @Test func `tunnel_http asks for a tunnel`() throws {
    let parent = try ParentServer()
    try withProxy(try ParentTunnelTests.configuration(parent, keys: ", tunnel_http: true", login: nil)) { proxy throws in
      for _ in 0..<2 { #expect(try proxy.ask("http://plain.test/echo").status == 200) }
      #expect(try parent.asked().map(\.kind) == ["connect"])
    }
  }

  @Test(arguments: ["query: {name: key, value: t-5ecret}", "path: {segment: \"bot{value}\", value: t-5ecret}"])
  func `a secret in the target goes through a tunnel, as parents write targets into logs and error pages`(kind: String) throws {
    let (parent, port) = (try ParentServer(), try Origin.shared().ports.http)
    let text = """
      via: corporate
      parents: {corporate: {url: "\(parent.url("http"))"}}
      upstreams: [{match: plain.test, origin: "http://localhost:\(port)", credential: api, client_authorization: keep}]
      credentials: {api: {\(kind), allow_plaintext: true}}
      """
    try withProxy(text) { proxy throws in
      let own = kind.hasPrefix("query") ? "/x?key=own-5ecret" : "/botown-5ecret/x"
      for target in ["/status/200", own] { _ = try proxy.ask("http://plain.test\(target)") }
      let asked = try parent.asked()
      // From one loop or two.
      #expect(1...2 ~= asked.count && Set(asked.map(\.target)) == ["localhost:\(port)"], "\(asked)")
      #expect(Set(asked.map(\.kind)) == ["connect"])
      let explained = try ChildProcess.run(
        Surroundings.program, ["explain", "--config", proxy.configurationPath, "GET", "http://plain.test/"])
      let words = explained.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
      #expect(words.contains("CONNECT localhost:\(port)") && !words.contains("absolute-form"), "\(words)")
    }
  }

  @Test func `resolve here asks for the address`() throws {
    let (parent, port) = (try ParentServer(), try Origin.shared().ports.http)
    try withProxy(
      try ParentTunnelTests.configuration(
        parent, keys: ", resolve: here", login: nil, more: "hosts: {x.far.test: [127.0.0.3]}\nforbidden_addresses: []\n")
    ) { proxy throws in
      let client = try proxy.connect()
      try client.send("CONNECT x.far.test:\(port) HTTP/1.1\r\nHost: x.far.test\r\n\r\n")
      _ = try client.readAnswer(to: "CONNECT")
      #expect(try parent.asked().map(\.target) == ["127.0.0.3:\(port)"])
    }
  }

  @Test func `the whole origin is asked for without a path`() throws {
    let parent = try ParentServer()
    try withProxy(try ParentTunnelTests.configuration(parent, login: nil)) { proxy throws in
      _ = try proxy.ask("OPTIONS", "http://plain.test")
      let asked = try parent.asked()
      #expect(asked.map(\.target) == ["http://localhost:\(try Origin.shared().ports.http)"])
    }
  }

  @Test func `a parent's 407 never reaches the app`() throws {
    let parent = try ParentServer()
    try parent.set(#"{"login": "\#(ParentServer.login)"}"#)
    try withProxy(try ParentTunnelTests.configuration(parent, login: nil)) { proxy throws in
      let answer = try proxy.ask("http://plain.test/echo")
      #expect(answer.status == 502)
      #expect(answer["Proxy-Authenticate"] == nil)
      let status = try #require(answer["Proxy-Status"])
      #expect(status.contains("error=proxy_configuration_error") && status.contains(#"next-hop="corporate""#), "\(status)")
      #expect(status.contains("Basic"), "\(status)")
      // It is not asked again for 30 s.
      #expect(try proxy.ask("http://plain.test/echo").status == 502)
      #expect(try parent.asked().count == 1)
    }
  }
}
