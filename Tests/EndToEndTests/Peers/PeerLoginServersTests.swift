import Foundation
import Testing

/// Whole logins at authorization servers by other hands, with their pages walked by a script: a login, two refreshes, a restart, a
/// logout, and the API refuses the tokens.
@Suite struct PeerLoginServersTests {
  @Test(.needsPackage("oauth2_provider")) func `django-oauth-toolkit: code with PKCE and OpenID`() throws {
    let server = try LoginPeerServer("django_server.py")
    let (login, _) = try live(
      server, "grant: authorization_code", "client_id: \(server.facts.client_id)", "scope: openid read",
      fields: server.facts.fields)
    #expect(login.errors.contains("logged in to mailbox as subject 1"), "\(login.errors)")
  }

  @Test(.needsPackage("oauth2_provider"))
  func `django-oauth-toolkit: a device, whose endpoint its metadata does not name`() throws {
    let server = try LoginPeerServer("django_server.py")
    let client = try #require(server.facts.device_client_id)
    let fields = try #require(server.facts.device_fields)
    let grant = ["grant: device_code", "client_id: \(client)", "scope: read"]
    try ProxyProcess.write(
      server.configuration(grant[0], grant[1], grant[2]), to: server.configurationPath)
    let untold = try server.start("login")
    #expect(untold.awaitEnd(seconds: 20) == .exited(78))
    #expect(untold.errors.contains("configure device_authorization_url"), "\(untold.errors)")
    let endpoint = "device_authorization_url: \(server.facts.issuer)/device-authorization/"
    _ = try live(server, grant[0], grant[1], grant[2], endpoint, fields: fields)
  }

  /// Refresh tokens end with the access tokens, after six seconds; refreshes bring no id_token.
  @Test(.needsPackage("pytest_iam"))
  func `Canaille: a fixed redirect URI, and refresh tokens that end with the access tokens`() throws {
    let server = try LoginPeerServer("canaille_server.py", isTest: true)
    let redirect = try #require(server.facts.redirect_uri)
    let (login, _) = try live(
      server, "grant: authorization_code", "client_id: \(server.facts.client_id)", "scope: openid email",
      "redirect_uri: \(redirect)", fields: server.facts.fields)
    #expect(login.errors.contains("ann@example.test (subject ann)"), "\(login.errors)")
  }

  /// It has no revocation endpoint: the logout says so, and its tokens are revoked by hand.
  @Test(.needsPackage("oidc_provider_mock")) func `oidc-provider-mock: Authlib's provider, without revocation`() throws {
    let server = try LoginPeerServer("mock_server.py")
    let (_, logout) = try live(
      server, "grant: authorization_code", "client_id: \(server.facts.client_id)", "scope: openid email",
      fields: server.facts.fields)
    #expect(logout.errors.contains("warning"), "\(logout.errors)")
  }

  // MARK: The walk

  /// - Returns: the ended commands.
  private func live(
    _ server: LoginPeerServer, _ oauth2: String..., fields: [String: String],
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> (login: ChildProcess, logout: ChildProcess) {
    let text = server.configuration(oauth2.joined(separator: "\n      "))
    let url = "http://api.test\(server.facts.api)"
    var told: [ChildProcess] = []
    var tokens: Set<String> = []
    func remember() throws -> String {
      let (access, refresh) = try server.stored()
      tokens.formUnion([access] + (refresh.map { [$0] } ?? []))
      return access
    }
    func withProxy(_ body: (ProxyProcess) throws -> Void) throws {
      let proxy = try ProxyProcess(text, folder: server.folder)
      defer { proxy.stop(sourceLocation: sourceLocation) }
      told.append(proxy.process)
      try body(proxy)
    }
    var login: ChildProcess?
    try withProxy { proxy in
      #expect(try proxy.ask(url).status == 502, sourceLocation: sourceLocation)
      login = try logIn(server, fields)
      #expect(try eventually(seconds: 2) { try proxy.ask(url).status == 200 }, sourceLocation: sourceLocation)
      for round in 1...2 {
        let before = try remember()
        if let path = server.facts.expire { _ = try server.ask(path) }
        var found: Set<Int> = []
        let isRefreshed = try eventually {
          found.insert(try proxy.ask(url).status)
          return try remember() != before
        }
        #expect(isRefreshed && found == [200], "refresh \(round): \(found)\n\(proxy.tail)", sourceLocation: sourceLocation)
      }
    }
    var logout: ChildProcess?
    try withProxy { proxy in
      #expect(try proxy.ask(url).status == 200, "after a restart\n\(proxy.tail)", sourceLocation: sourceLocation)
      let last = try remember()
      #expect(try server.ask(server.facts.api, "-H", "Authorization: Bearer \(last)") == "200", sourceLocation: sourceLocation)
      let command = try server.start("logout", "mailbox")
      logout = command
      #expect(command.awaitEnd(seconds: 20) == .exited(0), "\(command.errors)", sourceLocation: sourceLocation)
      #expect(try eventually(seconds: 2) { try proxy.ask(url).status == 502 }, sourceLocation: sourceLocation)
      if let path = server.facts.revoke { _ = try server.ask(path, "-X", "POST") }
      for token in tokens {
        let status = try server.ask(server.facts.api, "-H", "Authorization: Bearer \(token)")
        #expect(status.hasPrefix("4"), "\(status)", sourceLocation: sourceLocation)
      }
    }
    let commands = try (#require(login), #require(logout))
    for process in told + [commands.0, commands.1] {
      for token in tokens { #expect(!(process.output + process.errors).contains(token), sourceLocation: sourceLocation) }
    }
    return commands
  }

  private func logIn(_ server: LoginPeerServer, _ fields: [String: String]) throws -> ChildProcess {
    let login = try server.start("login", "--no-browser")
    let url = try #require(login.awaitLine { $0.hasPrefix("http") }, "\(login.errors)")
    var fields = fields
    if server.facts.device_fields == fields { fields["user_code"] = login.awaitLine(from: 1) { _ in true } }
    let page = try LoginPeer.browse(url, fields)
    #expect(login.awaitEnd(seconds: 20) == .exited(0), "\(login.errors)\(page)")
    return login
  }
}
