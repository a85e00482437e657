import Foundation
import Testing

/// Requests to https origins, and apps' tunnels, by CONNECT through a parent proxy.
@Suite struct ParentTunnelTests {
  static func configuration(
    _ parent: ParentServer, scheme: String = "http", keys: String = "", login: String? = ParentServer.login,
    via: String = "corporate", more: String = ""
  ) throws -> String {
    let origin = try Origin.shared().ports
    let parts = login?.split(separator: ":", maxSplits: 1).map(String.init)
    let credential = parts == nil ? "" : ", credential: proxy-login"
    let credentials = parts.map {
      "credentials:\n  proxy-login: {basic: {username: \($0[0]), password: \"\($0[1])\"}}\n  api: {bearer: {token: t-5ecret-api}, allow_plaintext: true}\n"
    }
    return """
      via: \(via)
      parents:
        corporate: {url: "\(parent.url(scheme))"\(credential)\(keys)}
      upstreams:
        - {match: api.test, origin: "https://localhost:\(origin.https)"\(parts == nil ? "" : ", credential: api")}
        - {match: plain.test, origin: "http://localhost:\(origin.http)"\(parts == nil ? "" : ", credential: api")}
      connect: {allow: ["localhost:\(origin.https)", "*.far.test:\(origin.http)"]}
      threads: 1
      \(credentials ?? "")\(more)
      """
  }

  @Test(arguments: ["http", "https"])
  func `an https origin is reached by CONNECT, and the parent gets nothing that is the origin's`(_ scheme: String) throws {
    let parent = try ParentServer()
    try parent.set(#"{"login": "\#(ParentServer.login)"}"#)
    try withProxy(try Self.configuration(parent, scheme: scheme, keys: #", connect_headers: {User-Agent: "Mozilla/5.0"}"#)) {
      proxy throws in
      for _ in 0..<3 {
        let answer = try proxy.ask("http://api.test/echo", ["Cookie: c=1", "Proxy-Authorization: Basic eDp5", "X-App: 1"])
        #expect(answer.status == 200, "\(answer.text)\n\(proxy.tail)")
        #expect(answer.text.contains("Bearer t-5ecret-api"))
        #expect(!answer.text.contains("proxy-authorization") && !answer.text.contains("pw-5ecret"))
      }
      let asked = try parent.asked()
      // One tunnel, which is kept.
      #expect(asked.count == 1)
      let first = try #require(asked.first)
      let authority = "localhost:\(try Origin.shared().ports.https)"
      #expect(first.kind == "connect" && first.target == authority && first.tls == (scheme == "https"))
      #expect(Set(first.fields.keys) == ["host", "via", "proxy-authorization", "user-agent"])
      #expect(first.fields["host"] == [authority])
      #expect(first.fields["user-agent"] == ["Mozilla/5.0"])
      let line = try #require(proxy.process.awaitLine { $0.contains("/echo") })
      #expect(line.contains(#""via":"corporate""#), "\(line)")
    }
  }

  @Test func `an app's own tunnel goes through the parent, with the parent's credential and nothing of the app's`() throws {
    let parent = try ParentServer()
    try parent.set(#"{"login": "\#(ParentServer.login)"}"#)
    try withProxy(try Self.configuration(parent)) { proxy throws in
      let target = "x.far.test:\(try Origin.shared().ports.http)"
      let client = try proxy.connect()
      try client.send("CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\nX-App: 1\r\n\r\n")
      #expect(try client.readAnswer(to: "CONNECT").status == 200)
      try client.send("GET /status/204 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
      #expect(try client.readAnswer().status == 204)
      let asked = try parent.asked()
      #expect(asked.map(\.target) == [target])
      #expect(Set(asked[0].fields.keys) == ["host", "via", "proxy-authorization"])
    }
  }

  @Test func `what a parent sends with its answer is the tunnel's beginning`() throws {
    let listener = try TestListener()
    try withProxy(
      "via: p\nparents: {p: {url: \"http://127.0.0.1:\(listener.port)\"}}\nupstreams: []\nconnect: {allow: [\"far.test:25\"]}\n"
    ) { proxy throws in
      for piece in [1, 7, 1000] {
        let client = try proxy.connect()
        try client.send("CONNECT far.test:25 HTTP/1.1\r\nHost: far.test\r\n\r\n")
        let server = try listener.accept()
        #expect(try server.readText(through: "\r\n\r\n").hasPrefix("CONNECT far.test:25 HTTP/1.1\r\n"))
        let answer =
          "HTTP/1.1 103 Early\r\nLink: <x>\r\n\r\nHTTP/1.1 299 Fine\r\nContent-Length: 4000\r\n"
          + "Transfer-Encoding: chunked\r\n\r\n220 ready"
        for start in stride(from: 0, to: answer.utf8.count, by: piece) {
          try server.send(Array(Array(answer.utf8)[start..<min(start + piece, answer.utf8.count)]))
        }
        #expect(try client.readAnswer(to: "CONNECT").status == 200)
        #expect(try client.read(9) == Array("220 ready".utf8))
        try client.send("EHLO")
        #expect(try server.read(4) == Array("EHLO".utf8))
        server.close()
        #expect(try client.readToEnd().1 == .closed)
      }
    }
  }

  @Test func `a WebSocket to an http origin goes by CONNECT`() throws {
    let parent = try ParentServer()
    try withProxy(try Self.configuration(parent, login: nil)) { proxy throws in
      let client = try proxy.connect()
      try client.send(
        "GET http://plain.test/ws HTTP/1.1\r\nHost: plain.test\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n")
      #expect(try client.readAnswer().status == 101)
      try client.send("ping")
      #expect(try client.read(4) == Array("ping".utf8))
      #expect(try parent.asked().map(\.kind) == ["connect"])
    }
  }

  @Test func `a 407 from inside of a tunnel is the origin's, and the parent's credential stays where it is`() throws {
    let (parent, origin, name) = (try ParentServer(), try Origin.shared(), Origin.newName())
    try parent.set(#"{"login": "\#(ParentServer.login)"}"#)
    try origin.script(
      name,
      [
        .send("HTTP/1.1 407 Mine\r\nProxy-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n")
      ])
    try withProxy(try Self.configuration(parent)) { proxy throws in
      #expect(try proxy.ask("http://api.test/x?id=\(name)").status == 407)
      let received = try origin.exchanges(name)
      #expect(received.count == 1 && !"\(received)".lowercased().contains("proxy-authorization"))
      #expect(try parent.asked().count == 1)
    }
  }
}
