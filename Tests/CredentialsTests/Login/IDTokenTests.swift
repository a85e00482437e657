import JSON
import Testing

@testable import Credentials

@Suite("An id_token is believed only if it is about this login")
struct IDTokenTests {
  private let wall: Int64 = 1_800_000_000

  /// nil: right.
  private func problem(_ claims: JSONValue, nonce: Secret? = nil) -> IDToken.Problem? {
    do throws(IDToken.Problem) {
      try IDToken(Secret(jwt(claims))).check(issuer: loginIssuer, clientID: "my-app", nonce: nonce, wall: wall)
      return nil
    } catch {
      return error
    }
  }

  static let table: [([String: JSONValue?], IDToken.Problem?)] = [
    ([:], nil),
    (["iss": "https://login.example.com/"], .otherIssuer("https://login.example.com/")),
    (["iss": "https://evil.example\u{1b}[2J"], .otherIssuer("https://evil.example?[2J")),
    (["iss": "https://LOGIN.example.com"], .otherIssuer("https://LOGIN.example.com")),
    (["iss": nil], .malformed("it has no iss")), (["iss": .integer(1)], .malformed("it has no iss")),
    (["aud": "other"], .otherAudience), (["aud": .array([])], .otherAudience), (["aud": .array(["other"])], .otherAudience),
    (["aud": "my-app2"], .otherAudience), (["aud": .array(["my-app"])], nil),
    (["aud": .array(["other", "my-app"])], .otherParty),
    (["aud": .array(["other", "my-app"]), "azp": "my-app"], nil),
    (["aud": .array(["other", "my-app"]), "azp": "other"], .otherParty),
    (["azp": "my-app"], nil), (["azp": "other"], .otherParty), (["azp": .null], nil),
    (["azp": .integer(1)], .malformed("its azp is no string")),
    (["aud": nil], .malformed("it has no aud")),
    (["aud": .array([.integer(1)])], .malformed("its aud is not a list of strings")),
    (["exp": .integer(1_799_999_941)], nil), (["exp": .integer(1_799_999_940)], .expired), (["exp": .integer(0)], .expired),
    (["exp": .number("1800000000.9")], nil), (["exp": .number("1.8e9")], nil),
    (["exp": nil], .malformed("it has no exp")), (["exp": "1800003600"], .malformed("it has no exp")),
    (["exp": .number("1e300")], .malformed("it has no exp")), (["exp": .number("-1")], .malformed("it has no exp")),
    (["sub": nil], .malformed("it has no sub of at most 255 bytes")),
    (["sub": ""], .malformed("it has no sub of at most 255 bytes")),
    (["sub": .string(String(repeating: "s", count: 256))], .malformed("it has no sub of at most 255 bytes")),
    (["sub": .string(String(repeating: "s", count: 255))], nil),
  ]

  @Test("claims", arguments: table)
  func claimsTable(changes: [String: JSONValue?], expected: IDToken.Problem?) {
    #expect(problem(claims(changes)) == expected)
  }

  @Test("the nonce is this login's")
  func nonce() {
    #expect(problem(claims(["nonce": "n-0S6"]), nonce: Secret("n-0S6")) == nil)
    #expect(problem(claims(["nonce": "n-0S"]), nonce: Secret("n-0S6")) == .otherNonce)
    #expect(problem(claims(["nonce": .integer(1)]), nonce: Secret("n-0S6")) == .otherNonce)
    #expect(problem(claims(), nonce: Secret("n-0S6")) == .otherNonce)
    #expect(problem(claims(["nonce": "any"])) == nil, "a device has none")
  }

  @Test(
    "what is no JWT",
    arguments: [
      "", "a", "a.b", "a.b.c.d", "..", "a.!.c", "a.e30=.c", "a.bm8.c", "a.W10.c", "a.eyJpc3MiOiJhIiwiaXNzIjoiYiJ9.c",
      String(repeating: "a", count: 16_385),
    ])
  func malformed(token: String) {
    do throws(IDToken.Problem) {
      _ = try IDToken(Secret(token))
      Issue.record("believed")
    } catch {
      guard case .malformed = error else {
        Issue.record("\(error)")
        return
      }
    }
  }

  @Test("deep nesting does not hurt")
  func deep() {
    let nested = String(repeating: "[", count: 5_000)
    let token = "e30." + text(FormEncoding.encode(bytes("x"))) + ".s"
    #expect(throws: IDToken.Problem.self) { try IDToken(Secret(token)) }
    #expect(throws: IDToken.Problem.self) { try IDToken(Secret(jwt(["a": .string(nested)]))) }
  }

  @Test("a refresh's id_token has the same issuer and subject; nothing else counts")
  func refreshed() throws {
    let token = try IDToken(Secret(jwt(claims(["exp": .integer(1), "aud": "x"]))))
    try token.checkRefreshed(issuer: loginIssuer, subject: "alice-17")
    #expect(throws: IDToken.Problem.otherSubject) { try token.checkRefreshed(issuer: loginIssuer, subject: "alice-1") }
    #expect(throws: IDToken.Problem.otherIssuer(loginIssuer)) {
      try token.checkRefreshed(issuer: "https://x", subject: "alice-17")
    }
  }

  @Test(
    "who logged in, for people",
    arguments: [
      (["email": "a@b"], "a@b (subject alice-17)"), (["email": nil], "subject alice-17"),
      (["email": nil, "preferred_username": "al"], "al (subject alice-17)"),
      (["email": "", "name": "Al"], "Al (subject alice-17)"),
      (["email": "\u{1b}[31mred\r\n", "sub": "x\u{7}"], "?[31mred?? (subject x?)"),
      (["email": .integer(1)], "subject alice-17"),
    ] as [([String: JSONValue?], String)])
  func person(changes: [String: JSONValue?], says: String) throws {
    #expect(try IDToken(Secret(jwt(claims(changes)))).person == says)
  }

  // MARK: Refreshes

  private func refreshed(
    _ idToken: String?, use: LoginSettings.TokenUse = .accessToken, subject: String? = "alice-17", scope: String = "openid"
  ) throws -> RefreshedLogin {
    var grant = TokenGrant(accessToken: Secret("access"), lifetime: 60)
    grant.idToken = idToken.map { Secret($0) }
    return try RefreshedLogin(grant, policy: loginPolicy(settings: .init(use: use), scope: scope), subject: subject, wall: wall)
  }

  @Test("a refresh may bring no id_token, but none of another server or person")
  func refreshes() throws {
    #expect(try refreshed(nil).bearer == Secret("access"))
    #expect(try refreshed(jwt(claims())).lifetime == 60)
    #expect(try refreshed(jwt(claims(["sub": "bob-3"])), subject: nil).bearer == Secret("access"))
    #expect(try refreshed("garbage", scope: "mail").bearer == Secret("access"))
    for bad in [jwt(claims(["sub": "bob-3"])), jwt(claims(["iss": "https://evil.example"])), "garbage"] {
      let problem = #expect(throws: RefreshedLogin.Problem.self) { try refreshed(bad) }
      #expect(problem?.isForeign == true)
    }
  }

  @Test("use: id_token needs one at each refresh, and its lifetime is the token's own")
  func refreshedUse() throws {
    let token = jwt(claims(["exp": .integer(1_800_000_300)]))
    #expect(try refreshed(token, use: .idToken).bearer == Secret(token))
    #expect(try refreshed(token, use: .idToken).lifetime == 300)
    for (token, failure) in [
      (nil, TokenFailure.malformed("it has no id_token, which requests send")),
      (jwt(claims(["exp": .integer(5)])), TokenFailure.expiredOnArrival),
    ] as [(String?, TokenFailure)] {
      #expect(throws: RefreshedLogin.Problem(failure: failure, isForeign: false)) { try refreshed(token, use: .idToken) }
    }
  }
}
