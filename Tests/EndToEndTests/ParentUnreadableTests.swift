import Foundation
import Testing

/// A parent that refuses a password in words that are no HTTP, or with a redirect to a login page: nobody knows that it was a refusal, and it
/// may count one all the same.
@Suite struct ParentUnreadableTests {
  private static let folded =
    "HTTP/1.1 407 Who\\r\\nProxy-Authenticate: Negotiate,\\r\\n Basic realm=x\\r\\nContent-Length: 0\\r\\n\\r\\n"
  private static let bare = "HTTP/1.1 407 Who\\nProxy-Authenticate: Basic realm=x\\nContent-Length: 0\\n\\n"
  private static let page = "HTTP/1.1 302 Login\\r\\nLocation: http://login.test/\\r\\nContent-Length: 0\\r\\n\\r\\n"

  private func configuration(_ parent: ParentServer) -> String {
    """
    via: corporate
    parents: {corporate: {url: "\(parent.url("http"))", credential: proxy-login}}
    upstreams: [{match: "*.plain.test", origin: "http://plain.far.test"}]
    credentials: {proxy-login: {basic: {username: proxyuser, password: pw-5ecret-parent}}}
    connect: {allow: ["*.far.test"]}

    """
  }

  /// A host has it once, three hosts make a pause of 5 s.
  @Test(arguments: [folded, bare, page], [0, 4])
  func `by CONNECT a crowd has a wrong password sent three times`(_ refusal: String, _ late: Int) throws {
    let parent = try ParentServer()
    try parent.set(#"{"login": "proxyuser:other-5ecret", "refusal": "\#(refusal)", "late": \#(late)}"#)
    try withProxy(configuration(parent) + "timeouts: {connect: 2s}\n") { proxy throws in
      let clients = try (0..<20).map { number in
        let client = try proxy.connect()
        let target = "h\(number).far.test:443"
        try client.send("CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n\r\n")
        return client
      }
      for client in clients { #expect(try client.readAnswer(to: "CONNECT").status >= 500) }
      #expect(try (1...3).contains(parent.asked().count))
      // Whoever waits for the late answer has left.
      for number in 0..<4 {
        let answer = try proxy.ask("CONNECT", "h\(number).far.test:443")
        #expect(answer.status >= 500, "\(answer.head)")
      }
      #expect(try (1...3).contains(parent.asked().count))
    }
  }

  @Test(arguments: [folded, bare])
  func `in absolute-form each host has it sent once`(_ refusal: String) throws {
    let parent = try ParentServer()
    try parent.set(#"{"login": "proxyuser:other-5ecret", "refusal": "\#(refusal)"}"#)
    try withProxy(configuration(parent)) { proxy throws in
      for _ in 0..<10 { #expect(try proxy.ask("http://x.plain.test/").status == 502) }
      #expect(try parent.asked().count == 1)
    }
  }
}
