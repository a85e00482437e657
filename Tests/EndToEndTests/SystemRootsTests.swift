import Foundation
import Testing

/// The system's roots change while the proxy runs: after the next reload it no longer trusts the removed ones.
@Suite struct SystemRootsTests {
  /// A bundle of the test in place of the system's.
  private struct Bundle {
    let path: String
    init() throws { path = try Surroundings.newFolder() + "/roots.pem" }

    /// Replaced by rename, as a package does.
    func hold(_ certificates: String...) throws {
      let pem = try certificates.map { try String(contentsOfFile: "\(Surroundings.pki())/\($0).pem", encoding: .utf8) }.joined()
      try ProxyProcess.write(pem, to: path + ".new")
      guard rename(path + ".new", path) == 0 else { throw HarnessError("rename \(path)") }
    }
  }

  private func configuration(_ origin: Origin, _ top: String = "watch_files: off") -> String {
    "threads: 1\n\(top)\nupstreams:\n  - match: api.test\n    origin: https://localhost:\(origin.ports.https)\n"
      + "    trust: roots\ntrust:\n  roots:\n    - default: {}\n"
  }

  private func resumed(_ proxy: ProxyProcess) throws -> Bool? { try proxy.ask("http://api.test/echo").received().tls?.resumed }

  @Test func `SIGHUP takes a changed bundle, and with a root go its connections and sessions`() throws {
    let origin = try Origin()
    let bundle = try Bundle()
    try bundle.hold("ca", "self-signed")
    let configuration = configuration(origin)
    try withProxy(configuration, environment: ["SSL_CERT_FILE": bundle.path]) { proxy in
      #expect(try resumed(proxy) == false)
      try origin.dropConnections("https")
      #expect(try resumed(proxy) == true)
      try bundle.hold("self-signed")
      try proxy.reload(configuration)
      try proxy.expectRefused("api", "default: unknown_issuer")
      #expect(try origin.connections("https", count: 0).fits)
      try bundle.hold("ca")
      try proxy.reload(configuration)
      #expect(try resumed(proxy) == false)
    }
  }

  @Test func `a bundle with the same roots keeps them`() throws {
    let origin = try Origin()
    let bundle = try Bundle()
    try bundle.hold("ca", "self-signed")
    let configuration = configuration(origin)
    try withProxy(configuration, environment: ["SSL_CERT_FILE": bundle.path]) { proxy in
      try proxy.expectTrusted("api")
      try bundle.hold("self-signed", "ca")
      try proxy.reload(configuration)
      try proxy.expectTrusted("api")
      #expect(try origin.connections("https").accepted == 1)
    }
  }

  @Test func `watch_files notices it, too`() throws {
    let origin = try Origin()
    let bundle = try Bundle()
    try bundle.hold("ca")
    try withProxy(configuration(origin, "watch_files: 1s"), environment: ["SSL_CERT_FILE": bundle.path]) { proxy in
      try proxy.expectTrusted("api")
      try bundle.hold("self-signed")
      #expect(proxy.process.awaitLine { $0.contains("configuration reloaded") && $0.contains(bundle.path) } != nil)
      try proxy.expectRefused("api", "default: unknown_issuer")
    }
  }

  @Test func `a bundle that has gone or is broken fails the reload, and the old roots stay`() throws {
    let origin = try Origin()
    let bundle = try Bundle()
    try bundle.hold("ca")
    let configuration = configuration(origin)
    try withProxy(configuration, environment: ["SSL_CERT_FILE": bundle.path]) { proxy in
      try FileManager.default.removeItem(atPath: bundle.path)
      try proxy.reload(configuration, expecting: "reload failed")
      #expect(proxy.process.lines.contains { $0.contains("no system roots in \(bundle.path)") })
      try proxy.expectTrusted("api")
      try ProxyProcess.write("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", to: bundle.path)
      try proxy.reload(configuration, expecting: "reload failed")
      try proxy.expectTrusted("api")
    }
  }
}
