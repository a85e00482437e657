import Testing

@testable import Credentials

@Suite("Untrusted input is parsed strictly")
struct ParsingTests {
  @Test(
    "a token answer is believed only if all of it is right",
    arguments: [
      ("{\"access_token\":\"abc\",\"token_type\":\"Bearer\",\"expires_in\":60}", grant("abc", lifetime: 60)),
      ("{\"access_token\":\"a-._~+/b==\",\"token_type\":\"bEARER\",\"expires_in\":\"60\"}", grant("a-._~+/b==", lifetime: 60)),
      // Tokens of Facebook and Laravel Sanctum, and every character of RFC 6749 appendix A.12.
      ("{\"access_token\":\"12|aB3%7Cx\",\"token_type\":\"bearer\"}", grant("12|aB3%7Cx", lifetime: nil)),
      ("{\"access_token\":\"!\\\"#,;=~a=b\",\"token_type\":\"bearer\"}", grant("!\"#,;=~a=b", lifetime: nil)),
      ("{\"access_token\":\"=\",\"token_type\":\"bearer\"}", grant("=", lifetime: nil)),
      ("{\"access_token\":\"abc\",\"token_type\":\"bearer\",\"expires_in\":59.9}", grant("abc", lifetime: 59)),
      ("{\"access_token\":\"abc\",\"token_type\":\"bearer\",\"expires_in\":1e99}", grant("abc", lifetime: 315_360_000)),
      ("{\"access_token\":\"abc\",\"token_type\":\"bearer\"}", grant("abc", lifetime: nil)),
      ("{\"access_token\":\"abc\",\"token_type\":\"bearer\",\"expires_in\":0}", grant("abc", lifetime: nil)),
      ("{\"access_token\":\"abc\",\"token_type\":\"bearer\",\"expires_in\":0.001}", grant("abc", lifetime: nil)),
      ("{\"access_token\":\"abc\",\"token_type\":\"bearer\",\"expires_in\":-5}", grant("abc", lifetime: nil)),
      ("{\"access_token\":\"abc\",\"token_type\":\"bearer\",\"expires_in\":null}", grant("abc", lifetime: nil)),
      ("{\"access_token\":\"abc\",\"token_type\":\"bearer\",\"expires_in\":\"soon\"}", grant("abc", lifetime: nil)),
      ("{\"access_token\":\"abc\",\"token_type\":\"bearer\",\"expires_in\":\"0x10\"}", grant("abc", lifetime: nil)),
      (
        "{\"access_token\":\"abc\",\"token_type\":\"bearer\",\"refresh_token\":\"r 1\"}",
        grant("abc", lifetime: nil, refreshToken: "r 1")
      ),
      ("{\"access_token\":\"abc\",\"token_type\":\"bearer\",\"refresh_token\":\"\"}", grant("abc", lifetime: nil)),
    ])
  func grants(body: String, answer: TokenAnswer) {
    #expect(TokenResponse.parse(status: 200, body: bytes(body)) == answer)
  }

  @Test(
    "other answers with status 200 are passing failures",
    arguments: [
      "", "  \r\n", "<html>", "[]", "{}", "{\"access_token\":\"abc\"}", "{\"access_token\":\"abc\",\"token_type\":\"mac\"}",
      "{\"token_type\":\"bearer\"}", "{\"access_token\":\"\",\"token_type\":\"bearer\"}",
      "{\"access_token\":\"a b\",\"token_type\":\"bearer\"}", "{\"access_token\":\"a\\r\\nX: y\",\"token_type\":\"bearer\"}",
      "{\"access_token\":\" a\",\"token_type\":\"bearer\"}", "{\"access_token\":\"a\\t\",\"token_type\":\"bearer\"}",
      "{\"access_token\":\"a\u{7f}\",\"token_type\":\"bearer\"}", "{\"access_token\":\"\u{e4}\",\"token_type\":\"bearer\"}",
      "{\"access_token\":\"a\\u0000\",\"token_type\":\"bearer\"}",
      "{\"access_token\":7,\"token_type\":\"bearer\"}",
      "{\"access_token\":\"a\",\"access_token\":\"b\",\"token_type\":\"bearer\"}",
      "{\"access_token\":\"a\",\"token_type\":\"bearer\",\"refresh_token\":\"x\\ny\"}",
      "{\"access_token\":\"a\",\"token_type\":\"bearer\",\"refresh_token\":{}}",
      "{\"access_token\":\"\(String(repeating: "a", count: 16_385))\",\"token_type\":\"bearer\"}",
    ])
  func malformed(body: String) {
    let answer = TokenResponse.parse(status: 200, body: bytes(body))
    guard case .failed = answer else {
      Issue.record("believed: \(answer)")
      return
    }
  }

  @Test(
    "an error has a class by its code, its status and the grant",
    arguments: [
      (400, "invalid_grant", .refreshToken(Secret("r")), .needsOperator),
      (401, "invalid_grant", .password(username: "u", password: Secret("p")), .needsOperator),
      (200, "invalid_grant", .refreshToken(Secret("r")), .needsOperator),
      (400, "invalid_grant", .clientCredentials, .permanent),
      (400, "invalid_grant", .jwtBearer(.ready(Secret("j"))), .permanent),
      (401, "invalid_client", .refreshToken(Secret("r")), .permanent),
      (400, "invalid_scope", .clientCredentials, .permanent),
      (400, "something_new", .refreshToken(Secret("r")), .permanent),
      (400, "temporarily_unavailable", .refreshToken(Secret("r")), .transient),
      (400, "server_error", .clientCredentials, .transient),
    ] as [(Int, String, OAuth2Policy.Grant, OAuthError.Class)])
  func errors(status: Int, code: String, grant: OAuth2Policy.Grant, kind: OAuthError.Class) {
    guard case .refused(let error) = TokenResponse.parse(status: status, body: bytes("{\"error\":\"\(code)\"}")) else {
      Issue.record("not taken for an OAuth error")
      return
    }
    #expect(error.classified(for: grant) == kind)
  }

  @Test("invalid_grant from a server that fails (5xx) does not count")
  func troubledServer() {
    let body = bytes("{\"error\":\"invalid_grant\"}")
    #expect(TokenResponse.parse(status: 503, body: body, retryAfter: 7) == .failed(.status(503), retryAfter: 7000))
    #expect(TokenResponse.parse(status: 429, body: body, retryAfter: 2) == .failed(.status(429), retryAfter: 2000))
    #expect(TokenResponse.parse(status: 302, body: []) == .failed(.redirected))
    #expect(TokenResponse.parse(status: 404, body: bytes("gone")) == .failed(.status(404)))
    #expect(TokenResponse.parse(status: 200, body: [UInt8](repeating: 0x20, count: 131_073)) == .failed(.tooLarge))
  }

  @Test("an error's text is bounded, printable, and does not repeat what was sent")
  func errorText() {
    let long = String(repeating: "x", count: 500)
    let body = "{\"error\":\"invalid_grant\",\"error_description\":\"token s3cret-1 of \\u001b[31m\\\"me\\\"\\r\\nX: \(long)\"}"
    guard
      case .refused(let error) = TokenResponse.parse(
        status: 400, body: bytes(body), hiding: [Secret("s3cret-1"), Secret("s3cret")])
    else {
      Issue.record("not taken for an OAuth error")
      return
    }
    #expect(error.text.hasPrefix("invalid_grant (token *** of ?[31m?me???X: xxx"))
    #expect(error.text.utf8.count < 250)
    #expect(!error.text.contains("s3cret"))
  }

  @Test("a secret is hidden in plain and as a form has it")
  func hiddenForms() {
    let shown = LogText.bounded("got a+b/c d, form a%2Bb%2Fc+d, not abc", hiding: [Secret("a+b/c d")])
    #expect(shown == "got ***, form ***, not abc")
  }

  @Test(
    "a challenge says whether scope is what is missing",
    arguments: [
      ("Bearer error=\"insufficient_scope\"", true),
      ("bearer realm=\"a, b\", error=\"insufficient_scope\", scope=\"x y\"", true),
      ("Basic realm=\"x\", Bearer realm=\"y\", error=insufficient_scope", true),
      ("Negotiate abc==, Bearer error = \"insufficient_scope\"", true),
      ("Bearer, Basic error=\"insufficient_scope\"", false),
      ("Bearer error=\"insufficient_scope\", Bearer error=\"invalid_token\"", false),
      ("Bearer error=\"invalid_token\", error_description=\"insufficient_scope\"", false),
      ("Bearer realm=\"error=\\\"insufficient_scope\\\"\"", false),
      ("Basic realm=\"Bearer error=insufficient_scope\"", false),
      ("Bearer", false), ("", false), (",,,", false), ("=", false), ("Bearer error=", false), ("Bearer error=\"insuff", false),
      ("Bearer abc=, error=\"insufficient_scope\"", true),
      ("\u{1}\u{2} Bearer error=\"invalid_token\"", false),
    ])
  func challenges(field: String, insufficient: Bool) {
    #expect(TokenChallenge.saysInsufficientScope(bytes(field)) == insufficient)
  }

  @Test("a challenge keeps its scope")
  func challengeScope() {
    let parsed = TokenChallenge.parse(bytes("Digest nonce=\"1\", qop=\"auth, auth-int\", Bearer scope=\"r w\", error=\"e\""))
    #expect(parsed == [TokenChallenge(error: "e", scope: "r w")])
  }
}
