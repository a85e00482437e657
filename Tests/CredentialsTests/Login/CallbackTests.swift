import Testing

@testable import Credentials

@Suite("The listener takes one answer, and nothing else")
struct CallbackTests {
  static let state: String = LoginSecrets(random: (0..<96).map { 1 &+ UInt8($0) }).map { text($0.state.bytes) } ?? ""

  private func callback(
    _ redirectURI: String = "http://127.0.0.1/callback", port: UInt16? = 4711, issuer: String? = loginIssuer,
    promisesIssuer: Bool = false
  ) throws -> Callback {
    Callback(
      redirectURI: try RedirectURI(redirectURI), port: port, secrets: try LoginSecrets.sample(), issuer: issuer,
      promisesIssuer: promisesIssuer)
  }

  private static func request(
    _ target: String, method: String = "GET", hosts: [String] = ["127.0.0.1:4711"]
  ) -> CallbackRequest {
    CallbackRequest(method: method, target: Secret(target), hosts: hosts)
  }

  private static let right = "/callback?code=abc&state=\(state)"

  /// A query, and what it is: the code, or the decision.
  static let queries: [(String, Callback.Decision)] = [
    ("code=abc&state=\(state)", .code(Secret("abc"))),
    ("state=\(state)&session_state=x&code=4%2FabC-%5f~&scope=a+b&authuser=0", .code(Secret("4/abC-_~"))),
    ("code=a+b&state=\(state)", .code(Secret("a b"))),
    ("%63ode=abc&st%61te=\(state)", .code(Secret("abc"))),
    ("&&code=abc&&state=\(state)&", .code(Secret("abc"))),
    ("code=abc&error=&state=\(state)", .code(Secret("abc"))),
    // The state.
    ("code=abc", .notOurs), ("code=abc&state", .notOurs), ("code=abc&state=", .notOurs), ("", .notOurs),
    ("code=abc&state=x", .notOurs), ("code=abc&state=\(state.dropLast())", .notOurs), ("code=abc&state=\(state)A", .notOurs),
    ("code=abc&state=\(state.dropFirst())", .notOurs), ("code=abc&state=\(state)%00", .notOurs),
    ("code=abc&state=\(state.lowercased())", .notOurs), ("code=abc&state=\(state)&state=\(state)", .notOurs),
    ("code=abc&state=&state=\(state)", .notOurs), ("code=abc&state=\(state)&state=x", .notOurs),
    ("code=abc&State=\(state)", .notOurs), ("code=abc;state=\(state)", .notOurs),
    // The code.
    ("state=\(state)", .notOurs), ("code=&state=\(state)", .notOurs), ("code=abc&code=abc&state=\(state)", .notOurs),
    ("code=abc&code=def&state=\(state)", .notOurs), ("code=abc&%63ode=def&state=\(state)", .notOurs),
    ("code=abc&error=access_denied&state=\(state)", .notOurs), ("code=a%0d%0aX&state=\(state)", .notOurs),
    ("code=a%00&state=\(state)", .notOurs), ("code=%c3%a4&state=\(state)", .notOurs), ("code=a%7f&state=\(state)", .notOurs),
    ("code=\(String(repeating: "a", count: 4_097))&state=\(state)", .notOurs),
    // The encoding.
    ("code=a%2&state=\(state)", .notOurs), ("code=a%&state=\(state)", .notOurs), ("code=a%zz&state=\(state)", .notOurs),
    ("code=abc&state=\(state)&x=%g0", .notOurs), ("code=abc&state=\(state)&x=a\u{1}", .notOurs),
    ("code=abc&state=\(state)&x=\u{e4}", .notOurs), ("code=abc&state=\(state)&x=a b", .notOurs),
    // The issuer.
    ("code=abc&state=\(state)&iss=https%3A%2F%2Flogin.example.com", .code(Secret("abc"))),
    ("code=abc&state=x&iss=https%3A%2F%2Fevil.example", .notOurs),
    (
      "code=abc&state=\(state)&iss=https%3A%2F%2Flogin.example.com&iss=https%3A%2F%2Flogin.example.com",
      .notOurs
    ),
    (
      "code=abc&state=\(state)&iss=https%3A%2F%2Flogin.example.com%2F",
      .otherIssuer("the answer is of another server, 'https://login.example.com/'")
    ),
    (
      "code=abc&state=\(state)&iss=https%3A%2F%2Fevil.example%1b%5B31m",
      .otherIssuer("the answer is of another server, 'https://evil.example?[31m'")
    ),
    (
      "error=access_denied&state=\(state)&iss=https%3A%2F%2Fevil.example",
      .otherIssuer("the answer is of another server, 'https://evil.example'")
    ),
    // The server's error.
    ("error=access_denied&state=\(state)", .serverError(OAuthError(code: .accessDenied, text: "access_denied"))),
    ("error=access_denied&state=x", .notOurs), ("error=access_denied", .notOurs),
    ("error=a&error=b&state=\(state)", .notOurs), ("error=&state=\(state)", .notOurs),
    ("error=a&error_description=b&error_description=c&state=\(state)", .notOurs),
    (
      "error=server_error&error_description=%3Cscript%3E%1b%5B2J%22\(state)&state=\(state)",
      .serverError(OAuthError(code: .serverError, text: "server_error (<script>?[2J?***)"))
    ),
    (
      "error=\(String(repeating: "e", count: 300))&state=\(state)",
      .serverError(OAuthError(code: .other, text: String(repeating: "e", count: 200) + "..."))
    ),
  ]

  @Test("hostile and right answers", arguments: queries)
  func judged(query: String, decision: Callback.Decision) throws {
    #expect(try callback().judge(Self.request("/callback?\(query)")) == decision)
  }

  static let heads: [(CallbackRequest, Callback.Decision)] = [
    (request(right), .code(Secret("abc"))),
    (request("/favicon.ico"), .wrongPath), (request("/"), .wrongPath),
    (request("/callback/?code=abc&state=\(state)"), .wrongPath),
    (request("/Callback?code=abc&state=\(state)"), .wrongPath), (request("//callback?code=abc&state=\(state)"), .wrongPath),
    (request("/%63allback?code=abc&state=\(state)"), .wrongPath),
    (request("/x/../callback?code=abc&state=\(state)"), .wrongPath),
    (request("http://127.0.0.1:4711\(right)"), .wrongPath), (request("*", method: "OPTIONS"), .wrongPath),
    (request("/favicon.ico", method: "POST"), .wrongPath), (request("127.0.0.1:4711", method: "CONNECT"), .wrongPath),
    (request("/callback"), .notOurs), (request("/callback?"), .notOurs), (request("/callback#\(right)"), .wrongPath),
    (request(right, method: "POST"), .wrongMethod), (request(right, method: "HEAD"), .wrongMethod),
    (request(right, method: "get"), .wrongMethod), (request(right, method: "OPTIONS"), .wrongMethod),
    (request(right, hosts: []), .notOurs), (request(right, hosts: ["127.0.0.1:4711", "127.0.0.1:4711"]), .notOurs),
    (request(right, hosts: ["evil.example:4711"]), .notOurs), (request(right, hosts: ["127.0.0.1"]), .notOurs),
    (request(right, hosts: ["127.0.0.1:4712"]), .notOurs), (request(right, hosts: ["localhost:4711"]), .notOurs),
    (request(right, hosts: [""]), .notOurs), (request(right, hosts: ["127.0.0.1:4711.evil.example"]), .notOurs),
    (request("\(right)&x=\(String(repeating: "a", count: 8_192))"), .notOurs),
  ]

  @Test("methods, paths and hosts", arguments: heads)
  func head(head: CallbackRequest, decision: Callback.Decision) throws {
    #expect(try callback().judge(head) == decision)
  }

  @Test(
    "our Host for each kind of listener",
    arguments: [
      ("http://localhost/cb", 4711, "LOCALHOST:4711", true), ("http://localhost/cb", 4711, "127.0.0.1:4711", false),
      ("http://[::1]/cb", 4711, "[::1]:4711", true), ("http://[::1]/cb", 4711, "::1:4711", false),
      ("http://127.0.0.1:80/cb", 80, "127.0.0.1", true), ("http://127.0.0.1:80/cb", 80, "127.0.0.1:80", true),
    ] as [(String, UInt16, String, Bool)])
  func hosts(uri: String, port: UInt16, host: String, isOurs: Bool) throws {
    let target = "/cb?code=abc&state=\(Self.state)"
    let decision = try callback(uri, port: port).judge(Self.request(target, hosts: [host]))
    #expect(decision == (isOurs ? .code(Secret("abc")) : .notOurs))
  }

  @Test("a promised iss must be there, in an error too")
  func promisedIssuer() throws {
    let callback = try callback(promisesIssuer: true)
    for query in ["code=abc&state=\(Self.state)", "code=abc&state=\(Self.state)&iss=", "error=e&state=\(Self.state)"] {
      guard case .otherIssuer(let why) = callback.judge(Self.request("/callback?\(query)")) else {
        Issue.record("taken: \(query)")
        continue
      }
      #expect(why.contains("does not name its server"))
    }
    let named = "/callback?code=abc&state=\(Self.state)&iss=https://login.example.com"
    #expect(callback.judge(Self.request(named)) == .code(Secret("abc")))
  }

  @Test("without a configured issuer nobody knows what iss should be")
  func noIssuer() throws {
    let target = "/callback?code=abc&state=\(Self.state)&iss=https://any.example"
    #expect(try callback(issuer: nil).judge(Self.request(target)) == .code(Secret("abc")))
  }

  // MARK: Pasted

  static let lines: [(String, String, Callback.Decision)] = [
    ("http://127.0.0.1/callback", "http://127.0.0.1:4711\(right)", .code(Secret("abc"))),
    ("http://127.0.0.1/callback", " \thttp://127.0.0.1:4711\(right)#_=_\r", .code(Secret("abc"))),
    ("http://127.0.0.1/callback", "http://127.0.0.1\(right)", .notOurs),
    ("http://127.0.0.1/callback", "https://127.0.0.1:4711\(right)", .notOurs),
    ("http://127.0.0.1/callback", "http://localhost:4711\(right)", .notOurs),
    ("https://app.example/callback", "https://app.example\(right)", .code(Secret("abc"))),
    ("https://app.example/callback", "https://APP.example:443\(right)", .code(Secret("abc"))),
    ("https://app.example/callback", "https://app.example.evil.example\(right)", .notOurs),
    ("https://app.example/callback", "https://app.example/other?code=abc&state=\(state)", .notOurs),
    ("https://app.example/callback", "https://u@app.example\(right)", .notOurs),
    ("https://app.example", "https://app.example/?code=abc&state=\(state)", .code(Secret("abc"))),
    ("https://app.example/callback", "abc", .notOurs), ("https://app.example/callback", "code=abc&state=\(state)", .notOurs),
    ("https://app.example/callback", right, .notOurs),
    ("https://app.example/callback", "https://app.example/callback", .notOurs),
    ("https://app.example/callback", "https://app.example/callback#code=abc&state=\(state)", .notOurs),
    ("https://app.example/callback", "https://app.example/callback?code=abc", .notOurs),
    ("https://app.example/callback", "https://app.example\(right)&x=\(String(repeating: "a", count: 8_192))", .notOurs),
    (
      "https://app.example/callback", "https://app.example/callback?error=access_denied&state=\(state)",
      .serverError(OAuthError(code: .accessDenied, text: "access_denied"))
    ),
    (
      "https://app.example/callback", "https://app.example\(right)&iss=https://evil.example",
      .otherIssuer("the answer is of another server, 'https://evil.example'")
    ),
  ]

  @Test("a pasted line is the whole URL, and passes the same checks", arguments: lines)
  func pasted(redirectURI: String, line: String, decision: Callback.Decision) throws {
    let isLoopback = redirectURI.hasPrefix("http:")
    #expect(try callback(redirectURI, port: isLoopback ? 4711 : nil).judge(pasted: Secret(line)) == decision)
  }

  @Test("nothing shows the code that a request brought")
  func redaction() {
    var dumped = ""
    dump(Self.request("/callback?code=abc123"), to: &dumped)
    dump(Callback.Decision.code(Secret("abc123")), to: &dumped)
    #expect(!dumped.contains("abc123"))
  }
}
