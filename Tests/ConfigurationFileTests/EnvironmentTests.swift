import Credentials
import Settings
import Testing
import WayOut

@testable import ConfigurationFile

@Suite("via: environment")
struct EnvironmentTests {
  private func read(
    _ environment: [String: String], _ text: String = "listen: 127.0.0.1:3128\nvia: environment\nunlisted_hosts: forward\n"
  ) -> LoadedConfiguration {
    ConfigurationFile.read(
      text: Array(text.utf8), name: "proxy.conf", folder: World.folder, environment: environment, system: World.system
    ).judged(Array(text.utf8))
  }

  /// `direct`, or name, URL and user of the parent.
  private func way(_ settings: Settings, _ host: String, isTLS: Bool, port: UInt16? = nil) -> String {
    let (ways, _) = settings.ways.ways(host: host, port: port ?? (isTLS ? 443 : 80), isTLS: isTLS)
    guard let parent = settings.parents(of: ways).first else { return "direct" }
    var user = ""
    if case .basic(let username, let password)? = parent.credential.flatMap({ settings.credentials[$0]?.kind }) {
      user = " \(username):\(String(decoding: password.bytes, as: UTF8.self))"
    }
    return "\(parent.name) \(parent.scheme)://\(parent.host):\(parent.port)\(user)"
  }

  @Test(
    "the variables mean what they mean to other programs",
    arguments: [
      ([:], "direct", "direct"),
      (["https_proxy": "http://p:8080"], "https_proxy http://p:8080", "direct"),
      (["http_proxy": "http://p:8080/"], "direct", "http_proxy http://p:8080"),
      (["all_proxy": "socks5h://p"], "all_proxy socks5h://p:1080", "all_proxy socks5h://p:1080"),
      (["https_proxy": "p:3128", "all_proxy": "q"], "https_proxy http://p:3128", "all_proxy http://q:80"),
      (["HTTPS_PROXY": "https://P", "HTTP_PROXY": "http://q:1"], "https_proxy https://p:443", "http_proxy http://q:1"),
      (["HTTPS_PROXY": "http://upper:1", "https_proxy": "http://lower:1"], "https_proxy http://lower:1", "direct"),
      (["HTTPS_PROXY": "http://upper:1", "https_proxy": " "], "https_proxy http://upper:1", "direct"),
      (["HTTP_PROXY": "http://p:1", "REQUEST_METHOD": "GET"], "direct", "direct"),
      (
        ["http_proxy": "http://p:1", "HTTPS_PROXY": "http://q:1", "REQUEST_METHOD": ""], "https_proxy http://q:1",
        "http_proxy http://p:1"
      ),
      (["https_proxy": "http://us%40er:p%3Aa%25@p:1"], "https_proxy http://p:1 us@er:p:a%", "direct"),
      (["https_proxy": "http://user@p:1"], "https_proxy http://p:1 user:", "direct"),
      (["https_proxy": "http://a:b@c:d@[::1]:1"], "https_proxy http://::1:1 a:b@c:d", "direct"),
      (["https_proxy": "http://p:1", "no_proxy": "*"], "direct", "direct"),
      // One parent, and one account.
      (
        ["https_proxy": "http://u:s3cr3t@p:80", "http_proxy": "u:s3cr3t@P/"], "https_proxy http://p:80 u:s3cr3t",
        "https_proxy http://p:80 u:s3cr3t"
      ),
      (
        ["https_proxy": "http://u:s3cr3t@p:1", "http_proxy": "http://v:s3cr3t@p:1"], "https_proxy http://p:1 u:s3cr3t",
        "http_proxy http://p:1 v:s3cr3t"
      ),
    ] as [([String: String], String, String)])
  func variables(environment: [String: String], https: String, http: String) throws {
    let settings = try #require(read(environment).settings)
    #expect(way(settings, "api.example.com", isTLS: true) == https)
    #expect(way(settings, "api.example.com", isTLS: false) == http)
  }

  @Test(
    "no_proxy has the usual forms",
    arguments: [
      ("example.com", ["example.com", "a.example.com", "a.b.example.com"], ["badexample.com", "example.com.au"]),
      (".example.com", ["example.com", "a.example.com"], ["badexample.com"]),
      ("*.example.com", ["a.example.com"], ["example.com"]),
      ("EXAMPLE.com.", ["a.example.com"], ["com"]),
      ("a.test,b.test  c.test,, ,d.test", ["a.test", "b.test", "c.test", "d.test"], ["e.test"]),
      ("example.com:8443", ["a.example.com:8443"], ["a.example.com", "example.com"]),
      ("10.0.0.0/8", ["10.1.2.3", "::ffff:10.1.2.3"], ["11.0.0.1", "10.test"]),
      ("10.1.2.3/8", ["10.200.0.1"], ["11.0.0.1"]),
      ("192.0.2.7", ["192.0.2.7"], ["192.0.2.8"]),
      ("192.0.2.7:80", ["192.0.2.7:80"], ["192.0.2.7"]),
      ("::1,fd00::/8,[2001:db8::7]:443", ["::1", "fd12::3", "2001:db8::7"], ["2001:db8::7:80", "fe80::1"]),
      ("localhost,127.0.0.1", ["localhost", "127.0.0.1"], ["127.0.0.2"]),
    ] as [(String, [String], [String])])
  func exceptions(text: String, direct: [String], others: [String]) throws {
    for variable in ["no_proxy", "NO_PROXY"] {
      let loaded = read([variable: text, "all_proxy": "http://p:1"])
      let settings = try #require(loaded.settings)
      #expect(loaded.warnings == [])
      for (host, expected) in direct.map({ ($0, "direct") }) + others.map({ ($0, "all_proxy http://p:1") }) {
        let isAddress = IPAddress.parse(host) != nil
        let port = isAddress ? nil : host.split(separator: ":").dropFirst().first.flatMap { UInt16($0) }
        let name = port == nil ? host : String(host.prefix { $0 != ":" })
        #expect(way(settings, name, isTLS: true, port: port) == expected, "\(text): \(host)")
      }
    }
  }

  @Test(
    "wrong variables are errors at the key that uses them, and show no secret",
    arguments: [
      (
        ["https_proxy": "ftp://s3cr3t@p:1"],
        "HTTPS_PROXY".lowercased()
          + " must start with http://, https://, socks5:// or socks5h://"
      ),
      (["HTTPS_PROXY": "http://u:s3cr3t@p:0"], "HTTPS_PROXY has port 0"),
      (["https_proxy": "http://u:s3cr3t@p:1/x"], "https_proxy has a path or a query"),
      (["https_proxy": "http://u:s3cr3t@"], "https_proxy has no host"),
      (["https_proxy": "http://u:s3cr3t%@p:1"], "https_proxy has a user or password with a wrong %-escape"),
      (["https_proxy": "http://u:s3cr3t%+1@p:1"], "https_proxy has a user or password with a wrong %-escape"),
      (
        ["https_proxy": "http://u:s3cr3t%0A@p:1"],
        "https_proxy has a user with a ':', or a user or password with a control character"
      ),
      (
        ["https_proxy": "http://u%3A:s3cr3t@p:1"],
        "https_proxy has a user with a ':', or a user or password with a control character"
      ),
      (
        ["all_proxy": "socks5://u@p:1"],
        "all_proxy has a user or password that is empty or over 255 bytes, which SOCKS does not allow"
      ),
      (["https_proxy": "http://127.0.0.1:3128"], "https_proxy leads to the proxy itself, which listens on 127.0.0.1:3128"),
      (["http_proxy": "http://localhost:3128"], "http_proxy leads to the proxy itself, which listens on 127.0.0.1:3128"),
      (["all_proxy": "0.0.0.0:3128"], "all_proxy leads to the proxy itself, which listens on 127.0.0.1:3128"),
    ] as [([String: String], String)])
  func wrong(environment: [String: String], text: String) {
    let loaded = read(environment)
    #expect(loaded.errorLines == ["2:6: error: environment: " + text])
    #expect(loaded.settings == nil)
    #expect(!loaded.lines.contains { $0.contains("s3cr3t") })
  }

  @Test("what no_proxy cannot mean is warned of")
  func unreadable() {
    let loaded = read(["no_proxy": "10.*,a.test,192.168.,.10.0.0.1", "all_proxy": "http://p:1"])
    #expect(
      loaded.lines
        == ["'.10.0.0.1'", "'10.*'", "'192.168.'"].map {
          "2:6: warning: environment: \($0) in no_proxy is neither a host nor an address; it has no effect"
        })
  }

  @Test("without a key that says environment, the variables mean nothing")
  func unused() throws {
    let settings = try #require(
      read(["https_proxy": "http://127.0.0.1:3128", "no_proxy": "10.*"], "listen: 127.0.0.1:3128\n").settings)
    #expect(settings.parents == [] && settings.credentials == [:] && settings.ways == WayTable())
  }

  @Test("a password in a variable is a credential of its own, with a source")
  func password() throws {
    let text = """
      listen: 127.0.0.1:3128
      routes: [{match: a.test, via: environment}]
      parents: {p: {url: "http://p:1"}}
      via: p
      """
    let loaded = read(["https_proxy": "http://u:s3cr3t@proxy.test:8080"], text)
    #expect(loaded.errorLines == [])
    let settings = try #require(loaded.settings)
    let credential = "environment:https_proxy"
    #expect(
      settings.parents[1]
        == ParentSettings(name: "https_proxy", scheme: .http, host: "proxy.test", port: 8080, credential: credential))
    #expect(settings.ways.ways(host: "a.test", port: 1, isTLS: true).ways == [.parent(1)])
    #expect(
      settings.credentials[credential]
        == CredentialPolicy(
          name: credential, kind: .basic(username: "u", password: Secret(Array("s3cr3t".utf8))), allowPlaintext: true))
    #expect(loaded.source(ofStaticCredential: credential)?.description == "environment variable https_proxy")
    #expect(!"\(loaded)".contains("s3cr3t"))
  }

  @Test("a password in a variable goes to no https:// parent that nobody verifies")
  func untrusted() {
    let text = """
      listen: 127.0.0.1:3128
      via: environment
      unlisted_hosts: forward
      trust: {default: [{disabled: {}}]}
      """
    #expect(
      read(["https_proxy": "https://u:s3cr3t@proxy.test"], text).errorLines == [
        "2:6: error: environment: https_proxy has a password, but trust 'default' is disabled; write the parent into 'parents'"
      ])
    #expect(read(["https_proxy": "https://proxy.test"], text).errorLines == [])
  }

  @Test("an https:// parent of environment has no trust of its own, and a taken name is an error")
  func names() {
    let text = """
      listen: 127.0.0.1:3128
      all_hosts_must_be_evaluated: true
      upstreams: [{match: a.test, trust: strict, via: environment, credential: "environment:https_proxy"}]
      credentials: {"environment:https_proxy": {bearer: {token: {env: TOKEN}}}}
      trust: {strict: [{default: {}}]}
      """
    #expect(
      read(["https_proxy": "https://u:p@proxy.test", "TOKEN": "t"], text).errorLines == [
        "3:49: error: environment: https_proxy is an https:// parent without 'trust', but all_hosts_must_be_evaluated is true; "
          + "write it into 'parents'",
        "3:49: error: environment: the name of credential 'environment:https_proxy' is taken; rename the one in the file",
      ])
  }
}
