import Foundation
import Testing

/// Every byte that parents and origins get, and every output: the parent's password is at the parent alone, and the origin's
/// credentials are at the origin, but for http:// origins.
@Suite struct ParentSecretsTests {
  private static let schemes = ["http", "https", "socks5h"]
  /// Each credential's secret.
  private static let inside = [
    "bearer": "bearer-5ecret/+~==", "client": "client-5ecret/+&=", "query": "query-5ecret/+&", "path": "path-5ecret:+~",
    "issued": WitnessOrigin.token,
  ]
  /// Of requests to http:// origins, which parents read.
  private static let clear = "clear-5ecret/+~=="
  private static let ofApp = "app-5ecret-login"

  private static func password(_ scheme: String) -> String { "\(scheme)-5ecret/+&" }

  private struct World {
    let origin = Result { try WitnessOrigin() }
    var parents: [String: ParentServer] = [:]

    init() throws {
      for scheme in schemes {
        let parent = try ParentServer()
        try parent.set(#"{"login": "proxyuser:\#(password(scheme))", "capture": true}"#)
        parents[scheme] = parent
      }
    }

    func configuration() throws -> String {
      let origin = try origin.get()
      let secure = "https://localhost:\(origin.https)"
      let wrong = "https://localhost:\(try Origin.shared().ports.wrong_host)"
      var (lines, entries, credentials) = (["parents:"], ["upstreams:"], ["credentials:"])
      for scheme in schemes {
        guard let parent = parents[scheme] else { continue }
        lines.append("  \(scheme): {url: \"\(parent.url(scheme))\", credential: login-\(scheme)}")
        credentials.append("  login-\(scheme): {basic: {username: proxyuser, password: \"\(password(scheme))\"}}")
        for (name, place, credential) in [
          ("bearer", secure, "bearer"), ("oauth", secure, "oauth"), ("query", secure, "query"), ("path", secure, "path"),
          ("clear", "http://localhost:\(origin.http)", "clear"), ("wrong", wrong, "bearer"),
        ] {
          entries.append(
            "  - {match: \(name).\(scheme).test, origin: \"\(place)\", credential: \(credential), via: \(scheme)}")
        }
      }
      lines.append("  dead: {url: \"http://127.0.0.1:1\", credential: login-dead}")
      entries.append("  - {match: bearer.dead.test, origin: \"\(secure)\", credential: bearer, via: dead}")
      let inside = ParentSecretsTests.inside
      func secret(_ name: String) -> String { "\"\(inside[name] ?? "")\"" }
      credentials += [
        "  login-dead: {basic: {username: proxyuser, password: \"\(password("dead"))\"}}",
        "  bearer: {bearer: {token: \(secret("bearer"))}}", "  query: {query: {name: key, value: \(secret("query"))}}",
        "  path: {path: {segment: \"bot{value}\", value: \(secret("path"))}}",
        "  clear: {bearer: {token: \"\(clear)\"}, allow_plaintext: true}",
        "  oauth: {oauth2: {grant: client_credentials, token_url: \"\(secure)/token\", client_id: me, client_secret: \(secret("client"))}}",
      ]
      let top = [
        "via: http", "admin: 127.0.0.1:0", "log: {level: trace}",
        "connect: {allow: [\"x.example.test:\(origin.http)\", \"localhost:1\"]}",
      ]
      return (top + lines + entries + credentials).joined(separator: "\n") + "\n"
    }
  }

  /// - Returns: what the proxy itself answered.
  private func ask(_ proxy: ProxyProcess, _ kinds: [String], over scheme: String, expecting status: Int?) throws -> [String] {
    var said: [String] = []
    for kind in kinds {
      for method in ["GET", "POST"] {
        let answer = try proxy.ask(
          method, "http://\(kind).\(scheme).test/a?b=c",
          ["Proxy-Authorization: Basic \(Data(Self.ofApp.utf8).base64EncodedString())"],
          body: method == "POST" ? "body" : nil)
        if let status { #expect(answer.status == status, "\(kind), \(scheme): \(answer.head)\(answer.text)\n\(proxy.tail)") }
        said.append(answer.head + (answer.proxyError == nil ? "" : answer.text))
      }
    }
    return said
  }

  @Test func `parents, origins and outputs get nothing that is not theirs`() throws {
    let world = try World()
    let origin = try world.origin.get()
    let configuration = try world.configuration()
    let proxy = try ProxyProcess(configuration)
    var said: [String] = []
    for scheme in Self.schemes {
      said += try ask(proxy, ["bearer", "oauth", "query", "path", "clear"], over: scheme, expecting: 200)
      said += try ask(proxy, ["wrong"], over: scheme, expecting: 502)
    }
    said += try ask(proxy, ["bearer"], over: "dead", expecting: 502)
    for target in ["x.example.test:\(origin.http)", "localhost:1", "x.example.test:1"] {
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("CONNECT", target, ["Proxy-Authorization: Basic YXBwOjVlY3JldA=="]))
      said.append(try client.readAnswer(to: "CONNECT").head)
    }
    // From now on the parents want other passwords, and answer nonsense.
    for (scheme, parent) in world.parents { try parent.set(#"{"login": "proxyuser:other-\#(scheme)"}"#) }
    try proxy.reload(configuration + "threads: 1\n")
    for scheme in Self.schemes { said += try ask(proxy, ["wrong", "clear"], over: scheme, expecting: nil) }

    try expectNothingAtOthers(world)
    for host in Self.schemes.flatMap({ scheme in ["bearer", "query", "path", "clear"].map { "\($0).\(scheme)" } }) {
      let explained = try ChildProcess.run(
        Surroundings.program, ["explain", "--config", proxy.configurationPath, "GET", "http://\(host).test/a?b"])
      said += [explained.output, explained.errors]
    }
    let check = try ChildProcess.run(Surroundings.program, ["check", "--config", proxy.configurationPath])
    #expect(check.output.contains("login-socks5h"), "\(check.output)\(check.errors)")
    said += [check.output, check.errors]
    for page in ["metrics", "status"] { said.append(try proxy.admin(page).text) }
    proxy.process.signal(SIGTERM)
    #expect(proxy.process.awaitEnd(seconds: 10) == .exited(0))
    #expect(proxy.process.lines.count > 50)
    said += proxy.process.lines + [proxy.process.errors]
    let passwords = (Self.schemes + ["dead"]).map(Self.password)
    let secrets = passwords + Self.inside.values + [Self.clear, Self.ofApp]
    Spellings.expectNone(of: secrets.map { Array($0.utf8) }, in: said)
  }

  private func expectNothingAtOthers(_ world: World) throws {
    let seen = try world.origin.get().seen()
    let passwords = (Self.schemes + ["dead"]).map(Self.password)
    // The capture has what it should have.
    for secret in ["bearer", "issued"] { #expect(seen.https.contains(Self.inside[secret] ?? "-")) }
    #expect(seen.https.contains("/botpath-5ecret:") && seen.https.contains("key=query-5ecret"))
    #expect(seen.http.contains(Self.clear) && !seen.https.contains(Self.clear))
    Spellings.expectNone(of: (passwords + [Self.ofApp]).map { Array($0.utf8) }, in: [seen.http, seen.https])
    #expect(!(seen.http + seen.https).lowercased().contains("proxy-authorization"))
    for scheme in Self.schemes {
      let captured = try #require(try world.parents[scheme]?.set("{}").captured)
      let own = Self.password(scheme)
      let login = scheme == "socks5h" ? own : Data("proxyuser:\(own)".utf8).base64EncodedString()
      #expect(captured.contains(login) && captured.contains(Self.clear), "\(scheme)")
      let foreign = passwords.filter { $0 != own } + Self.inside.values + [Self.ofApp]
      Spellings.expectNone(of: foreign.map { Array($0.utf8) }, in: [captured])
      // The path and query of requests inside of tunnels are not the parent's either.
      #expect(!captured.contains("/token") && !captured.contains("POST https"))
    }
  }
}
