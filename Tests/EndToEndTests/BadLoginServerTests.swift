import Testing

/// Servers that fail or lie while somebody logs in. Nothing is stored, and the server sees the code at most once.
@Suite struct BadLoginServerTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let how: String
    let exit: Int32
    let text: String
    /// Whether the code is sent.
    let spends: Bool
    var testDescription: String { how }
  }

  static let cases = [
    Case(how: "token-status:500", exit: 69, text: "500", spends: true),
    Case(how: "token-redirect", exit: 69, text: "redirect", spends: true),
    Case(how: "token-html", exit: 69, text: "not JSON", spends: true),
    Case(how: "token-huge", exit: 69, text: "large", spends: true),
    Case(how: "token-cut", exit: 69, text: "closed", spends: true),
    Case(how: "token-hang", exit: 69, text: "time", spends: true),
    Case(how: "foreign-issuer", exit: 77, text: "issuer", spends: false),
    Case(how: "plain-pkce", exit: 77, text: "S256", spends: false),
    Case(how: "foreign-http", exit: 77, text: "https", spends: false),
    Case(how: "id-token-absent", exit: 77, text: "id_token", spends: true),
    Case(how: "id-token:nonce=other", exit: 77, text: "nonce", spends: true),
    Case(how: "id-token:aud=other", exit: 77, text: "aud", spends: true),
    Case(how: "id-token:iss=https://other.example", exit: 77, text: "iss", spends: true),
    Case(how: "id-token:exp=1000000000", exit: 77, text: "expired", spends: true),
  ]

  @Test(arguments: cases) func `nothing is stored, and the code is sent once at most`(_ bad: Case) throws {
    let server = try LoginServer("--no-par", "--misbehave", bad.how)
    try server.configure("grant: authorization_code, scope: openid mail, timeout: 1s")
    var (page, errors) = ("", "")
    if bad.spends {
      let ended = try server.logIn()
      (page, errors) = (ended.page, ended.errors)
      #expect(ended.ending == .exited(bad.exit), "\(errors)")
      #expect(page.contains("The login failed"), "\(page)")
    } else {
      let login = try server.start("login", "--no-browser")
      #expect(login.awaitEnd(seconds: 20) == .exited(bad.exit), "\(login.errors)")
      #expect(login.output.isEmpty, "nobody is asked to open a URL")
      errors = login.errors
    }
    #expect(errors.contains(bad.text), "\(errors)")
    #expect(try server.paths().filter { $0 == "/token" }.count == (bad.spends ? 1 : 0))
    #expect(try !server.paths().contains("/elsewhere"))
    #expect(try server.tokens().contains(#""state":"never""#))
    for text in [page, errors] { #expect(!text.contains("5ecret") && !text.contains("\u{1b}") && !text.contains("<b>")) }
  }

  @Test func `without a refresh token the login counts, with a warning`() throws {
    let server = try LoginServer("--misbehave", "no-refresh-token")
    try server.configure()
    let (_, ending, errors) = try server.logIn()
    #expect(ending == .exited(0), "\(errors)")
    #expect(errors.contains("warning") && errors.contains("offline_access"), "\(errors)")
    #expect(try server.tokens().contains(#""refresh_token":false"#))
  }
}
