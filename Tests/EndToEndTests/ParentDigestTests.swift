import Foundation
import Testing

/// Digest towards a parent proxy (RFC 7616): with CONNECT, and in absolute-form.
@Suite struct ParentDigestTests {
  private let folder: String
  private let parent: ParentServer

  init() throws {
    folder = try Surroundings.newFolder()
    parent = try ParentServer()
    try write("pw-5ecret-parent")
    try parent.set(#"{"login": "\#(ParentServer.login)"}"#)
  }

  private func write(_ password: String) throws {
    let path = folder + "/password"
    try ProxyProcess.write(password + "\n", to: path + ".new")
    guard rename(path + ".new", path) == 0 else { throw HarnessError("rename") }
  }

  private func set(_ digest: String) throws { try parent.set(#"{"digest": {\#(digest)}, "forget": true}"#) }

  private func configuration(_ scheme: String = "http", threads: Int = 1, origin: Origin? = nil, more: String = "") throws
    -> String
  {
    let ports = try (origin ?? Origin.shared()).ports
    return """
      via: corporate
      parents:
        corporate: {url: "\(parent.url(scheme))", credential: proxy-login}
      upstreams:
        - {match: api.test, origin: "https://localhost:\(ports.https)"}
        - {match: plain.test, origin: "http://localhost:\(ports.http)"}
      credentials:
        proxy-login: {digest: {username: proxyuser, password: {file: "\(folder)/password"}}}
      connect: {allow: ["*.far.test:\(ports.http)"]}
      watch_files: off
      admin: 127.0.0.1:0
      threads: \(threads)
      \(more)

      """
  }

  /// Nothing that an app or an operator sees has the password, and the parent has nothing to complain of.
  private func expectClean(_ proxy: ProxyProcess, sourceLocation: SourceLocation = #_sourceLocation) throws {
    #expect(try parent.set("{}").broken == [], sourceLocation: sourceLocation)
    #expect(!proxy.process.lines.contains { $0.contains("5ecret") }, sourceLocation: sourceLocation)
    #expect(try !proxy.admin("status").text.contains("5ecret"), sourceLocation: sourceLocation)
  }

  @Test(arguments: ["MD5", "SHA-256", "SHA-512-256"], [#""auth""#, "null"])
  func `each algorithm is answered, and the nonce is used again without a challenge`(_ algorithm: String, _ qop: String) throws
  {
    try set(#""algorithm": "\#(algorithm)", "qop": \#(qop)"#)
    let origin = try Origin()
    try withProxy(try configuration(origin: origin)) { proxy throws in
      for _ in 0..<3 {
        #expect(try proxy.ask("http://api.test/echo").status == 200, "\(proxy.tail)")
        try origin.dropConnections("https")
        #expect(try proxy.ask("http://plain.test/echo?q=1%2F2").status == 200, "\(proxy.tail)")
      }
      let asked = try parent.asked()
      #expect(asked.count { $0.fields["proxy-authorization"] == nil } == 1)
      #expect(asked.map(\.kind) == ["connect", "connect", "absolute", "connect", "absolute", "connect", "absolute"])
      // The challenge is answered over its own connection.
      #expect(asked[0].connection == asked[1].connection)
      try expectClean(proxy)
    }
  }

  @Test(arguments: ["http", "https"])
  func `a parent that ends the connection of its challenge gets the answer over another one`(_ scheme: String) throws {
    try set(#""algorithm": "SHA-256", "closes": true"#)
    try withProxy(try configuration(scheme)) { proxy throws in
      #expect(try proxy.ask("http://api.test/echo").status == 200, "\(proxy.tail)")
      let asked = try parent.news()
      #expect(asked.count == 2 && asked[0].connection != asked[1].connection)
      #expect(try proxy.ask("POST", "http://plain.test/upload", body: "0123").status == 200)
      try expectClean(proxy)
    }
  }

  @Test(arguments: ["api.test", "plain.test"])
  func `so does one that finds the first nonce too old`(_ host: String) throws {
    try set(#""closes": true, "once_stale": true"#)
    try withProxy(try configuration()) { proxy throws in
      #expect(try proxy.ask("http://\(host)/echo").status == 200)
      #expect(try parent.asked().count == 3)
    }
  }

  @Test func `a challenge's body of any length is skipped`() throws {
    let origin = try Origin()
    for count in [0, 5_000, 200_000] {
      try set(#""body": \#(count)"#)
      try withProxy(try configuration(origin: origin)) { proxy throws in
        #expect(try proxy.ask("http://api.test/echo").status == 200, "\(proxy.tail)")
        try expectClean(proxy)
      }
    }
  }

  @Test(arguments: ["api.test", "plain.test"])
  func `a nonce that is too old is no refusal`(_ host: String) throws {
    try set(#""uses": 2"#)
    let origin = try Origin()
    try withProxy(try configuration(origin: origin)) { proxy throws in
      for _ in 0..<7 {
        #expect(try proxy.ask("http://\(host)/echo").status == 200, "\(proxy.tail)")
        try origin.dropConnections("https")
      }
      #expect(try proxy.status()["credentials"] != nil)
      try expectClean(proxy)
    }
  }

  @Test func `the next nonce is taken from an answer`() throws {
    try set(#""uses": 1, "nextnonce": true"#)
    try withProxy(try configuration()) { proxy throws in
      for _ in 0..<4 { #expect(try proxy.ask("http://plain.test/echo").status == 200) }
      #expect(try parent.asked().count == 5)
      try expectClean(proxy)
    }
  }

  @Test(arguments: ["api.test", "plain.test"])
  func `a parent that calls every nonce too old is given up`(_ host: String) throws {
    try set(#""always": true"#)
    try withProxy(try configuration()) { proxy throws in
      #expect(try proxy.ask("http://\(host)/echo").status == 502)
      #expect(try parent.asked().count <= 4)
    }
  }

  @Test(arguments: ["api.test", "plain.test"], ["", #", "closes": true"#])
  func `a parent that names another realm each time gets two answers, and is left alone`(
    _ host: String, _ closes: String
  ) throws {
    try set(#""rotates": true\#(closes)"#)
    try withProxy(try configuration()) { proxy throws in
      for round in 0..<2 {
        let answer = try proxy.ask("http://\(host)/echo")
        #expect(answer.status == 502 && answer.proxyError == "proxy_configuration_error", "\(answer.head)")
        let answered = try parent.news().count { $0.fields["proxy-authorization"] != nil }
        #expect(answered == (round == 0 ? 2 : 0))
      }
      #expect(try !proxy.admin("status").text.contains("needs_operator"))
    }
  }

  @Test(arguments: ["api.test", "plain.test"])
  func `a wrong password is sent once, however many requests wait`(_ host: String) throws {
    try set(#""algorithm": "SHA-256""#)
    try write("wrong-5ecret")
    try withProxy(try configuration(threads: 2)) { proxy throws in
      let clients = try (0..<40).map { _ in try proxy.connect() }
      for client in clients { try client.send(ProxyProcess.request("GET", "http://\(host)/echo")) }
      for client in clients {
        let answer = try client.readAnswer()
        #expect(answer.status == 502)
        let status = answer["Proxy-Status"] ?? ""
        #expect(status.contains("proxy_configuration_error") && status.contains("proxy-login"), "\(status)")
        #expect(status.contains("Digest, Basic"), "\(status)")
        #expect(answer["Proxy-Authenticate"] == nil)
      }
      let asked = try parent.news()
      #expect(asked.count { $0.fields["proxy-authorization"] != nil } == 1)
      #expect(try proxy.ask("http://\(host)/echo").status == 502)
      #expect(try parent.news().isEmpty)
      // In absolute-form the origin may have said so.
      #expect(try proxy.admin("status").text.contains("needs_operator") == (host == "api.test"))
      try expectClean(proxy)
      try write("pw-5ecret-parent")
      proxy.process.signal(SIGHUP)
      #expect(try eventually(seconds: 5) { try proxy.ask("http://\(host)/echo").status == 200 })
    }
  }

  @Test(arguments: ["api.test", "plain.test"])
  func `a password that was replaced is read again`(_ host: String) throws {
    try set(#""algorithm": "SHA-256""#)
    let origin = try Origin()
    try withProxy(try configuration(origin: origin)) { proxy throws in
      #expect(try proxy.ask("http://\(host)/echo").status == 200)
      try write("new-5ecret-parent")
      try parent.set(#"{"login": "proxyuser:new-5ecret-parent", "forget": true}"#)
      try origin.dropConnections("https")
      #expect(try proxy.ask("http://\(host)/echo").status == 200, "\(proxy.tail)")
      #expect(try parent.asked().count <= 3)
      try expectClean(proxy)
    }
  }

  @Test func `bodies are sent again after a challenge, and large ones wait for it`() throws {
    try set(#""uses": 1"#)
    let origin = try Origin()
    try withProxy(try configuration(origin: origin, more: "limits: {replay_body: 64KiB}")) { proxy throws in
      for count in [4, 60_000, 300_000] {
        for _ in 0..<2 {
          let body = String(repeating: "x", count: count)
          let answer = try proxy.ask("POST", "http://plain.test/echo", body: body)
          // The origin's peer knows no expectation; what cannot be sent again ends with the parent's own words.
          #expect(answer.status == 200 || count > 65_536 && answer.status == 502, "\(count): \(answer.head)\n\(proxy.tail)")
          #expect(answer["Proxy-Authenticate"] == nil)
        }
      }
      try expectClean(proxy)
    }
  }

  @Test func `an app's tunnel authenticates, too`() throws {
    try set(#""algorithm": "SHA-256", "closes": true"#)
    try withProxy(try configuration()) { proxy throws in
      let target = "x.far.test:\(try Origin.shared().ports.http)"
      let client = try proxy.connect()
      try client.send("CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n\r\n")
      #expect(try client.readAnswer(to: "CONNECT").status == 200, "\(proxy.tail)")
      try client.send("GET /echo HTTP/1.1\r\nHost: x\r\n\r\n")
      let answer = try client.readAnswer()
      #expect(answer.status == 200 && !answer.text.contains("Digest"))
      try expectClean(proxy)
    }
  }

  @Test(arguments: [true, false], [#""closes": true"#, #""uses": 1"#])
  func `the proxy's own requests authenticate, too`(_ tls: Bool, _ digest: String) throws {
    try set(digest)
    let (ports, name) = (try Origin.shared().ports, Origin.newName())
    let endpoint = tls ? "https://localhost:\(ports.https)" : "http://localhost:\(ports.http)"
    let configuration = """
      via: corporate
      parents: {corporate: {url: "\(parent.url("http"))", credential: proxy-login}}
      upstreams:
        - {match: api.test, origin: "http://localhost:\(ports.http)", credential: api, via: direct}
        - {match: plain.test, origin: "http://localhost:\(ports.http)"}
      credentials:
        proxy-login: {digest: {username: proxyuser, password: {file: "\(folder)/password"}}}
        api:
          allow_plaintext: true
          oauth2: {grant: client_credentials, token_url: "\(endpoint)/oauth/\(name)/token", client_id: id, client_secret: secret-5ecret}
      admin: 127.0.0.1:0
      threads: 1

      """
    try withProxy(configuration) { proxy throws in
      let answer = try proxy.ask("http://api.test/api/\(name)/x")
      #expect(answer.status == 200, "\(answer.head)\(answer.text)\n\(proxy.tail)")
      #expect(try proxy.ask("http://plain.test/echo").status == 200)
      try expectClean(proxy)
    }
  }

  @Test func `a parent that offers no Digest gets no password, and is asked again later`() throws {
    try withProxy(try configuration()) { proxy throws in
      let answer = try proxy.ask("http://api.test/echo")
      #expect(answer.status == 502 && answer["Proxy-Status"]?.contains("asked for Basic") == true, "\(answer.head)")
      #expect(try proxy.ask("http://api.test/echo").status == 502)
      let asked = try parent.asked()
      #expect(asked.count == 1 && asked[0].fields["proxy-authorization"] == nil)
      #expect(try !proxy.admin("status").text.contains("needs_operator"))
    }
  }

  @Test func `a parent that asks for nothing keeps no connection waiting`() throws {
    try parent.set(#"{"login": null}"#)
    try withProxy(try configuration()) { proxy throws in
      let clients = try (0..<12).map { _ in try proxy.connect() }
      let start = Date()
      for (index, client) in clients.enumerated() {
        try client.send(ProxyProcess.request("GET", "http://\(index % 2 == 0 ? "plain.test" : "api.test")/slowly/5"))
      }
      for client in clients { #expect(try client.readAnswer().status == 200) }
      // A trial that nobody settles lasts 3 s.
      #expect(Date().timeIntervalSince(start) < 2.5)
    }
  }
}
