import Crypto
import Testing

@testable import Credentials

@Suite("The token requests of logins, and what makes two logins the same")
struct LoginFormTests {
  private func form(_ policy: OAuth2Policy, _ material: TokenRequest.Material) throws -> [String] {
    try TokenRequest(policy: policy, endpoint: "https://login.example.com/token", material: material, wall: 0).http.form
  }

  @Test("a code goes with its redirect URI and its verifier, without scope")
  func code() throws {
    let proof = TokenRequest.LoginProof.code(Secret("a+b c"), redirectURI: "http://127.0.0.1:1/cb", verifier: Secret("v"))
    let policy = loginPolicy(resource: ["https://a.example", "https://b.example"], parameters: ["x": "1", "code": "evil"])
    #expect(
      try form(policy, .init(proof: proof)) == [
        "grant_type=authorization_code", "code=a+b c", "redirect_uri=http://127.0.0.1:1/cb", "code_verifier=v",
        "resource=https://a.example", "resource=https://b.example", "client_id=my-app", "x=1",
      ])
  }

  @Test("a device code, with a secret client")
  func deviceCode() throws {
    let policy = loginPolicy(isDevice: true, authentication: .post(secret: Secret("s")))
    #expect(
      try form(policy, .init(proof: .deviceCode(Secret("d")))) == [
        "grant_type=urn:ietf:params:oauth:grant-type:device_code", "device_code=d", "client_id=my-app", "client_secret=s",
      ])
  }

  @Test("a refresh after a login sends the configured scope", arguments: [true, false])
  func refresh(isDevice: Bool) throws {
    let policy = loginPolicy(isDevice: isDevice, resource: ["https://a.example"])
    #expect(
      try form(policy, .init(refreshToken: Secret("r"))) == [
        "grant_type=refresh_token", "refresh_token=r", "scope=openid offline_access", "resource=https://a.example",
        "client_id=my-app",
      ])
  }

  @Test("without a login there is no request")
  func noLogin() {
    #expect(throws: TokenFailure.noLogin) { try form(loginPolicy(), .init()) }
  }

  @Test("resource goes with any grant")
  func resource() throws {
    let policy = OAuth2Policy(
      endpoint: .token(url: "https://a.example/t"), grant: .clientCredentials, clientID: "c", clientAuthentication: .none,
      scope: "s", resource: ["https://api.example"])
    #expect(
      try form(policy, .init()) == ["grant_type=client_credentials", "scope=s", "resource=https://api.example", "client_id=c"])
  }

  @Test("a refused refresh token of a login needs its operator, a machine without a login too")
  func needsOperator() {
    let error = OAuthError(code: .invalidGrant, text: "invalid_grant")
    #expect(error.classified(for: .authorizationCode(.init())) == .needsOperator)
    #expect(error.classified(for: .deviceCode(.init())) == .needsOperator)
    var driver = Driver(loginPolicy(issuer: nil))
    _ = driver.need()
    let actions = driver.note(driver.machine.storeAnswered(id: 1, .record(nil), now: driver.now, wall: driver.wall))
    #expect(actions.failedWaiters == [.needsLogin])
    #expect(actions.stored == [.release])
    #expect(actions.fetches.isEmpty)
  }

  @Test("a login belongs to its server and client, not to the way a person logged in, nor to scope and redirect")
  func binding() {
    let base = TokenBinding.digest(of: loginPolicy())
    #expect(TokenBinding.digest(of: loginPolicy(isDevice: true)) == base)
    #expect(TokenBinding.digest(of: loginPolicy(scope: "other", parameters: ["a": "b"])) == base)
    #expect(TokenBinding.digest(of: loginPolicy(issuer: "https://other.example")) != base)
    #expect(TokenBinding.digest(of: makePolicy(grant: .refreshToken(Secret("r")), endpoint: .issuer(url: loginIssuer))) != base)
  }

  @Test("a token answer also brings what a login needs")
  func grants() {
    func parsed(_ more: String) -> TokenGrant? {
      let body = "{\"access_token\":\"a\",\"token_type\":\"Bearer\"\(more)}"
      if case .token(let grant) = TokenResponse.parse(status: 200, body: bytes(body)) { return grant }
      return nil
    }
    #expect(parsed(",\"id_token\":\"x.y.z\",\"scope\":\"a b\"")?.idToken == Secret("x.y.z"))
    #expect(parsed(",\"scope\":\"a b\"")?.scope == "a b")
    #expect(parsed(",\"scope\":\"a\\u001b\"").map { $0.scope == nil } == true)
    #expect(parsed(",\"scope\":\"\(String(repeating: "s", count: 4097))\"").map { $0.scope == nil } == true)
    #expect(parsed(",\"id_token\":7").map { $0.idToken == nil } == true)
    #expect(parsed(",\"refresh_token_expires_in\":86400")?.refreshLifetime == 86_400)
    #expect(parsed(",\"refresh_expires_in\":\"1800\"")?.refreshLifetime == 1_800)
    // Keycloak's offline tokens do not expire.
    #expect(parsed(",\"refresh_expires_in\":0").map { $0.refreshLifetime == nil } == true)
  }
}
