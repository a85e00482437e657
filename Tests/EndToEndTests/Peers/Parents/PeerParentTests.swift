import Foundation
import Testing

/// Parent proxies by other hands: squid, tinyproxy, microsocks, Dante. Their logs, and the addresses that origins see, tell that nothing
/// goes around them.
@Suite struct PeerParentTests {
  private func configuration(
    _ url: String, _ tokens: TokenServer, password: String? = RealParent.password, keys: String = ""
  ) throws -> String {
    let origin = try Origin.shared().ports
    let clear = "http://localhost:\(origin.http)"
    let login = password.map { "  proxy-login: {basic: {username: \(RealParent.user), password: \($0)}}\n" } ?? ""
    let tokenURL = "https://\(RealParent.host):\(origin.https)/oauth/\(tokens.name)/token?id=\(tokens.name)"
    return """
      via: corporate
      parents:
        corporate: {url: "\(url)"\(password == nil ? "" : ", credential: proxy-login")\(keys)}
      upstreams:
        - {match: api.test, origin: "https://localhost:\(origin.https)"}
        - {match: plain.test, origin: "\(clear)"}
        - {match: token.test, origin: "https://localhost:\(origin.https)", credential: api}
      connect: {allow: ["127.0.0.1:\(origin.https)"]}
      forbidden_addresses: []
      threads: 2
      credentials:
      \(login)  api:
          oauth2: {grant: client_credentials, token_url: "\(tokenURL)", client_id: me, client_secret: shh-5ecret}

      """
  }

  /// Whether the origin was asked so often under this name, each time by the parent.
  private func expectOnlyParent(_ name: String, count: Int) throws {
    let peers = try Origin.shared().exchanges(name).map(\.peer)
    #expect(peers == Array(repeating: RealParent.source, count: count), "\(name)")
  }

  @Test(arguments: RealParent.present)
  func `https and http origins, tunnels of apps and token requests go through it alone`(_ kind: RealParent.Kind) throws {
    let (parent, origin) = (try RealParent(kind), try Origin.shared())
    let token = try TokenServer()
    let names = (0..<3).map { _ in Origin.newName() }
    let password = kind == .openDante ? nil : RealParent.password
    try withProxy(try configuration(parent.url, token, password: password)) { proxy throws in
      for _ in 0..<3 {
        for (host, name) in [("api.test", names[0]), ("plain.test", names[1])] {
          let answer = try proxy.ask("POST", "http://\(host)/upload?id=\(name)", body: String(repeating: "b", count: 70_000))
          #expect(answer.status == 200, "\(host): \(answer.head)\(answer.text)\n\(parent.log())")
        }
      }
      let answer = try proxy.ask("http://token.test/api/\(token.name)/x?id=\(token.name)")
      #expect(answer.status == 200, "\(answer.head)\(answer.text)\n\(proxy.tail)\n\(parent.log())")
      let curl = try ChildProcess.run(
        "curl",
        [
          "-sS", "--noproxy", "", "--proxytunnel", "-x", "http://127.0.0.1:\(proxy.port)", "--cacert",
          "\(try Surroundings.pki())/ca.pem", "https://127.0.0.1:\(origin.ports.https)/echo?id=\(names[2])",
        ])
      #expect(curl.status == .exited(0) && curl.output.contains(names[2]), "\(curl.errors)")
    }
    try expectOnlyParent(names[0], count: 3)
    try expectOnlyParent(names[1], count: 3)
    try expectOnlyParent(names[2], count: 1)
    // The token request, and the request with the token.
    try expectOnlyParent(token.name, count: 2)
    for name in names {
      for exchange in try origin.exchanges(name) {
        #expect(exchange.all("Proxy-Authorization").isEmpty && !exchange.raw_head.contains(RealParent.password))
      }
    }
    try expectLogged(parent, origin.ports)
  }

  /// The parent has logged what went through it. squid does so after the end.
  private func expectLogged(_ parent: RealParent, _ ports: Origin.Ports) throws {
    let name = parent.kind == .dante || parent.kind == .openDante ? "127.0.0.1." : "localhost:"
    let written = try eventually {
      let lines = parent.log().split(separator: "\n")
      return [name + "\(ports.https)", name + "\(ports.http)"].allSatisfy { target in
        lines.contains { $0.contains(target) && !$0.contains("DENIED") }
      }
    }
    #expect(written, "\(parent.log())")
    if parent.kind == .squid || parent.kind == .squidOverTLS {
      // Without those who connected and said nothing.
      let lines = parent.log().split(separator: "\n").filter { !$0.contains("error:transaction-end-before-headers") }
      #expect(lines.allSatisfy { $0.contains(" \(RealParent.user) ") })
      // Of http:// origins each request, of others each tunnel.
      #expect(lines.filter { $0.contains("POST http://localhost:\(ports.http)/") }.count == 3, "\(parent.log())")
    }
  }

  @Test(arguments: RealParent.present.filter { $0 != .openDante })
  func `it gets a wrong password once, however many requests wait`(_ kind: RealParent.Kind) throws {
    let parent = try RealParent(kind)
    let relay = try Relay(to: parent.port, keep: true)
    let url = parent.url.replacing(":\(parent.port)", with: ":\(relay.port)")
    try withProxy(try configuration(url, try TokenServer(), password: "wrong-5ecret")) { proxy throws in
      let clients = try (0..<20).map { _ in try proxy.connect() }
      for client in clients { try client.send(ProxyProcess.request("GET", "http://api.test/echo")) }
      for client in clients {
        let answer = try client.readAnswer()
        #expect(answer.status == 502 && answer.proxyError == "proxy_configuration_error", "\(answer.head)\(parent.log())")
      }
      #expect(try proxy.ask("http://token.test/x").status == 503)
      #expect(try proxy.ask("http://api.test/echo").status == 502)
      if kind == .squidOverTLS {
        #expect(parent.log().split(separator: "\n").filter { $0.contains("/407 ") }.count == 1, "\(parent.log())")
      } else {
        // Others have connected, and wait for what comes of it.
        #expect(try relay.kept().filter { !$0.isEmpty }.count == 1)
      }
    }
  }
}
