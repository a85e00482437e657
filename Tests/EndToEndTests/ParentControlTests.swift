import Foundation
import Testing

/// The proxy's own requests take the ways of their hosts.
@Suite struct ParentControlTests {
  /// - Parameter endpoint: of the token server, with `{https}` and `{http}` for the origin's ports.
  static func configuration(
    _ parent: ParentServer, scheme: String, name: String, endpoint: String = "https://token.example.test:{https}"
  ) throws -> String {
    let origin = try Origin.shared().ports
    let endpoint = endpoint.replacingOccurrences(of: "{https}", with: "\(origin.https)")
      .replacingOccurrences(of: "{http}", with: "\(origin.http)")
    return """
      via: corporate
      parents:
        corporate: {url: "\(parent.url(scheme))", credential: proxy-login}
      upstreams:
        - {match: api.test, origin: "http://localhost:\(origin.http)", credential: api, via: direct}
      credentials:
        proxy-login: {basic: {username: proxyuser, password: pw-5ecret-parent}}
        api:
          allow_plaintext: true
          oauth2:
            grant: client_credentials
            token_url: \(endpoint)/oauth/\(name)/token
            client_id: id
            client_secret: secret-5ecret
      threads: 1

      """
  }

  @Test(arguments: ["http", "https", "socks5h"])
  func `a token is fetched through the parent`(_ scheme: String) throws {
    let (parent, name) = (try ParentServer(), Origin.newName())
    try parent.set(#"{"login": "\#(ParentServer.login)"}"#)
    try withProxy(try Self.configuration(parent, scheme: scheme, name: name)) { proxy throws in
      let answer = try proxy.ask("http://api.test/api/\(name)/x")
      #expect(answer.status == 200, "\(answer.head)\(answer.text)\n\(proxy.tail)")
      let asked = try parent.asked()
      #expect(asked.map(\.kind) == [scheme == "socks5h" ? "socks" : "connect"])
      #expect(asked.first?.target.hasSuffix("token.example.test:\(try Origin.shared().ports.https)") == true)
    }
  }

  @Test func `what the parent refuses is said, and nothing goes around it`() throws {
    let (parent, name) = (try ParentServer(), Origin.newName())
    try parent.set(#"{"login": "other:5ecret"}"#)
    try withProxy(try Self.configuration(parent, scheme: "http", name: name)) { proxy throws in
      let answer = try proxy.ask("http://api.test/api/\(name)/x")
      #expect(answer.status == 503)
      let line = proxy.process.awaitLine { $0.contains("the parent proxy corporate: it refuses the credential proxy-login") }
      #expect(line != nil, "\(proxy.tail)")
      #expect(try parent.asked().count == 1)
    }
  }

  /// To a parent, loopback is another machine, and such requests may be in clear text.
  @Test(arguments: ["http://localhost:{http}", "http://127.0.0.1:{http}", "https://localhost:{https}"])
  func `what is meant for this machine does not leave it`(_ endpoint: String) throws {
    let (parent, name) = (try ParentServer(), Origin.newName())
    try withProxy(try Self.configuration(parent, scheme: "http", name: name, endpoint: endpoint)) { proxy throws in
      let answer = try proxy.ask("http://api.test/api/\(name)/x")
      #expect(answer.status == 200, "\(answer.head)\(answer.text)\n\(proxy.tail)")
      #expect(try parent.asked().isEmpty)
    }
  }

  private static let written = "hosts: {token.example.test: [127.0.0.1]}\n"

  @Test func `a parent that never answers is named`() throws {
    let (parent, name) = (try ParentServer(), Origin.newName())
    try parent.set(#"{"silent": ""}"#)
    let text = try Self.configuration(parent, scheme: "http", name: name)
      .replacingOccurrences(of: "client_id: id", with: "client_id: id\n      timeout: 1s")
    try withProxy(text) { proxy throws in
      #expect(try proxy.ask("http://api.test/api/\(name)/x").status == 503)
      let line = proxy.process.awaitLine { $0.contains("the parent proxy corporate: no connection in time") }
      #expect(line != nil, "\(proxy.tail)")
    }
  }

  @Test func `a reload takes a token request away from a parent that does not answer`() throws {
    let (parent, name) = (try ParentServer(), Origin.newName())
    try parent.set(#"{"silent": ""}"#)
    let text = try Self.configuration(parent, scheme: "http", name: name) + Self.written
    try withProxy(text) { proxy throws in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/api/\(name)/x"))
      #expect(try eventually { try parent.asked().count == 1 })
      let began = Date()
      try proxy.reload(text.replacingOccurrences(of: "via: corporate", with: "via: direct"))
      #expect(try client.readAnswer().status == 200, "\(proxy.tail)")
      // The token request's own limit is 10 s.
      #expect(Date().timeIntervalSince(began) < 6)
      #expect(try parent.asked().count == 1)
    }
  }

  @Test func `a shortage of descriptors delays a token request, no more`() throws {
    let (parent, name, shortage) = (try ParentServer(), Origin.newName(), try Shortage())
    let text = try Self.configuration(parent, scheme: "http", name: name)
    try withProxy(text, environment: shortage.environment) { proxy throws in
      try shortage.beginOfAccepting()
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/api/\(name)/x"))
      #expect(proxy.process.awaitLine { $0.contains("out of file descriptors") } != nil, "\(proxy.tail)")
      try shortage.endOfAccepting()
      let began = Date()
      #expect(try client.readAnswer().status == 200, "\(proxy.tail)")
      #expect(Date().timeIntervalSince(began) < 6)
    }
  }

  /// Its name is random, and says nothing to a process that does not know it; this one reads it from the kernel's list.
  @Test func `no other process gets through the passage of a token request`() throws {
    let (parent, name) = (try ParentServer(), Origin.newName())
    try parent.set(#"{"silent": ""}"#)
    let text = try Self.configuration(parent, scheme: "http", name: name) + Self.written
    try withProxy(text) { proxy throws in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/api/\(name)/x"))
      #expect(try eventually { try parent.asked().count == 1 })
      let program = """
        import socket
        names = {line.split()[-1][1:] for line in open("/proc/net/unix") if "@authproxy-" in line}
        for name in names:
            client = socket.socket(socket.AF_UNIX)
            client.settimeout(10)
            try:
                client.connect("\\0" + name)
                client.sendall(b"GET / HTTP/1.1\\r\\n\\r\\n")
                print(repr(client.recv(100)))
            except OSError:
                print(repr(b""))
        """
      let done = try ChildProcess.run(Surroundings.python, ["-c", program])
      let answers = Set(done.output.split(separator: "\n").map(String.init))
      #expect(answers == ["b''"], "\(done.output)\(done.errors)")
      #expect(try parent.asked().count == 1)
      try proxy.reload(text.replacingOccurrences(of: "via: corporate", with: "via: direct"))
      #expect(try client.readAnswer().status == 200, "\(proxy.tail)")
    }
  }

  /// libcurl reads more into a URL than any rule about hosts does.
  @Test(
    arguments: [
      "http://authority.test:{port}/live/odd%23fragment", "http://u:p@authority.test:{port}/live/odd",
      "http://127.1:{port}/live/odd", "http://0x7f000001:{port}/live/odd", "http:///127.0.0.1:{port}/live/odd",
    ])
  func `a pointer that leads nobody knows where is not followed`(_ pointer: String) throws {
    let (world, parent) = (try TrustWorld(), try ParentServer())
    try world.issue("odd", seconds: 3600, ocsp: pointer)
    let server = try TLSServer(world, "odd")
    let policy = [world.root, RevocationByOCSPTests.check(RevocationByOCSPTests.hard)]
    let top = """
      via: corporate
      parents: {corporate: {url: "\(parent.url("http"))"}}
      hosts: {authority.test: [127.0.0.1]}
      \(RevocationByOCSPTests.loopback)
      """
    let cases = [TrustCase("odd", "https://localhost:\(server.port)", policy)]
    try withProxy(TrustCase.configuration(cases, top: top)) { proxy throws in
      let answer = try proxy.ask("http://odd.test/")
      expectOwnAnswer(answer, 502, "tls_certificate_error")
      #expect(answer["Proxy-Status"]?.contains("revocation_unknown") == true, "\(answer.head)")
      #expect(try world.count("odd") == 0)
      #expect(Set(try parent.asked().map(\.kind)) == ["connect"])
    }
  }
}
