import Foundation
import Testing

/// NTLM and Negotiate authenticate a connection (RFC 4559 section 6). An upstream connection with either serves only the client
/// connection that used it, and ends with that.
@Suite struct ConnectionAuthenticationTests {
  /// ntlm.py, which remembers who authenticated on each connection.
  private final class Peer {
    let process: ChildProcess
    let port: Int

    init() throws {
      process = try ChildProcess(Surroundings.python, [Surroundings.support + "/ntlm.py"])
      guard let line = process.awaitLine(where: { _ in true }), let port = Int(line) else {
        throw HarnessError("ntlm.py did not start: \(process.errors)")
      }
      self.port = port
    }
    deinit { process.signal(SIGKILL) }

    func configuration(_ top: String = "threads: 1") -> String {
      "upstreams:\n  - match: api.test\n    origin: http://127.0.0.1:\(port)\n\(top)\n"
    }
  }

  private struct Seen: Decodable {
    let user: String
    let connection: Int
    let open: Int
  }

  /// An app with its own connection.
  private struct App {
    let connection: RawConnection
    var fields: [String] = []

    init(_ proxy: ProxyProcess) throws { connection = try proxy.connect() }

    func ask(_ path: String, _ fields: [String] = []) throws -> Answer {
      try connection.send(ProxyProcess.request("GET", "http://api.test\(path)", self.fields + fields))
      return try connection.readAnswer()
    }

    func see(_ path: String, _ fields: [String] = []) throws -> Seen { try decode(try ask(path, fields)) }

    func decode(_ answer: Answer) throws -> Seen { try JSONDecoder().decode(Seen.self, from: Data(answer.body)) }

    private static func negotiate(_ text: String) -> String {
      "Authorization: Negotiate \(Data(text.utf8).base64EncodedString())"
    }

    /// The first step: the origin's challenge.
    func begin() throws -> (nonce: String, seen: Seen) {
      let answer = try ask("/private", [Self.negotiate("hello")])
      guard answer.status == 401, let token = answer["WWW-Authenticate"]?.split(separator: " ").last,
        let nonce = Data(base64Encoded: String(token))
      else { throw HarnessError("no challenge: \(answer.head)") }
      return (String(decoding: nonce, as: UTF8.self), try decode(answer))
    }

    func end(_ user: String, _ nonce: String) throws -> Answer { try ask("/private", [Self.negotiate("\(user) \(nonce)")]) }
  }

  @Test func `a handshake of several legs keeps its connection, and nobody else comes over it`() throws {
    let peer = try Peer()
    try withProxy(peer.configuration()) { proxy in
      let apps = [("alice", try App(proxy)), ("bob", try App(proxy))]
      let stranger = try App(proxy)
      #expect(try stranger.see("/open").user == "nobody")
      // Step by step in turn, with other clients' requests between.
      let begun = try apps.map { try $0.1.begin() }
      #expect(begun[0].seen.connection != begun[1].seen.connection)
      #expect(try stranger.see("/open").user == "nobody")
      for ((user, app), (nonce, first)) in zip(apps, begun) {
        let answer = try app.end(user, nonce)
        #expect(answer.status == 200, "\(user): \(answer.head)")
        let seen = try app.decode(answer)
        #expect(seen.user == user && seen.connection == first.connection)
        #expect(try stranger.see("/open").user == "nobody")
        #expect(try stranger.ask("/private").status == 401)
      }
      for round in 0..<20 {
        for ((user, app), (_, first)) in zip(apps, begun) {
          let seen = try app.see("/private?\(round)")
          #expect(seen.user == user && seen.connection == first.connection, "round \(round)")
        }
        let other = try App(proxy)
        #expect(try other.see("/open").user == "nobody", "round \(round)")
        #expect(try other.ask("/private").status == 401, "round \(round)")
      }
    }
  }

  @Test func `what the origin alone said binds a connection, too, and the app is told that it may answer`() throws {
    let peer = try Peer()
    try withProxy(peer.configuration()) { proxy in
      let (one, other) = (try App(proxy), try App(proxy))
      for path in ["/private", "/offer"] {
        let answer = try one.ask(path)
        #expect(answer["Proxy-Support"] == "Session-Based-Authentication", "\(answer.head)")
        let first = try one.decode(answer).connection
        #expect(try other.see("/open").connection != first)
        #expect(try one.see("/open").connection == first)
      }
      // Other schemes bind nothing.
      let plain = try other.ask("/plain")
      #expect(plain.status == 401 && plain["Proxy-Support"] == nil, "\(plain.head)")
      let number = try other.decode(plain).connection
      #expect(try App(proxy).see("/open").connection == number)
    }
  }

  @Test func `the connection ends with the client's, whatever way that ends`() throws {
    let peer = try Peer()
    try withProxy(peer.configuration()) { proxy in
      let stranger = try App(proxy)
      let before = try stranger.see("/open").open
      for how in ["close", "reset", "asked"] {
        let app = try App(proxy)
        let (nonce, _) = try app.begin()
        #expect(try app.end("alice", nonce).status == 200)
        #expect(try stranger.see("/open").open == before + 1)
        switch how {
        case "close": app.connection.close()
        case "reset": app.connection.reset()
        default: #expect(try app.see("/private", ["Connection: close"]).user == "alice")
        }
        #expect(try eventually { try stranger.see("/open").open == before }, "\(how)")
      }
    }
  }

  @Test func `it counts against the origin's limit, and who waits in line does not get it`() throws {
    let peer = try Peer()
    try withProxy(peer.configuration("threads: 1\nlimits: {upstream_connections: 1}\ntimeouts: {connect: 2s}")) { proxy in
      let app = try App(proxy)
      let (nonce, first) = try app.begin()
      let waiting = try App(proxy)
      try waiting.connection.send(ProxyProcess.request("GET", "http://api.test/open"))
      // Its exchanges end while the other one waits.
      #expect(try app.end("alice", nonce).status == 200)
      #expect(try app.see("/private").connection == first.connection)
      let late = try waiting.connection.readAnswer()
      #expect(late.status == 503 && late.proxyError == "connection_limit_reached", "\(late.head)")
      try waiting.connection.send(ProxyProcess.request("GET", "http://api.test/open"))
      #expect(try app.see("/private").user == "alice")
      app.connection.close()
      let seen = try waiting.decode(try waiting.connection.readAnswer())
      #expect(seen.user == "nobody" && seen.connection != first.connection)
    }
  }

  @Test func `another user of the same client connection gets another one`() throws {
    let peer = try Peer()
    let clients = "threads: 1\nclients: [{name: a, password: a-5ecret}, {name: b, password: b-5ecret}]"
    func named(_ name: String) -> String {
      "Proxy-Authorization: Basic \(Data("\(name):\(name)-5ecret".utf8).base64EncodedString())"
    }
    try withProxy(peer.configuration(clients)) { proxy in
      var app = try App(proxy)
      app.fields = [named("a")]
      let (nonce, _) = try app.begin()
      #expect(try app.end("alice", nonce).status == 200)
      app.fields = [named("b")]
      #expect(try app.see("/open").user == "nobody")
      #expect(try app.ask("/private").status == 401)
    }
  }

  @Test func `a connection that the origin has closed is replaced, unauthenticated`() throws {
    let peer = try Peer()
    try withProxy(peer.configuration("threads: 1\ntimeouts: {upstream_idle: 1s}")) { proxy in
      let app = try App(proxy)
      let (nonce, first) = try app.begin()
      #expect(try app.end("alice", nonce).status == 200)
      let stranger = try App(proxy)
      // It was idle for too long.
      #expect(try eventually { try stranger.see("/open").open == 1 })
      let answer = try app.ask("/private")
      #expect(answer.status == 401)
      #expect(try app.decode(answer).connection != first.connection)
    }
  }

  @Test func `a reload that takes the origin away closes it`() throws {
    let peer = try Peer()
    let other = try Peer()
    try withProxy(peer.configuration()) { proxy in
      let app = try App(proxy)
      let (nonce, _) = try app.begin()
      #expect(try app.end("alice", nonce).status == 200)
      try proxy.reload(other.configuration())
      #expect(try app.see("/open").user == "nobody")
      let direct = try RawConnection(port: peer.port)
      #expect(
        try eventually {
          try direct.send("GET /open HTTP/1.1\r\nHost: x\r\n\r\n")
          return try app.decode(direct.readAnswer()).open == 1
        })
    }
  }

  @Test func `curl speaks NTLM through the proxy, for two users at a time`() throws {
    let peer = try Peer()
    try withProxy(peer.configuration("threads: 2")) { proxy in
      let urls = (0..<10).map { "http://api.test/private?\($0)" }
      let runs = try ["alice", "bob", "alice", "bob"].map { user in
        (
          user,
          try ChildProcess(
            "curl",
            ["-sS", "-x", "http://127.0.0.1:\(proxy.port)", "--ntlm", "-u", "\(user):\(user)-5ecret", "-w", "\n"] + urls)
        )
      }
      for (user, run) in runs {
        #expect(run.awaitEnd(seconds: 20) == .exited(0), "\(run.errors)")
        let seen = try run.output.split(separator: "\n").map { try JSONDecoder().decode(Seen.self, from: Data($0.utf8)) }
        #expect(seen.map(\.user) == urls.map { _ in user }, "\(run.output)")
        #expect(Set(seen.map(\.connection)).count == 1, "\(run.output)")
      }
      let wrong = try ChildProcess.run(
        "curl", ["-sS", "-x", "http://127.0.0.1:\(proxy.port)", "--ntlm", "-u", "alice:wrong", "-w", "%{http_code}", urls[0]])
      #expect(wrong.output.hasSuffix("401"), "\(wrong.output)\(wrong.errors)")
    }
  }
}
