import Foundation
import Testing

/// `authproxy pins --config`: the server is reached as the configuration says.
@Suite struct PinsByWayTests {
  private func pins(_ server: String, _ configuration: String) throws -> ChildProcess.Finished {
    let folder = try Surroundings.newFolder()
    try ProxyProcess.write("listen: 127.0.0.1:3128\n" + configuration, to: folder + "/proxy.conf")
    let shown = try ChildProcess.run(
      Surroundings.program,
      ["pins", "--config", folder + "/proxy.conf", "--ca-file", try Surroundings.pki() + "/ca.pem", "--timeout", "5", server])
    #expect(!(shown.output + shown.errors).contains("5ecret"))
    return shown
  }

  private func login(_ password: String) -> String {
    "credentials: {login: {basic: {username: proxyuser, password: \(password)}, allow_plaintext: true}}"
  }

  @Test(arguments: ["http", "https", "socks5", "socks5h"])
  func `it goes through the parent, with the parent's credential`(_ scheme: String) throws {
    let (parent, server) = (try ParentServer(), try ListedOrigin())
    try parent.set(#"{"login": "\#(ParentServer.login)"}"#)
    func configuration(_ password: String) throws -> String {
      """
      via: up
      parents: {up: {url: "\(parent.url(scheme))", credential: login\(scheme == "https" ? ", trust: test" : "")}}
      trust: {test: [{default: {ca_file: \(try Surroundings.pki())/ca.pem, system_roots: false}}]}
      hosts: {a.example.test: [127.0.0.1]}
      \(login(password))
      """
    }
    let shown = try pins("a.example.test:\(server.port)", try configuration("pw-5ecret-parent"))
    #expect(shown.status == .exited(0), "\(shown.errors)")
    #expect(shown.output.hasPrefix("through the parent proxy up\n"), "\(shown.output)")
    #expect(shown.output.contains("a.example.test: the chain is verified"), "\(shown.output)")
    let asked = try parent.news()
    #expect(asked.map(\.kind) == [scheme.hasPrefix("http") ? "connect" : "socks"])
    // socks5:// resolves here: the parent is asked for the address.
    let kinds = ["socks5": "address 127.0.0.1", "socks5h": "name a.example.test"]
    #expect(asked[0].target == "\(kinds[scheme] ?? "a.example.test"):\(server.port)")
    #expect(try server.taken() == 1)

    let refused = try pins("a.example.test:\(server.port)", try configuration("wrong-5ecret"))
    #expect(refused.status == .exited(1) && refused.output.isEmpty)
    #expect(refused.errors.contains("the parent proxy up: it refuses the credential login"), "\(refused.errors)")
    #expect(try server.taken() == 1)
  }

  @Test func `routes, an entry's own via, hosts and address_family hold`() throws {
    let (parent, server) = (try ParentServer(), try ListedOrigin())
    let place = "a.example.test:\(server.port)"
    let top = """
      parents: {up: {url: "\(parent.url("http"))"}}
      hosts: {a.example.test: [127.0.0.1]}

      """
    let direct = try pins(place, top + "via: up\nroutes: [{match: a.example.test, via: direct}]\n")
    #expect(direct.status == .exited(0), "\(direct.errors)")
    #expect(!direct.output.contains("through the parent") && direct.output.contains("the chain is verified"))
    #expect(try parent.asked().isEmpty)

    let entry = "upstreams: [{match: api.test, origin: [\"https://b.example.test\", \"https://\(place)\"], via: up}]\n"
    #expect(try pins(place, top + entry).status == .exited(0))
    #expect(try parent.asked().map(\.target) == [place])

    let excluded = try pins(place, top + "address_family: ipv6\nupstreams: [{match: api.test}]\n")
    #expect(excluded.status == .exited(1))
    #expect(excluded.errors.contains("a.example.test has no address of a family that may be used"), "\(excluded.errors)")
  }

  /// Below a wildcard without `origin` each host is an origin of its own.
  @Test func `the via, bind and address_family of a wildcard entry hold, as for a request`() throws {
    let (parent, server) = (try ParentServer(), try ListedOrigin())
    let place = "a.example.test:\(server.port)"
    func configuration(_ keys: String, match: String? = nil, more: String = "") -> String {
      """
      via: up
      parents: {up: {url: "\(parent.url("http"))"}}
      hosts: {a.example.test: [127.0.0.1]}
      intercept: {ca: {generate: ca}}
      upstreams:
        - {match: "\(match ?? "https://*.example.test:\(server.port)")", \(keys)}
      \(more)

      """
    }
    let direct = try pins(place, configuration("via: direct"))
    #expect(direct.status == .exited(0), "\(direct.errors)")
    #expect(!direct.output.contains("through the parent") && direct.output.contains("the chain is verified"))
    for (keys, text) in [
      ("via: direct, address_family: ipv6", "a.example.test has no address of a family that may be used"),
      ("via: direct, bind: [192.0.2.77]", "192.0.2.77"),
    ] {
      let shown = try pins(place, configuration(keys))
      #expect(shown.status == .exited(1) && shown.errors.contains(text), "\(shown.errors)")
    }
    #expect(try parent.asked().isEmpty)

    // A request for the host goes to a more specific entry, or does not come to this one.
    let port = server.port
    for (host, match, more) in [
      ("x.a", "https://*.example.test:\(port)", "  - {match: \"https://*.a.example.test:\(port)\"}"),
      ("a", "https://*.example.test:\(port)", "  - {match: \"https://a.example.test:\(port)\", origin: \"https://c.test\"}"),
      ("a", "https://*.example.test:\(port - 1)", ""),
    ] {
      let shown = try pins("\(host).example.test:\(port)", configuration("via: direct", match: match, more: more))
      #expect(shown.output.hasPrefix("through the parent proxy up\n"), "\(match): \(shown.errors)")
    }
    // Apps ask for http://, and the origin's port is not that of the match.
    try parent.set(#"{"answer": "HTTP/1.1 403 No\r\n\r\n", "forget": true}"#)
    let text = configuration("via: up", match: "*.example.test:8443").replacingOccurrences(of: "via: up\np", with: "p")
    let shown = try pins("a.example.test", text)
    #expect(shown.errors.contains("the parent proxy up: it does not let this through, 403"), "\(shown.errors)")
    #expect(try parent.asked().map(\.target) == ["a.example.test:443"])
  }

  @Test func `a parent that refuses or is not there is named, and mistakes of the file are reported`() throws {
    let (parent, dead) = (try ParentServer(), try TestListener(backlog: nil))
    try parent.set(#"{"answer": "HTTP/1.1 403 No\r\n\r\n"}"#)
    for (url, text) in [
      (parent.url("http"), "the parent proxy up: it does not let this through, 403"),
      ("http://127.0.0.1:\(dead.port)", "the parent proxy up: Connection refused"),
    ] {
      let shown = try pins("a.example.test", "via: up\nparents: {up: {url: \"\(url)\"}}\n")
      #expect(shown.status == .exited(1) && shown.output.isEmpty)
      #expect(shown.errors.contains(text), "\(shown.errors)")
    }
    let wrong = try pins("a.example.test", "via: upp\nparents: {up: {url: \"http://p:1\"}}\n")
    #expect(wrong.status == .exited(78))
    #expect(wrong.errors.contains("proxy.conf:2:6: error: via: there is no 'upp' in 'parents' (did you mean 'up'?)"))
  }
}
