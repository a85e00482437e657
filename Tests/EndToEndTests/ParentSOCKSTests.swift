import Foundation
import Testing

/// SOCKS5 parents (RFC 1928, 1929).
@Suite struct ParentSOCKSTests {
  @Test(arguments: ["socks5", "socks5h"])
  func `origins, tunnels and WebSockets go through it`(_ scheme: String) throws {
    let (parent, origin) = (try ParentServer(), try Origin.shared())
    try parent.set(#"{"login": "\#(ParentServer.login)"}"#)
    try withProxy(try ParentTunnelTests.configuration(parent, scheme: scheme)) { proxy throws in
      #expect(try proxy.ask("http://api.test/echo").status == 200)
      #expect(try proxy.ask("http://plain.test/echo").status == 200)
      let client = try proxy.connect()
      try client.send("CONNECT localhost:\(origin.ports.https) HTTP/1.1\r\nHost: x\r\n\r\n")
      // A name that only this machine can mean is refused, where a parent resolves.
      #expect(try client.readAnswer(to: "CONNECT").status == 403)
      let asked = try parent.asked()
      #expect(asked.allSatisfy { $0.kind == "socks" && $0.user == "proxyuser" })
      let kind = scheme == "socks5" ? "address" : "name localhost"
      #expect(asked.allSatisfy { $0.target.hasPrefix(kind) }, "\(asked.map(\.target))")
      #expect(asked.count == 2)
    }
  }

  @Test(arguments: [1, 3, 4])
  func `its reply may come in pieces, with any kind of address`(_ bound: Int) throws {
    let parent = try ParentServer()
    try parent.set(#"{"bound": \#(bound), "piece": 1}"#)
    try withProxy(try ParentTunnelTests.configuration(parent, scheme: "socks5h", login: nil)) { proxy throws in
      #expect(try proxy.ask("http://api.test/echo").status == 200)
      #expect(try proxy.ask("http://plain.test/echo").status == 200)
    }
  }

  /// RFC 1928 has one byte for the length of a name.
  @Test(arguments: ["socks5", "socks5h"])
  func `a name that it cannot say is refused, not shortened`(_ scheme: String) throws {
    let parent = try ParentServer()
    let name = Array(repeating: String(repeating: "a", count: 50), count: 6).joined(separator: ".") + ".far.test"
    let text = try ParentTunnelTests.configuration(parent, scheme: scheme, login: nil)
      .replacingOccurrences(of: "connect: {allow: [", with: "unlisted_hosts: forward\nconnect: {allow: [\"*.far.test:443\", ")
    try withProxy(text) { proxy throws in
      let answer = try proxy.ask("http://\(name)/echo")
      #expect([400, 502].contains(answer.status) && answer["Proxy-Status"]?.contains("error=") == true, "\(answer.head)")
      let client = try proxy.connect()
      try client.send("CONNECT \(name):443 HTTP/1.1\r\nHost: \(name):443\r\n\r\n")
      #expect(try [400, 502].contains(client.readAnswer().status))
      #expect(try parent.asked().isEmpty)
    }
  }

  @Test func `each reply code has its answer`() throws {
    let parent = try ParentServer()
    let answers = [
      (1, 502, "destination_unavailable"), (2, 502, "http_request_denied"), (3, 502, "destination_ip_unroutable"),
      (4, 502, "destination_ip_unroutable"), (5, 502, "connection_refused"), (6, 504, "connection_timeout"),
      (7, 502, "destination_unavailable"), (8, 502, "destination_unavailable"), (99, 502, "destination_unavailable"),
    ]
    try withProxy(try ParentTunnelTests.configuration(parent, scheme: "socks5h", login: nil)) { proxy throws in
      for (reply, status, error) in answers {
        try parent.set(#"{"reply": \#(reply)}"#)
        let answer = try proxy.ask("http://plain.test/echo")
        #expect(answer.status == status)
        #expect(answer["Proxy-Status"]?.contains("error=\(error); next-hop=\"corporate\"") == true, "\(reply): \(answer.head)")
      }
    }
  }
}
