import Foundation
import Testing

/// No answer serves another client, cookie or credential.
@Suite struct CachePartitionTests {
  private static let clients = """
    clients:
      - {name: ann, password: ann-5ecret}
      - {name: bob, password: bob-5ecret}
    """
  private static func login(_ name: String) -> String {
    "Proxy-Authorization: Basic " + Data("\(name):\(name)-5ecret".utf8).base64EncodedString()
  }

  @Test func `each client has its own answers, unless they are shared`() throws {
    let origin = try Origin.shared()
    for (share, isShared) in [("client", false), ("credential", true), ("all", true), ("public", false)] {
      let name = Origin.newName()
      try origin.answers(name, "Cache-Control: max-age=600")
      try withProxy(try Configuration.https("cache: {share: \(share)}", top: Self.clients)) { proxy throws in
        let url = "http://api.test/?id=\(name)"
        #expect(try proxy.ask(url, [Self.login("ann")]).text == "first")
        #expect(try proxy.ask(url, [Self.login("bob")]).text == (isShared ? "first" : "second"), "\(share)")
        // Whoever may not ask gets no hit.
        #expect(try proxy.ask(url, ["Proxy-Authorization: Basic eDp5"]).status == 407)
      }
    }
  }

  @Test func `each host below a wildcard has its own answers, whatever else the entry matches`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    let port = origin.ports.https
    try origin.answers(name, "Cache-Control: max-age=600", "Content-Location: https://localhost:\(port)/x")
    let text = """
      upstreams:
        - {match: [api.test, "*.wild.test"], origin: "https://localhost:\(port)", cache: {share: all}}

      """
    try withProxy(text) { proxy throws in
      for (host, body) in [
        ("a.wild.test", "first"), ("b.wild.test", "second"), ("api.test", "third"), ("a.wild.test", "first"),
      ] {
        let answer = try proxy.ask("http://\(host)/?id=\(name)")
        #expect(answer.text == body && answer["Content-Location"] == "http://\(host)/x", "\(host): \(answer.head)")
      }
    }
  }

  @Test func `a cookie, an unknown field and the app's own credential tell requests apart`() throws {
    let origin = try Origin.shared()
    try withProxy(try Configuration.https("cache: {}", "client_authorization: keep")) { proxy throws in
      for field in ["Cookie: a", "X-User: a", "Authorization: Bearer other-5ecret"] {
        let name = Origin.newName()
        try origin.answers(name, "Cache-Control: max-age=600")
        let url = "http://api.test/?id=\(name)"
        #expect(try proxy.ask(url).text == "first")
        #expect(try proxy.ask(url, [field]).text == "second", "\(field)")
        #expect(try proxy.ask(url, ["User-Agent: x", "X-Request-Id: 1"]).text == "first")
      }
    }
  }
}
