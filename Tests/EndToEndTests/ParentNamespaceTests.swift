import Foundation
import Testing

/// Where only the parent's address can be reached and no name can be resolved, everything works. See isolated.py.
@Suite struct ParentNamespaceTests {
  private static func wrapper(_ port: Int) -> [String] {
    [Surroundings.python, Surroundings.support + "/isolated.py", "\(port)"]
  }

  /// Containers may not allow namespaces.
  static let canIsolate =
    (try? ChildProcess.run(wrapper(1)[0], Array(wrapper(1).dropFirst()) + ["true"]))?.status == .exited(0)

  private struct Place {
    let parent: ParentServer
    let scheme: String
    let world: TrustWorld
    let servers: [String: TLSServer]
    let tokens: TokenServer

    var port: Int { scheme == "https" ? parent.ports.https : scheme == "http" ? parent.ports.http : parent.ports.socks }

    init(_ scheme: String) throws {
      (parent, self.scheme, world, tokens) = (try ParentServer(), scheme, try TrustWorld(), try TokenServer())
      servers = ["ocsp": try TLSServer(world, "named-ocsp"), "crl": try TLSServer(world, "named-crl")]
      try parent.set(#"{"login": "\#(ParentServer.login)"}"#)
    }

    func configuration(_ socket: String) throws -> String {
      let (origin, pki) = (tokens.origin.ports, try Surroundings.pki())
      // The certificate of localhost is one of this name, too.
      let host = scheme == "https" ? "proxy.example.test" : "192.0.2.1"
      let ports = try ["ocsp", "crl"].map { try #require(servers[$0]?.port) }
      return """
        listen: "unix:\(socket)"
        via: corporate
        hosts: {proxy.example.test: [192.0.2.1]}
        parents: {corporate: {url: "\(scheme)://\(host):8080", credential: proxy-login}}
        forbidden_addresses: []
        upstreams:
          - {match: api.test, origin: "https://api.example.test:\(origin.https)"}
          - {match: plain.test, origin: "http://plain.example.test:\(origin.http)"}
          - {match: token.test, origin: "https://api.example.test:\(origin.https)", credential: api}
          - {match: ocsp.test, origin: "https://localhost:\(ports[0])", trust: ocsp}
          - {match: crl.test, origin: "https://localhost:\(ports[1])", trust: crl}
        connect: {allow: ["tunnel.example.test:\(origin.http)"]}
        credentials:
          proxy-login: {basic: {username: proxyuser, password: pw-5ecret-parent}, allow_plaintext: true}
          api:
            oauth2:
              grant: client_credentials
              token_url: "https://token.example.test:\(origin.https)/oauth/\(tokens.name)/token"
              client_id: me
              client_secret: shh-5ecret-client
        trust:
          default: [default: {ca_file: \(pki)/ca.pem, system_roots: false}]
          ocsp: [\(world.root.dropFirst(2)), revocation: {check: leaf, methods: [ocsp], require_positive_response: true}]
          crl: [\(world.root.dropFirst(2)), revocation: {check: leaf, methods: [crl], require_positive_response: true}]

        """
    }
  }

  @Test(.enabled(if: canIsolate, "no network namespaces here"))
  func `nothing but the parent can be reached there`() throws {
    let origin = try Origin.shared()
    let script = """
      curl -sS --noproxy '*' -m 5 http://127.0.0.1:\(origin.ports.http)/ && exit 1
      curl -sS --noproxy '*' -m 5 http://api.example.test:\(origin.ports.http)/ && exit 2
      curl -sS --noproxy '*' -m 5 http://localhost:\(origin.ports.http)/ && exit 3
      exec curl -sS --noproxy '*' -m 5 http://192.0.2.1:8080/echo
      """
    let words = Self.wrapper(origin.ports.http) + ["sh", "-c", script]
    let done = try ChildProcess.run(words[0], Array(words.dropFirst()))
    #expect(done.status == .exited(0) && done.output.contains("/echo"), "\(done.errors)")
  }

  @Test(.enabled(if: canIsolate, "no network namespaces here"), arguments: ["http", "https", "socks5h"])
  func `pins needs no other address and no DNS`(_ scheme: String) throws {
    let (place, folder) = (try Place(scheme), try Surroundings.newFolder())
    let port = place.tokens.origin.ports.https
    // The other name is a host below a wildcard.
    let text = try place.configuration(folder + "/s")
      .replacingOccurrences(of: "upstreams:", with: "upstreams:\n  - {match: \"https://*.example.test:\(port)\"}")
    try ProxyProcess.write(text + "intercept: {ca: {generate: ca}}\n", to: folder + "/proxy.conf")
    for host in ["api", "other"] {
      let server = "\(host).example.test:\(port)"
      let words =
        Self.wrapper(place.port) + [
          Surroundings.program, "pins", "--config", folder + "/proxy.conf", "--ca-file", try Surroundings.pki() + "/ca.pem",
          server,
        ]
      let shown = try ChildProcess.run(words[0], Array(words.dropFirst()))
      #expect(shown.status == .exited(0), "\(shown.output)\(shown.errors)")
      #expect(shown.output.hasPrefix("through the parent proxy corporate\n"), "\(shown.output)")
      #expect(shown.output.contains("\(host).example.test: the chain is verified"), "\(shown.output)")
      #expect(!(shown.output + shown.errors).contains("5ecret"))
    }
    let name = scheme == "socks5h" ? "name " : ""
    #expect(try place.parent.asked().map(\.target) == ["api", "other"].map { "\(name)\($0).example.test:\(port)" })
  }

  @Test(.enabled(if: canIsolate, "no network namespaces here"), arguments: ["http", "https", "socks5h"])
  func `requests, tunnels, WebSockets, tokens and revocation need no other address and no DNS`(_ scheme: String) throws {
    let place = try Place(scheme)
    let socket = try Surroundings.newFolder() + "/s"
    let proxy = try ProxyProcess(try place.configuration(socket), wrapper: Self.wrapper(place.port))
    defer { proxy.stop() }
    func ask(_ url: String, _ fields: [String] = []) throws -> (RawConnection, Answer) {
      let client = try RawConnection(unixPath: socket)
      try client.send(ProxyProcess.request(url.contains("://") ? "GET" : "CONNECT", url, fields))
      return (client, try client.readAnswer(to: url.contains("://") ? "GET" : "CONNECT"))
    }
    for _ in 0..<2 {
      for url in ["api.test/echo", "plain.test/echo", "token.test/api/\(place.tokens.name)/x", "ocsp.test/", "crl.test/"] {
        let answer = try ask("http://" + url).1
        #expect(answer.status == 200, "\(url): \(answer.head)\(answer.text)\n\(proxy.tail)")
      }
    }
    #expect(try place.world.count("named-ocsp") == 1 && place.world.count("named-crl") == 1)
    let (tunnel, answer) = try ask("tunnel.example.test:\(place.tokens.origin.ports.http)")
    #expect(answer.status == 200, "\(answer.head)")
    try tunnel.send("GET /status/204 HTTP/1.1\r\nHost: x\r\n\r\n")
    #expect(try tunnel.readAnswer().status == 204)
    let (socketClient, upgraded) = try ask("http://plain.test/ws", ["Connection: upgrade", "Upgrade: websocket"])
    #expect(upgraded.status == 101, "\(upgraded.head)")
    try socketClient.send("ping")
    #expect(try socketClient.read(4) == Array("ping".utf8))
    let targets = Set(try place.parent.asked().map(\.target))
    // Names, and none that this process has resolved.
    #expect(targets.contains { $0.contains("api.example.test") } && targets.contains { $0.contains("token.example.test") })
    #expect(targets.contains { $0.contains("authority.test:\(place.world.port)") }, "\(targets)")
  }
}
