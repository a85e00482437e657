import Crypto
import JSON
import Testing

@testable import Credentials

@Suite("Installation tokens of a GitHub App")
struct GitHubAppTests {
  /// GitHub wants RSA; the form of the request does not depend on it.
  private let key: Secret

  init() throws { key = try DPoPKey.generated().stored() }

  private func app(
    _ repositories: [String] = [], _ permissions: [GitHubApp.Permission] = [], scheme: GitHubApp.Scheme = .bearer
  ) -> GitHubApp {
    GitHubApp(
      appID: "12345", installationID: "678", key: OAuth2Policy.SigningKey(pem: key), repositories: repositories,
      permissions: permissions, scheme: scheme, api: "https://ghe.example.com/api/v3")
  }

  private func claims(_ request: TokenHTTPRequest?) throws -> JSONValue {
    let token = try #require(request?.sent("Authorization")).dropFirst("Bearer ".count)
    let parts = token.split(separator: ".").map { Array($0.utf8) }
    try #require(parts.count == 3)
    return try JSONParser.parse(try #require(Base64.decodeURL(parts[1][...])))
  }

  @Test("a JWT of nine minutes asks for what is configured, and for no more")
  func request() throws {
    var driver = SourceDriver(.githubApp(app(["example", "b"], [.init(name: "contents", access: "read")])))
    let request = try #require(driver.start().sending)
    #expect(request.line == "POST https://ghe.example.com/api/v3/app/installations/678/access_tokens")
    #expect(text(request.body.bytes) == #"{"repositories":["example","b"],"permissions":{"contents":"read"}}"#)
    #expect(request.sent("Accept") == "application/vnd.github+json")
    let claims = try claims(request)
    #expect(claims["iss"]?.string == "12345")
    let (begin, end) = (try #require(claims["iat"]?.integer), try #require(claims["exp"]?.integer))
    #expect(end - begin == 540)
    #expect(begin == SourceDriver.wall - 60)
    #expect(claims["aud"] == nil && claims["jti"] == nil && claims["sub"] == nil)
    driver = SourceDriver(.githubApp(app()))
    #expect(driver.start().sending.map { text($0.body.bytes) } == "{}")
  }

  @Test("the token's end is expires_at")
  func token() {
    var driver = SourceDriver(.githubApp(app()))
    _ = driver.start()
    let step = driver.answer(#"{"token": "ghs_x", "expires_at": "2026-11-22T10:00:00Z"}"#, status: 201)
    #expect(step.grant?.accessToken == Secret("ghs_x"))
    #expect(step.grant?.lifetime == 3600)
    for body in [
      "", "5ecret", "{}", #"{"token": "a b", "expires_at": "2026-11-22T10:00:00Z"}"#, #"{"token": "ghs_5ecret"}"#,
      #"{"token": "ghs_5ecret", "expires_at": "soon"}"#,
    ] {
      _ = driver.start()
      let text = driver.answer(body, status: 201).failureText
      #expect(text?.hasPrefix("GitHub (ghe.example.com)'s answer cannot be used") == true)
      #expect(text?.contains("5ecret") == false)
    }
    _ = driver.start()
    #expect(
      driver.answer(#"{"token": "ghs_x", "expires_at": "2026-11-22T08:00:00Z"}"#, status: 201).failure == .expiredOnArrival)
  }

  @Test("401, 404 and 422 need an operator; limits obey Retry-After; everything else passes")
  func refusals() throws {
    var driver = SourceDriver(.githubApp(app()))
    for status in [401, 404, 422] {
      let sent = try #require(driver.start().sending?.sent("Authorization")).dropFirst("Bearer ".count)
      let step = driver.answer(#"{"message": "Not \#(sent)"}"#, status: status)
      #expect(step.refusal == "GitHub (ghe.example.com) answered with status \(status) (Not ***)")
      guard case .refused(let error)? = step.ended else { return #expect(Bool(false)) }
      #expect(error.classified(for: .source(.githubApp(app()))) == .needsOperator)
    }
    for status in [403, 429] {
      _ = driver.start()
      #expect(
        driver.answer("", status: status, retryAfter: 60).ended
          == .failed(.server("GitHub (ghe.example.com) answered with status \(status)"), retryAfter: 60_000))
    }
    for status in [302, 500, 503] {
      _ = driver.start()
      #expect(driver.answer("", status: status).failure != nil)
    }
    for (status, expected) in [(403, 86_400_000), (429, 86_400_000), (500, 300_000), (503, 300_000)] as [(Int, Int64)] {
      _ = driver.start()
      guard case .failed(_, let wait)? = driver.answer("", status: status, retryAfter: 100_000).ended else {
        return #expect(Bool(false))
      }
      #expect(wait == expected, "\(status)")
    }
    _ = driver.start()
    #expect(driver.fail(.timedOut).failureText == "GitHub (ghe.example.com) did not answer in time")
  }

  @Test("a wrong clock is corrected by what GitHub says, by a quarter of an hour at most, once")
  func clock() throws {
    var driver = SourceDriver(.githubApp(app()))
    let truth = SourceDriver.wall - 600
    _ = driver.start()
    var request = try #require(driver.answer("{}", status: 401, date: truth).sending)
    #expect(try claims(request)["iat"]?.integer == truth - 60)
    #expect(driver.answer("{}", status: 401, date: truth).refusal != nil)
    request = try #require(driver.start().sending)
    #expect(try claims(request)["iat"]?.integer == truth - 60)
    // A clock that was never set tells nothing.
    driver = SourceDriver(.githubApp(app()))
    _ = driver.start()
    #expect(driver.answer("{}", status: 401, date: 5).refusal != nil)
    // What cannot be corrected passes when somebody sets the clock, and is no refusal of the app.
    for (offset, side) in [(-1_000, "1000 s ahead of"), (3_600, "3600 s behind")] as [(Int64, String)] {
      driver = SourceDriver(.githubApp(app()))
      _ = driver.start()
      guard case .unfit(let why)? = driver.answer("{}", status: 401, date: SourceDriver.wall + offset).failure else {
        Issue.record("\(offset)")
        continue
      }
      #expect(why.contains(side), "\(why)")
    }
  }
}
