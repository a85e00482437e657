import Foundation
import Testing

/// Only the target's authority decides.
@Suite struct OneAuthorityTests {
  private func twoEntries() throws -> String {
    let port = try Origin.shared().ports.https
    return """
      upstreams:
        - match: one.test
          origin: https://localhost:\(port)
          credential: one
        - match: two.test:8080
          origin: https://localhost:\(port)
          credential: two
        - match: "*.wild.test"
          origin: https://localhost:\(port)
          credential: wild
      credentials:
        one: {bearer: {token: one-5ecret}}
        two: {bearer: {token: two-5ecret}}
        wild: {bearer: {token: wild-5ecret}}
      """
  }

  @Test func `the app's Host decides nothing, and is replaced by the origin's`() throws {
    try withProxy(try twoEntries()) { proxy in
      let received = try proxy.ask("http://one.test/echo", ["Host: two.test:8080"]).received()
      #expect(received["Authorization"] == "Bearer one-5ecret")
      #expect(received.all("Host") == ["localhost:\(try Origin.shared().ports.https)"])
      #expect(received.fields[0][0] == "Host")
    }
  }

  @Test func `host_header: app hands on the target's authority, and SNI stays the origin's`() throws {
    try withProxy(try Configuration.https("host_header: app")) { proxy in
      let received = try proxy.ask("http://API.test:80/echo", ["Host: other.test"]).received()
      let host = try #require(received["Host"])
      #expect(["api.test", "api.test:80"].contains(host.lowercased()))
      #expect(received.tls?.sni == "localhost")
    }
  }

  @Test func `every request on a connection is routed anew`() throws {
    try withProxy(try twoEntries()) { proxy in
      let client = try proxy.connect()
      for (target, expected) in [
        ("http://one.test/echo", "one"), ("http://two.test:8080/echo", "two"), ("http://one.test/echo", "one"),
        ("http://a.wild.test/echo", "wild"), ("http://b.c.wild.test/echo", "wild"), ("http://two.test:8080/echo", "two"),
      ] {
        try client.send(ProxyProcess.request("GET", target))
        #expect(try client.readAnswer().received()["Authorization"] == "Bearer \(expected)-5ecret", "\(target)")
      }
    }
  }

  @Test func `the port belongs to the match`() throws {
    try withProxy(try twoEntries()) { proxy in
      each([
        ("http://one.test:8080/", 403), ("http://two.test/", 403), ("http://two.test:8080/", 200), ("http://one.test:80/", 200),
        ("https://one.test/", 200), ("https://one.test:443/", 200), ("http://one.test:443/", 403),
        ("https://one.test:80/", 403),
        ("http://wild.test/", 403), ("http://xwild.test/", 403), ("http://x.wild.test/", 200),
      ]) { (target, status) in
        let answer = try proxy.ask(target)
        #expect(answer.status == status, "\(target): \(answer.head)")
      }
    }
  }

  @Test func `case and one trailing dot of the host make no difference`() throws {
    try withProxy(try twoEntries()) { proxy in
      each([
        "http://ONE.Test/echo", "http://one.test./echo", "HTTP://one.test/echo", "http://one.test:080/echo",
        "http://one.test:/echo",
      ]) {
        let answer = try proxy.ask($0)
        #expect(answer.status == 200, "\($0): \(answer.head)")
      }
      each(["http://one.test../", "http://one.test.evil.test/", "http://oneXtest/"]) { target in
        let answer = try proxy.ask(target)
        #expect([400, 403].contains(answer.status), "\(target)")
      }
    }
  }

  @Test func `a target without a path asks for the root, with its query`() throws {
    try withProxy(try Configuration.https()) { proxy in
      let origin = try Origin.shared()
      let name = Origin.newName()
      #expect(try proxy.ask("http://api.test?id=\(name)").status == 200)
      #expect(try origin.exchanges(name)[0].target == "/?id=\(name)")
    }
  }

  @Test func `the path and the query arrive as they were written`() throws {
    try withProxy(try Configuration.https()) { proxy throws in
      for target in ["/echo/a%2Fb/../c//d?x=%20&y=a+b&&z", "/echo?", "/echo/%7Euser/~;p=1,2!$'()*@:", "/echo?a?b/c"] {
        #expect(try proxy.ask("http://api.test" + target).received().target == target)
      }
    }
  }

  @Test func `OPTIONS without a path becomes OPTIONS *`() throws {
    let listener = try TestListener()
    try withProxy(try Configuration.http(port: listener.port)) { proxy in
      for (target, seen) in [("http://api.test", "*"), ("http://api.test/", "/")] {
        let client = try proxy.connect()
        try client.send("OPTIONS \(target) HTTP/1.1\r\nHost: api.test\r\n\r\n")
        let server = try listener.accept()
        #expect(String(decoding: try server.read(through: "\r\n"), as: UTF8.self) == "OPTIONS \(seen) HTTP/1.1\r\n")
        try server.send("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        #expect(try client.readAnswer().status == 204)
        server.close()
      }
    }
  }

  @Test func `Max-Forwards counts down for OPTIONS and TRACE, and at 0 the proxy answers itself`() throws {
    let origin = try Origin.shared()
    try withProxy(try Configuration.https("credential: none", top: "  none:\n    header: {name: X-None, value: no-5ecret}")) {
      proxy in
      let counted = try proxy.ask("OPTIONS", "http://api.test/echo", ["Max-Forwards: 5"]).received()
      #expect(counted["Max-Forwards"] == "4")
      let name = Origin.newName()
      let own = try proxy.ask("OPTIONS", "http://api.test/echo?id=\(name)", ["Max-Forwards: 0"])
      #expect((200..<300).contains(own.status))
      #expect(try origin.exchanges(name).isEmpty)
      let kept = try proxy.ask("GET", "http://api.test/echo", ["Max-Forwards: 5"]).received()
      #expect(kept["Max-Forwards"] == "5")
    }
  }
}
