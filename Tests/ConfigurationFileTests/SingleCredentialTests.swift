import Credentials
import Files
import Settings
import Testing

@testable import ConfigurationFile

/// Only `mailbox` and `calendar` have their secrets; a host where the others are not mounted.
private let sample = #"""
  listen: nowhere
  unknown: 1
  clients: [{name: a, password: {file: none}}]
  token_store: {file: tokens.json, key: {file: key32}}
  trust:
    strict: [{default: {ca_file: cert.pem}}]
    lost: [{default: {ca_file: none.pem}}]
  credentials:
    static: {bearer: {token: {env: NONE}}}
    service: {oauth2: {grant: client_credentials, token_url: https://l/t, client_id: c, client_secret: {file: none}}}
    mailbox:
      oauth2:
        grant: authorization_code
        issuer: https://login.example.com
        client_id: my-app
        client_secret: {file: token}
        trust: strict
    calendar: {oauth2: {grant: refresh_token, token_url: https://l/t, client_id: c, refresh_token: {env: TOKEN}}}
    unmounted: {oauth2: {grant: refresh_token, token_url: https://l/t, client_id: c, refresh_token: {file: none}}}
    mistyped: {oauth2: {grant: client_credential, tokenurl: https://l/t}}
  """#
private let withoutMistake = sample.replacing(#/\n *mistyped.*/#, with: "")
/// Of `mistyped`.
private let mistake =
  "20:30: error: credentials.mistyped.oauth2.grant must be client_credentials, refresh_token, password, jwt_bearer, "
  + "authorization_code, device_code or token_exchange, not 'client_credential' (did you mean 'client_credentials'?)"

@Suite("A credential that is read alone")
struct SingleCredentialTests {
  private func system(_ text: String) -> SystemAccess {
    var system = World.system
    system.readFile = { (path: String, limit: Int) throws(FileError) in
      guard path == "\(World.folder)/proxy.conf" else { return try World.system.readFile(path, limit) }
      let identity = FileIdentity(device: 1, inode: 3, size: Int64(text.utf8.count), modified: 0)
      return FileContent(bytes: Array(text.utf8), identity: identity, permissions: 0o600)
    }
    return system
  }

  private func read(_ name: String?, for use: CredentialUse = .login, _ text: String = sample) throws -> SingleCredential {
    try ConfigurationFile.readCredential(
      named: name, for: use, path: "\(World.folder)/proxy.conf", environment: World.environment, system: system(text))
  }

  private func list(_ text: String = sample) throws -> CredentialList {
    try ConfigurationFile.readCredentialList(
      path: "\(World.folder)/proxy.conf", environment: World.environment, system: system(text))
  }

  @Test("brings the ways out, with the secrets of the parents that every host may use, and of no other")
  func ways() throws {
    let text =
      withoutMistake.replacing("unmounted:", with: "mounted: {basic: {username: u, password: {file: token}}}\n  unmounted:")
        + """

        via: [corporate, backup]
        parents:
          corporate: {url: "https://proxy.corp.example:8443", trust: strict, credential: mounted}
          other: {url: "https://other.example:1", trust: lost, credential: static}
          backup: {url: "socks5://127.0.0.1:1080"}
        hosts: {login.example.com: [192.0.2.7]}
        bind: [192.0.2.9]
        """
    let single = try read("mailbox", text)
    #expect(single.settings.parents.map(\.name) == ["corporate", "other", "backup"])
    let ways = single.settings.ways.ways(host: "login.example.com", port: 443, isTLS: true).ways
    #expect(ways == [.parent(0), .parent(2)])
    #expect(single.settings.credentials.keys.sorted() == ["mailbox", "mounted"])
    #expect(single.settings.trust["strict"] != nil)
    #expect(single.settings.hosts.keys.sorted() == ["login.example.com"])
    #expect(single.settings.outbound.bind.count == 1)
  }

  private func expectUsage(_ name: String?, for use: CredentialUse = .login, in text: String = sample, _ reason: String) {
    #expect(throws: CredentialLookupError.usage(reason)) { try read(name, for: use, text) }
  }

  /// The configuration's errors, without the file's name.
  private func errors(_ body: () throws -> Void) -> [String] {
    do { try body() } catch CredentialLookupError.configuration(let diagnostics) {
      return diagnostics.map { String($0.description.dropFirst("\(World.folder)/proxy.conf:".count)) }
    } catch {
      return ["\(error)"]
    }
    return []
  }

  @Test("has its secrets, its trust policy and the token store, and needs no other secret", arguments: ["mailbox", nil])
  func alone(_ name: String?) throws {
    let single = try read(name)
    #expect(single.policy.name == "mailbox")
    #expect(single.oauth2.endpoint == .issuer(url: "https://login.example.com"))
    #expect(single.oauth2.grant == .authorizationCode(LoginSettings()))
    #expect(single.oauth2.clientAuthentication == .basic(secret: Secret("s3cr3t")))
    #expect(single.settings.credentials == ["mailbox": single.policy])
    #expect(single.settings.tokenStore == .file(path: "/etc/authproxy/tokens.json", key: Secret(Array(0..<32))))
    #expect(Set(single.settings.trust.keys) == ["strict"])
    #expect(single.configuration.diagnostics == [])
    #expect(single.configuration.source(ofOAuth2Credential: "mailbox", "client_secret") == .file("/etc/authproxy/token"))
    #expect(Set(single.configuration.secretSources.keys) == ["token_store.key", "credentials.mailbox.oauth2.client_secret"])
    #expect(single.configuration.watched.map(\.path).sorted() == ["cert.pem", "key32", "token"].map { "/etc/authproxy/\($0)" })
    #expect(!"\(single)".contains("s3cr3t"))
  }

  @Test("is the same as in a reading of the whole file")
  func same() throws {
    let whole = try #require(World.read(wholeLanguage).settings)
    for name in ["mailbox", "cluster"] {
      let single = try read(name, wholeLanguage)
      #expect(single.policy == whole.credentials[name])
      #expect(single.settings.tokenStore == whole.tokenStore)
      #expect(Set(single.settings.trust.keys) == ["default"])
      #expect(single.settings.systemRoots != nil)
    }
  }

  @Test("can also be one with a configured refresh token, for a logout")
  func logout() throws {
    #expect(try read("calendar", for: .logout).oauth2.grant == .refreshToken(Secret("s3cr3t")))
    #expect(try read("mailbox", for: .logout).policy.name == "mailbox")
  }

  @Test("reports its own missing secret, and that of the store")
  func missing() {
    #expect(
      errors { _ = try read("unmounted", for: .logout) } == [
        "19:99: error: credentials.unmounted.oauth2.refresh_token: /etc/authproxy/none: No such file or directory"
      ])
    let unmounted = withoutMistake.replacing("{file: key32}", with: "{file: none}")
    let store = ["4:39: error: token_store.key: /etc/authproxy/none: No such file or directory"]
    #expect(errors { _ = try read("mailbox", unmounted) } == store)
    #expect(errors { _ = try list(unmounted) } == store)
    #expect(
      errors { _ = try read("mailbox", sample.replacing("trust: strict\n", with: "trust: lost\n")) }.map {
        $0.prefix(while: { $0 != "/" })
      } == ["7:30: error: trust.lost[0].default.ca_file: "])
  }

  @Test("reports its own mistakes, and no others")
  func mistakes() {
    let memory = sample.replacing("token_store: {file: tokens.json, key: {file: key32}}", with: "token_store: memory")
    #expect(
      errors { _ = try read("mailbox", memory) } == [
        "13:14: error: credentials.mailbox.oauth2.grant authorization_code needs a 'token_store' other than memory: 'authproxy "
          + "login' leaves the tokens there"
      ])
    #expect(
      errors { _ = try read("mistyped") } == [
        mistake, "20:49: error: unknown key 'tokenurl' in credentials.mistyped.oauth2 (did you mean 'token_url'?)",
      ])
    #expect(
      errors { _ = try read("mailbox", sample.replacing("trust: strict\n", with: "trust: strick\n")) } == [
        "17:14: error: credentials.mailbox.oauth2.trust: there is no 'strick' in 'trust' (did you mean 'strict'?)"
      ])
  }

  @Test("cannot be read from a file that is none")
  func noFile() {
    #expect(errors { _ = try read(nil, "- a") } == ["1:1: error: the configuration must be a mapping, not a list"])
    #expect(errors { _ = try read(nil, "") } == ["1:1: error: the file is empty"])
    let path = "/nowhere/proxy.conf"
    let error = #expect(throws: CredentialLookupError.self) {
      try ConfigurationFile.readCredential(named: nil, for: .login, path: path, environment: [:], system: World.system)
    }
    #expect(error?.description == "\(path): error: cannot be read: No such file or directory")
  }

  @Test("must be named if there are several, and have a login")
  func usage() {
    let file = "\(World.folder)/proxy.conf"
    expectUsage(nil, for: .logout, "\(file) has several credentials; name one: 'mailbox', 'calendar' or 'unmounted'")
    expectUsage("mailbx", "there is no credential 'mailbx' in \(file); there is 'mailbox'")
    expectUsage("static", "credential 'static' has no oauth2: it has neither login nor logout")
    expectUsage(
      "service",
      "credential 'service' has grant client_credentials: nobody logs in to it; a login needs grant authorization_code or "
        + "device_code")
    expectUsage(
      "service", for: .logout,
      "credential 'service' has grant client_credentials: its tokens are not stored, so there is nothing to log out of")
    expectUsage(
      nil, in: "credentials: {a: {bearer: {token: {file: none}}}}",
      "no credential in \(file) has a login (grant authorization_code or device_code)")
    expectUsage("a", in: "listen: 127.0.0.1:1", "there is no credential 'a' in \(file)")
  }

  @Test("The list of credentials has their grants and bindings, and needs no secret but the store's")
  func listing() throws {
    let list = try list(withoutMistake)
    #expect(list.tokenStore == .file(path: "/etc/authproxy/tokens.json", key: Secret(Array(0..<32))))
    #expect(
      list.entries.map { "\($0.name) \($0.grant ?? "none") \($0.hasLogin) \($0.isStored) \($0.binding != nil)" } == [
        "static none false false false", "service client_credentials false false false",
        "mailbox authorization_code true true true", "calendar refresh_token false true false",
        "unmounted refresh_token false true false",
      ])
    let mailbox = try #require(list.entries.first { $0.name == "mailbox" })
    #expect(mailbox.binding == TokenBinding.digest(of: try read("mailbox").oauth2))
    #expect(list.warnings == [])
  }

  @Test("the list knows the binding of a login with a dpop key of the configuration")
  func listedKey() throws {
    for dpop in ["dpop: true", "dpop: {key: {file: key.pem}}"] {
      let text = withoutMistake.replacing("trust: strict\n", with: "\(dpop)\n")
      let mailbox = try #require(try list(text).entries.first { $0.name == "mailbox" })
      #expect(mailbox.binding == TokenBinding.digest(of: try read("mailbox", text).oauth2), "\(dpop)")
    }
    let lost = withoutMistake.replacing("trust: strict\n", with: "dpop: {key: {file: none.pem}}\n")
    #expect(errors { _ = try list(lost) }.count == 1)
  }

  @Test("The list reports a grant that does not exist")
  func badList() { #expect(errors { _ = try list() } == [mistake]) }
}
