import Foundation
import Testing

/// `check` and `explain` say how hosts are reached, and show no password.
@Suite struct WayCommandTests {
  private static let configuration = """
    listen: 127.0.0.1:3128
    connect: {allow: ["*.tunnel.test:443", "10.1.2.3:443"]}
    unlisted_hosts: forward
    via: [corporate, backup]
    routes:
      - {match: ["*.internal.test", 10.0.0.0/8, "db.test:8443"], via: direct}
      - {match: env.test, via: environment}
    parents:
      corporate: {url: "http://proxy.test:8080", credential: login, connect_headers: {X-Team: billing}}
      backup: {url: "https://[2001:db8::9]:8443"}
      checking: {url: "http://192.0.2.9:8080", resolve: here}
      socks: {url: "socks5h://127.0.0.1:1080", credential: socks-login}
      here: {url: "socks5://127.0.0.1:1081"}
    hosts: {pinned.test: [192.0.2.7, "2001:db8::7"]}
    bind: [192.0.2.1]
    upstreams:
      - {match: api.test}
      - {name: checked, match: checked.test, via: checking}
      - {name: by-name, match: name.test, via: [socks, direct], address_family: ipv4, bind: []}
      - {name: by-address, match: address.test, via: here}
      - {name: plain, match: plain.test, origin: "http://plain.test:8000"}
    credentials:
      login: {basic: {username: svc, password: pw-5ecret}, allow_plaintext: true}
      socks-login: {basic: {username: svc, password: pw-5ecret}}
    """

  /// Whatever this machine has.
  private static let unset = Dictionary(
    uniqueKeysWithValues: ["http_proxy", "https_proxy", "all_proxy", "no_proxy"].flatMap { [($0, ""), ($0.uppercased(), "")] })

  private static let environment = [
    "HTTPS_PROXY": "http://joe:pw-5ecret@env-proxy.test:3128", "no_proxy": "x.test, 10.0.0.0/8",
  ]

  /// - Returns: the output in one line, as its line breaks depend on its words.
  private func run(
    _ arguments: [String], in text: String = configuration, environment: [String: String] = environment
  ) throws -> (status: ChildProcess.Ending, text: String) {
    let folder = try Surroundings.newFolder()
    try ProxyProcess.write(text, to: folder + "/proxy.conf")
    let done = try ChildProcess.run(
      Surroundings.program, [arguments[0], "--config", "proxy.conf"] + arguments.dropFirst(),
      environment: Self.unset.merging(environment) { $1 }, folder: folder)
    #expect(!(done.output + done.errors).contains("5ecret"))
    return (done.status, (done.output + done.errors).split(whereSeparator: \.isWhitespace).joined(separator: " "))
  }

  @Test func `check lists ways, parents, and what environment gave`() throws {
    let (status, text) = try run(["check"])
    #expect(status == .exited(0), "\(text)")
    for part in [
      "ways out routes[0] *.internal.test, 10.0.0.0/8, db.test:8443: direct", "routes[1] env.test: environment",
      "any other host corporate, else backup",
      "own requests as apps' requests to the same host; to loopback and metadata services direct",
      "environment HTTPS_PROXY, for https:// and tunnels: http://env-proxy.test:3128 no_proxy, direct: x.test, 10.0.0.0/8",
      "corporate http://proxy.test:8080; the parent resolves names",
      "credential login: basic, user name svc, for this parent alone",
      "CONNECT with X-Team: billing", "backup https://[2001:db8::9]:8443; the parent resolves names trust system roots",
      "checking http://192.0.2.9:8080; names are resolved and checked here; CONNECT for http:// origins, too",
      "socks socks5h://127.0.0.1:1080; the parent resolves names", "here socks5://127.0.0.1:1081; names are resolved here",
      "pinned.test at 192.0.2.7, 2001:db8::7, not resolved", "connections from 192.0.2.1", "way socks, else direct, IPv4 only",
      "environment:https_proxy basic, user name joe password from environment variable HTTPS_PROXY",
    ] {
      #expect(text.contains(part), "\(part) in: \(text)")
    }
  }

  @Test func `without such a key check and explain say nothing of ways`() throws {
    let text = "listen: 127.0.0.1:3128\nupstreams: [{match: api.test}]\n"
    #expect(try !run(["check"], in: text).text.contains("ways out"))
    #expect(try !run(["explain", "GET", "http://api.test/"], in: text).text.contains("decided by"))
  }

  @Test func `explain names the way, the key that decides, and what the parent is asked`() throws {
    let cases: [(arguments: String, told: [String])] = [
      (
        "GET http://api.test/",
        [
          "way corporate, else backup; decided by via at proxy.conf:4:6",
          "asks corporate (http://proxy.test:8080): CONNECT api.test:443 with Proxy-Authorization by credential login",
          "asks backup (https://[2001:db8::9]:8443): CONNECT api.test:443", "connects from 192.0.2.1",
        ]
      ),
      (
        "GET http://plain.test/",
        ["asks corporate (http://proxy.test:8080): in absolute-form, http://plain.test:8000/...; CONNECT for upgrades"]
      ),
      (
        "GET http://checked.test/",
        [
          "way checking; decided by upstreams[1].via at proxy.conf:18:47",
          "CONNECT <an address of checked.test, resolved and checked here>:443",
        ]
      ),
      (
        "GET http://name.test/",
        [
          "way socks, else direct",
          "asks socks (socks5h://127.0.0.1:1080): SOCKS5, the name name.test, port 443 after a login by "
            + "credential socks-login", "connects IPv4 only",
        ]
      ),
      ("GET http://address.test/", ["SOCKS5, <an address of address.test, resolved and checked here>, port 443"]),
      ("GET http://a.internal.test/", ["way direct; decided by routes[0] at proxy.conf:6:5"]),
      ("GET http://env.test/", ["way direct; no variable of environment is for it, by routes[1] at proxy.conf:7:5"]),
      (
        "CONNECT a.tunnel.test:443",
        ["opaque tunnel", "way corporate, else backup; decided by via", "CONNECT a.tunnel.test:443"]
      ),
      ("CONNECT 10.1.2.3:443", ["opaque tunnel", "way direct; decided by routes[0]"]),
      ("GET http://pinned.test/", ["address 192.0.2.7, 2001:db8::7, as hosts says"]),
    ]
    each(cases) { (arguments, told) in
      let (status, text) = try run(["explain"] + arguments.split(separator: " ").map(String.init))
      #expect(status == .exited(0), "\(arguments): \(text)")
      for part in told { #expect(text.contains(part), "\(arguments): \(part) in: \(text)") }
    }
  }

  @Test(arguments: [
    ("digest: {username: svc, password: pw-5ecret}", "login, in answer to its challenge (Digest)"),
    (
      "negotiate: {password: pw-5ecret, principal: svc@EXAMPLE.TEST}",
      "login, with tickets for HTTP/proxy.test, once for each connection (Negotiate)"
    ),
    (
      "negotiate: {password: pw-5ecret, principal: svc@EXAMPLE.TEST, service_principal: HTTP/other.test}",
      "login, with tickets for HTTP/other.test, once for each connection (Negotiate)"
    ),
  ])
  func `explain says how a parent gets a credential that is no fixed value`(_ keys: String, _ told: String) throws {
    let text = """
      listen: 127.0.0.1:3128
      via: corporate
      parents: {corporate: {url: "http://proxy.test:8080", credential: login}}
      upstreams: [{match: api.test}]
      credentials: {login: {allow_plaintext: true, \(keys)}}

      """
    let (status, explained) = try run(["explain", "GET", "http://api.test/"], in: text)
    #expect(status == .exited(0) && explained.contains("with Proxy-Authorization by credential \(told)"), "\(explained)")
  }

  @Test func `the variable or the exception that decides is named`() throws {
    let text = "listen: 127.0.0.1:3128\nvia: environment\nconnect: {allow: [\"*\"]}\n"
    let (_, proxied) = try run(["explain", "CONNECT", "a.test:443"], in: text)
    #expect(proxied.contains("way https_proxy; decided by HTTPS_PROXY, by via at proxy.conf:2:6"), "\(proxied)")
    #expect(proxied.contains("asks https_proxy (http://env-proxy.test:3128): CONNECT a.test:443"), "\(proxied)")
    #expect(proxied.contains("with Proxy-Authorization by credential environment:https_proxy"), "\(proxied)")
    let (_, excepted) = try run(["explain", "CONNECT", "a.x.test:443"], in: text)
    #expect(excepted.contains("way direct; decided by x.test in no_proxy, by via at proxy.conf:2:6"), "\(excepted)")
    let (status, wrong) = try run(["check"], in: text, environment: ["https_proxy": "http://a:pw-5ecret@127.0.0.1:3128"])
    #expect(status == .exited(78))
    #expect(wrong.contains("proxy.conf:2:6: error: environment: https_proxy leads to the proxy itself"), "\(wrong)")
  }
}
