import Crypto
import Testing

@testable import Credentials

@Suite("Tokens of the machine's own identity")
struct CloudIdentityTests {
  private func google(_ token: CloudIdentity.GoogleToken, _ environment: [String: String] = [:]) -> SourceDriver {
    SourceDriver(.cloudIdentity(.google(token, environment: SourceEnvironment(environment))))
  }

  private func azure(_ environment: [String: String] = [:], client: String? = nil) -> SourceDriver {
    SourceDriver(
      .cloudIdentity(
        .azure(resource: "https://vault.azure.net", clientID: client, environment: SourceEnvironment(environment))))
  }

  private let token = #"{"access_token": "ya29.x", "expires_in": 3599, "token_type": "Bearer"}"#

  @Test("Google: the field, the scopes, and an answer that has the field too")
  func access() throws {
    var driver = google(.access(scopes: ["https://a/b", "https://a/c"]))
    let request = try #require(driver.start().sending)
    #expect(
      request.line == "GET http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token"
        + "?scopes=https%3A%2F%2Fa%2Fb%2Chttps%3A%2F%2Fa%2Fc")
    #expect(request.sent("Metadata-Flavor") == "Google")
    #expect(driver.answer(token, flavor: "Google").grant?.lifetime == 3599)
    for flavor in [nil, "google", "Google, Google"] {
      _ = driver.start()
      #expect(driver.answer(token, flavor: flavor).failureText?.contains("Metadata-Flavor") == true)
    }
    driver = google(.access(scopes: []), ["GCE_METADATA_HOST": "127.0.0.1:8080"])
    #expect(driver.start().sending?.url == "http://127.0.0.1:8080/computeMetadata/v1/instance/service-accounts/default/token")
  }

  @Test("Google: an ID token, which says itself until when it is valid")
  func identity() throws {
    var driver = google(.identity(audience: "https://run.app/?a=b"))
    #expect(
      driver.start().sending?.url
        == "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/identity"
        + "?audience=https%3A%2F%2Frun.app%2F%3Fa%3Db&format=full")
    func jwt(_ end: Int64) -> String {
      let claims = #"{"iss": "https://accounts.google.com", "sub": "1", "aud": "https://run.app/?a=b", "exp": \#(end)}"#
      return "e30." + text(Base64.encodeURL(bytes(claims))) + ".c2ln"
    }
    let good = jwt(SourceDriver.wall + 3_600)
    let step = driver.answer(good + "\n", flavor: "Google")
    #expect(step.grant?.accessToken == Secret(good))
    #expect(step.grant?.lifetime == 3_600)
    for (body, status) in [
      ("not a token", 200), ("a.b.c", 200), ("", 200), (jwt(SourceDriver.wall), 200), (good, 500), (good, 302),
    ] {
      _ = driver.start()
      #expect(driver.answer(body, status: status, flavor: "Google").failure != nil)
    }
  }

  @Test("Azure: IMDS, or the endpoint that the environment names")
  func azureEndpoints() throws {
    var driver = azure(client: "c-1")
    var request = try #require(driver.start().sending)
    #expect(
      request.line == "GET http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01"
        + "&resource=https%3A%2F%2Fvault.azure.net&client_id=c-1")
    #expect(request.sent("Metadata") == "true")
    let answer = #"{"access_token": "eyJ", "expires_in": "86399", "expires_on": "1", "token_type": "Bearer"}"#
    #expect(driver.answer(answer).grant?.lifetime == 86_399)
    driver = azure(["IDENTITY_ENDPOINT": "http://127.0.0.1:41741/msi/token/", "IDENTITY_HEADER": "5ecret"])
    request = try #require(driver.start().sending)
    #expect(
      request.url == "http://127.0.0.1:41741/msi/token/?api-version=2019-08-01&resource=https%3A%2F%2Fvault.azure.net")
    #expect(request.sent("X-IDENTITY-HEADER") == "5ecret")
    #expect(request.sent("Metadata") == nil)
    let end = SourceDriver.wall + 7_200
    let appService = #"{"access_token": "eyJ", "expires_on": "\#(end)", "token_type": "Bearer"}"#
    #expect(driver.answer(appService).grant?.lifetime == 7_200)
    _ = driver.start()
    #expect(driver.answer(appService.replacing("\(end)", with: "5")).failure == .expiredOnArrival)
    // Times that nobody can compute with are none.
    for odd in ["\(Int64.min)", "\(Int64.max)", "-1"] {
      _ = driver.start()
      #expect(driver.answer(appService.replacing("\(end)", with: odd)).grant?.lifetime == nil, "\(odd)")
    }
  }

  @Test(
    "the identity's secret goes to these hosts only",
    arguments: [
      ("http://localhost:1/x", true), ("http://169.254.129.3:8081/msi/token", true), ("https://a.test/x?y=1", true),
      ("http://10.0.0.1/x", false), ("http://evil.test/", false), ("x", false), ("http://169.254.1.1@evil.test/", false),
      ("http://169.254.evil.test/", false),
    ])
  func azureHosts(_ url: String, _ isGood: Bool) {
    var driver = azure(["IDENTITY_ENDPOINT": url, "IDENTITY_HEADER": "5ecret"])
    #expect((driver.start().sending != nil) == isGood)
    driver = azure(["IDENTITY_ENDPOINT": url])
    #expect(driver.start().failure == .unfit("IDENTITY_ENDPOINT is set, but IDENTITY_HEADER is not"))
  }

  @Test("refusals and failures name the server and show no secret")
  func failures() {
    var driver = azure(["IDENTITY_ENDPOINT": "http://127.0.0.1:1/", "IDENTITY_HEADER": "5ecret-header"])
    _ = driver.start()
    #expect(
      driver.answer(#"{"error": "invalid_request", "error_description": "Identity not found, 5ecret-header"}"#, status: 400)
        .refusal
        == "Azure's endpoint for identities says invalid_request (Identity not found, ***)")
    for (body, status) in [("", 200), ("5ecret", 200), ("{}", 200), ("5ecret", 500), ("", 302), ("", 429)] {
      _ = driver.start()
      let text = driver.answer(body, status: status).failureText
      #expect(text?.hasPrefix("Azure's endpoint for identities") == true)
      #expect(text?.contains("5ecret") == false)
    }
    _ = driver.start()
    #expect(driver.fail(.timedOut).failureText == "Azure's endpoint for identities did not answer in time")
  }
}
