import Foundation
import Testing

/// Origins of a list behind a parent that keeps their requests waiting: nobody asked the origins.
@Suite struct OriginBehindParentTests {
  private static func up(_ origin: String) -> String { #"authproxy_origin_up{upstream="api.test",origin="\#(origin)"}"# }

  private static func configuration(_ parent: String, _ scheme: String, more: String = "", top: String = "") -> String {
    """
    admin: 127.0.0.1:0
    via: corporate
    parents: {corporate: {\(parent)}}
    timeouts: {connect: 2s, response_head: 3s}
    upstreams:
      - {match: api.test, origin: ["\(scheme)://a.far.test", "\(scheme)://b.far.test"]}
    \(more)
    \(top)

    """
  }

  /// - Returns: the answers to requests that were sent one soon after the other.
  private func askAll(_ proxy: ProxyProcess, _ count: Int = 8) throws -> [Answer] {
    let clients = try (0..<count).map { _ in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/"))
      return client
    }
    return try clients.map { try $0.readAnswer() }
  }

  private func expectUp(_ scheme: String, _ proxy: ProxyProcess) throws {
    for origin in ["a", "b"] { #expect(try proxy.metric(Self.up("\(scheme)://\(origin).far.test")) == 1, "\(proxy.tail)") }
    #expect(!proxy.process.lines.contains { $0.contains("an origin is down") }, "\(proxy.tail)")
  }

  @Test(arguments: ["https", "http"])
  func `a parent that never answers makes none of them down, and it is named`(_ scheme: String) throws {
    let parent = try TestListener(backlog: 64)
    try withProxy(Self.configuration(#"url: "http://127.0.0.1:\#(parent.port)""#, scheme)) { proxy throws in
      for answer in try askAll(proxy) {
        #expect(answer.status == 504 || answer.status == 502, "\(answer.head)")
        // In absolute-form the request was sent, and nobody knows whose silence it is.
        let isNamed = answer["Proxy-Status"]?.contains(#"next-hop="corporate""#) == true
        #expect(isNamed == (scheme == "https"), "\(answer.head)")
      }
      try expectUp(scheme, proxy)
    }
  }

  /// The parent's credential is presented first in a request for a host that does not answer.
  @Test func `nor does the wait for what a parent says to another request's credential`() throws {
    let parent = try TestListener(backlog: 64)
    let text = Self.configuration(
      #"url: "http://127.0.0.1:\#(parent.port)", credential: proxy-login"#, "https",
      more: #"  - {match: slow.test, origin: "https://slow.far.test"}"#,
      top: "credentials: {proxy-login: {basic: {username: u, password: 5ecret-word}, allow_plaintext: true}}"
    )
    .replacing("connect: 2s", with: "connect: 4s")
    try withProxy(text) { proxy throws in
      let slow = try proxy.connect()
      try slow.send(ProxyProcess.request("GET", "http://slow.test/"))
      let server = try parent.accept()
      #expect(try server.readText(through: "\r\n\r\n").contains("slow.far.test"))
      for answer in try askAll(proxy) {
        #expect(answer["Proxy-Status"]?.contains(#"next-hop="corporate""#) == true, "\(answer.head)")
      }
      try expectUp("https", proxy)
    }
  }
}
