import Foundation
import Testing

/// A new certificate for a credential whose tokens are bound to it (RFC 8705 section 3).
@Suite struct CertificateRotationTests {
  /// 400 a second.
  private static let requests =
    ProcessInfo.processInfo.environment["AUTHPROXY_TEST_ROTATION_REQUESTS"].flatMap { Int($0) } ?? 1600

  private func configuration(_ server: MutualTLSServer, _ more: String..., top: String) throws -> String {
    try server.replace("current", by: "one")
    return server.configuration(
      [
        .init(
          name: "one", oauth2: [server.certificate("current"), "certificate_bound: true"] + more)
      ], top: top)
  }

  @Test func `under load, no request carries a token with another certificate, and old connections end`() throws {
    let server = try MutualTLSServer()
    try server.set(#"{"also": {"one": ["one", "next"]}}"#)
    try withProxy(try configuration(server, top: "threads: 2\nwatch_files: 1s\nlog: {access: false}")) { proxy in
      let load = try LoadGenerator.start(
        proxy, "http://one.test/api", ["--clients", "8", "--requests", "\(Self.requests)", "--rate", "400"])
      #expect(try eventually { try server.state().counts["api one 200"] ?? 0 > 100 })
      try server.replace("current", by: "next")
      #expect(try eventually { try server.state().counts["api next 200"] ?? 0 > 100 })
      let result = try LoadGenerator.result(load)
      #expect(result.good == result.requests && result.failed == 0, "\(result)")
      #expect(result.statuses.keys.sorted() == ["200"], "\(result.statuses)")
      let counts = try server.state().counts
      #expect(counts["mismatched"] == nil && counts["wrong"] == nil, "\(counts)")
      #expect(counts["token one"] == 1 && counts["token next"] == 1, "\(counts)")
      #expect(try eventually { try server.state().connected["one"] == 0 })
    }
  }

  @Test func `without a request, the new token is there at once, and idle connections of the old certificate end`() throws {
    let server = try MutualTLSServer()
    try server.set(#"{"also": {"one": ["one", "next"]}}"#)
    try withProxy(try configuration(server, top: "threads: 1\nwatch_files: off\nadmin: 127.0.0.1:0")) { proxy in
      #expect(try proxy.ask("http://one.test/api").status == 200)
      #expect(try server.state().connected["one"] == 1)
      let end = try #require(
        try proxy.metric("authproxy_credential_certificate_expiry_timestamp_seconds{credential=\"one\"}"))
      #expect(abs(end - Date().timeIntervalSince1970 - 90 * 86_400) < 3_600, "\(end)")
      try server.replace("current", by: "next")
      proxy.process.signal(SIGHUP)
      #expect(try eventually { try server.state().counts["token next"] == 1 })
      #expect(try eventually { try server.state().connected["one"] == 0 })
      #expect(try proxy.ask("http://one.test/api").text.contains("\"client\": \"next\""))
      let counts = try server.state().counts
      #expect(counts["token next"] == 1 && counts["mismatched"] == nil, "\(counts)")
    }
  }

  @Test func `a refresh token of the store serves with the new certificate`() throws {
    let server = try MutualTLSServer()
    try server.set(#"{"also": {"one": ["one", "next"]}}"#)
    let text = try configuration(
      server, "grant: authorization_code", "scope: mail",
      top: "watch_files: off\ntoken_store: {file: \(server.folder)/tokens.json}")
    let path = server.folder + "/proxy.conf"
    try ProxyProcess.write("listen: 127.0.0.1:0\n" + text, to: path)
    let login = try ChildProcess(Surroundings.program, ["login", "--config", path, "--no-browser"])
    login.closeInput()
    let url = try #require(login.awaitLine { $0.hasPrefix("http") }, "\(login.errors)")
    _ = try ChildProcess.run("curl", ["-sSL", "--noproxy", "*", "--cacert", server.folder + "/ca.pem", url])
    #expect(login.awaitEnd(seconds: 20) == .exited(0), "\(login.errors)")
    try withProxy(text) { proxy in
      #expect(try proxy.ask("http://one.test/api").text.contains("\"client\": \"one\""))
      #expect(try server.state().counts["token one"] == 1)
      try server.replace("current", by: "next")
      proxy.process.signal(SIGHUP)
      #expect(try eventually { try server.state().counts["token next"] == 1 })
      #expect(try proxy.ask("http://one.test/api").text.contains("\"client\": \"next\""))
      let kinds = try server.state().requests("/token").compactMap { $0.form?["grant_type"] }
      #expect(kinds == ["authorization_code", "refresh_token"])
      #expect(try server.state().counts["mismatched"] == nil)
    }
  }

  @Test func `a certificate that binds nothing is taken over without a new token`() throws {
    let server = try MutualTLSServer()
    try server.set(#"{"also": {"one": ["one", "next"]}, "binds": false}"#)
    try server.replace("current", by: "one")
    let text = server.configuration(
      [.init(name: "one", oauth2: [server.certificate("current")], isPlain: true)], top: "watch_files: off")
    try withProxy(text) { proxy in
      #expect(try proxy.ask("http://one.test/api").text.contains("\"client\": null"))
      try server.replace("current", by: "next")
      let before = proxy.process.lines.count
      proxy.process.signal(SIGHUP)
      #expect(proxy.process.awaitLine(from: before) { $0.contains("reloaded\"") } != nil)
      #expect(try proxy.ask("http://one.test/api").text.contains("\"client\": null"))
      let counts = try server.state().counts
      #expect(counts["token one"] == 1 && counts["token next"] == nil, "\(counts)")
    }
  }
}
