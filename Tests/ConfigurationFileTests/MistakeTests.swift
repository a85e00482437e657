import Settings
import Testing

/// A piece of configuration and all its diagnostics, each as `line:column: severity: message`. Line 1 has a listener, so the
/// piece begins in line 2.
struct Mistake: Sendable, CustomTestStringConvertible {
  var name: String
  var text: String
  var lines: [String]
  init(_ name: String, _ text: String, _ lines: [String]) {
    self.name = name
    self.text = text
    self.lines = lines
  }
  var testDescription: String { name }
  var withListener: String { "listen: 127.0.0.1:3128\n" + text + "\n" }
}

@Suite("Every mistake is reported, at its place")
struct MistakeTests {
  @Test("in the file as a whole", arguments: Mistake.ofTheWholeFile)
  func whole(_ mistake: Mistake) { expectErrors(mistake, in: mistake.text) }

  @Test("in keys of the process", arguments: Mistake.ofTheProcess + Mistake.ofMisspellings)
  func process(_ mistake: Mistake) { expectErrors(mistake, in: mistake.withListener) }

  @Test("in listeners and clients", arguments: Mistake.ofAccess)
  func access(_ mistake: Mistake) { expectErrors(mistake, in: mistake.withListener) }

  @Test("in upstreams", arguments: Mistake.ofUpstreams + Mistake.ofRules + Mistake.ofCaches + Mistake.ofHTTPVersions)
  func upstreams(_ mistake: Mistake) { expectErrors(mistake, in: mistake.withListener) }

  @Test(
    "in credentials",
    arguments: Mistake.ofCredentials + Mistake.ofOAuth2 + Mistake.ofLogins + Mistake.ofProofs + Mistake.ofDPoP
      + Mistake.ofExchanges + Mistake.ofSigV4 + Mistake.ofSources + Mistake.ofJWTs + Mistake.ofHMACs
      + Mistake.ofHTTPSignatures + Mistake.ofDigest + Mistake.ofNegotiate + Mistake.ofTargets + Mistake.ofTokenStores)
  func credentials(_ mistake: Mistake) { expectErrors(mistake, in: mistake.withListener) }

  @Test("in ways out", arguments: Mistake.ofWays)
  func ways(_ mistake: Mistake) { expectErrors(mistake, in: mistake.withListener) }

  @Test("in trust policies", arguments: Mistake.ofTrust)
  func trust(_ mistake: Mistake) { expectErrors(mistake, in: mistake.withListener) }

  @Test("in interception", arguments: Mistake.ofInterception)
  func interception(_ mistake: Mistake) { expectErrors(mistake, in: mistake.withListener) }

  @Test("in TLS listeners and lists of balancers", arguments: Mistake.ofTLSListeners + Mistake.ofProxyProtocol)
  func listeners(_ mistake: Mistake) { expectErrors(mistake, in: mistake.text) }

  @Test(
    "and questionable settings are warnings",
    arguments: Mistake.worthAWarning + Mistake.ofOddInterception + Mistake.ofOddDigest + Mistake.ofOddWays + Mistake.ofOddCaches
      + Mistake.ofOddTokenStores
  )
  func warnings(_ oddity: Mistake) {
    let loaded = World.read(oddity.withListener)
    #expect(loaded.lines == oddity.lines)
    #expect(loaded.settings != nil)
  }

  private func expectErrors(_ mistake: Mistake, in text: String) {
    let loaded = World.read(text)
    #expect(loaded.errorLines == mistake.lines)
    #expect(loaded.settings == nil)
    #expect(!loaded.lines.contains { $0.contains("s3cr3t") })
  }

  @Test("Eight different mistakes are eight errors, in the order of the file")
  func eight() {
    let loaded = World.read(
      #"""
      listen: 127.0.0.1:3128
      limits: {request_head: 32}
      upstreams:
        - match: api.example.com
          origin: http://api.example.com
          credential: billing
        - match: www.example.com
          credential: biling
          retry: {methods: [POST]}
      credentials:
        billing:
          basic: {username: svc, pasword: {env: TOKEN}}
        other:
          bearer: {token: {env: NONE}}
      trust:
        strict: []
      threads: 0
      """#)
    #expect(
      loaded.errors.map { $0.place?.description } == ["2:24", "5:13", "8:17", "9:23", "12:28", "14:27", "16:11", "17:10"])
    #expect(
      loaded.errors.first?.description
        == "proxy.conf:2:24: error: limits.request_head: '32' needs a unit: 512B, 64KiB, 10MiB or 1MB")
    #expect(
      loaded.errors.map(\.description).contains(
        "proxy.conf:12:28: error: unknown key 'pasword' in credentials.billing.basic (did you mean 'password'?)"))
  }

  @Test("A listener that everybody may use is allowed where it is said, and warned of")
  func openListener() {
    let loaded = World.read("listen: {address: 0.0.0.0:3128, clients: optional}\nunlisted_hosts: forward\n")
    #expect(
      loaded.lines == [
        "1:19: warning: 0.0.0.0:3128 is reachable from other machines without TLS: passwords and answers are readable on the way; "
          + "'tls' prevents that",
        "1:42: warning: 0.0.0.0:3128 lets everybody who reaches it use the proxy",
      ])
    #expect(loaded.settings?.listeners.first?.clientsRequired == false)
  }

  @Test("A listener beyond loopback without TLS is warned of, one with TLS, a unix socket and an inherited one are not")
  func clearText() {
    let rest = "\nclients: [{name: a, password: {env: TOKEN}}]\nupstreams: [{match: h}]\n"
    let tls = "tls: {certificate: cert.pem, key: {file: key.pem}}"
    func hasWarning(_ listen: String) -> Bool {
      World.read("listen: " + listen + rest).lines.contains { $0.contains("readable on the way") }
    }
    for listen in [
      "0.0.0.0:3128", "\"[::]:3128\"", "{address: 192.0.2.1:3128}", "{address: 192.0.2.1:3128, clients: optional}",
    ] {
      #expect(hasWarning(listen), "\(listen)")
    }
    for listen in [
      "127.0.0.1:3128", "unix:/run/proxy", "fd:3", "{address: 0.0.0.0:3128, \(tls)}",
      "{address: 0.0.0.0:3128, tls: {certificate: nothing.pem}}",
    ] {
      #expect(!hasWarning(listen), "\(listen)")
    }
  }

  @Test("A plain secret is warned of where others can read the file")
  func plainSecret() {
    let text = "listen: 127.0.0.1:3128\nupstreams: [{match: h, credential: a}]\ncredentials:\n  a: {bearer: {token: s3cr3t}}\n"
    #expect(World.read(text).lines == [])
    let loaded = World.read(text, readableByOthers: true)
    #expect(
      loaded.lines == [
        "4:23: warning: credentials.a.bearer.token is a plain secret in a file that group or others can read; "
          + "use {file: ...} or chmod 600"
      ])
    #expect(loaded.settings != nil)
  }

  @Test("At most a thousand mistakes are reported")
  func bounded() {
    let keys = (0..<3000).map { "k\($0): 1\n" }.joined()
    #expect(World.read("listen: 127.0.0.1:3128\n" + keys).errors.count == 1000)
  }
}
