import Foundation
import Testing

/// Tokens of the machine's own identity.
@Suite struct CloudIdentityTests {
  private let google = "cloud_identity: {cloud: google, scopes: [\"https://scope.test/a\", \"https://scope.test/b\"]}"
  private let azure = "cloud_identity: {cloud: azure, resource: \"https://vault.test\", client_id: id-1}"

  private func environment(_ sources: KeySources) -> [String: String] {
    ["GCE_METADATA_HOST": "127.0.0.1:\(sources.port)", "AZURE_POD_IDENTITY_AUTHORITY_HOST": sources.base]
  }

  @Test func `a Google token is asked for with its field and its scopes, and refreshed when the API refuses it`() throws {
    let sources = try KeySources()
    try withProxy(sources.configuration(google), environment: environment(sources)) { proxy in
      #expect(try proxy.ask(sources.url()).status == 200)
      try sources.set(#"{"revoke": true}"#)
      #expect(try proxy.ask(sources.url()).status == 200)
      let state = try sources.state()
      #expect(state.asked.count == 2)
      #expect(
        state.asked[0].line == "GET /computeMetadata/v1/instance/service-accounts/default/token"
          + "?scopes=https%3A%2F%2Fscope.test%2Fa%2Chttps%3A%2F%2Fscope.test%2Fb")
      #expect(state.asked[0]["Metadata-Flavor"] == "Google")
      #expect(state.uses.map(\.status) == [200, 401, 200])
      #expect(state.uses.allSatisfy { $0.scheme == "Bearer" })
      #expect(try proxy.metric(#"authproxy_credential_refreshes_total{credential="api",result="success"}"#) == 2)
    }
  }

  @Test func `an ID token for an audience`() throws {
    let sources = try KeySources()
    let identity = "cloud_identity: {cloud: google, id_token_audience: \"https://run.test/\"}"
    try withProxy(sources.configuration(identity), environment: environment(sources)) { proxy in
      #expect(try proxy.ask(sources.url()).status == 200)
      #expect(
        try sources.state().asked[0].line
          == "GET /computeMetadata/v1/instance/service-accounts/default/identity?audience=https%3A%2F%2Frun.test%2F&format=full"
      )
      let expiry = try proxy.awaitExpiry(of: "api")
      #expect(abs(expiry - Date().timeIntervalSince1970 - 3600) < 30)
    }
  }

  @Test func `Azure's metadata service, and the endpoint that the environment names`() throws {
    let sources = try KeySources()
    try withProxy(sources.configuration(azure), environment: environment(sources)) { proxy in
      #expect(try proxy.ask(sources.url()).status == 200)
      let asked = try sources.state().asked[0]
      #expect(
        asked.line
          == "GET /metadata/identity/oauth2/token?api-version=2018-02-01&resource=https%3A%2F%2Fvault.test&client_id=id-1")
      #expect(asked["Metadata"] == "true")
    }
    try sources.set(#"{"forget": true}"#)
    let named = ["IDENTITY_ENDPOINT": "\(sources.base)/msi/token", "IDENTITY_HEADER": "azure-5ecret"]
    try withProxy(sources.configuration(azure), environment: named) { proxy in
      #expect(try proxy.ask(sources.url()).status == 200)
      #expect(try sources.state().asked[0].line.hasPrefix("GET /msi/token?api-version=2019-08-01&resource="))
      let expiry = try proxy.awaitExpiry(of: "api")
      #expect(abs(expiry - Date().timeIntervalSince1970 - 3600) < 30)
    }
  }

  @Test func `whatever is no token is 503, and is followed nowhere; then a token comes`() throws {
    for (credential, name) in [(google, "Google's metadata server"), (azure, "Azure's endpoint for identities")] {
      let sources = try KeySources()
      for fault in ["500", "garbage", "empty", "half", "redirect", "close"] {
        try sources.set(#"{"faults": ["\#(fault)"], "forget": true}"#)
        try withProxy(sources.configuration(credential), environment: environment(sources)) { proxy in
          let answer = try proxy.ask(sources.url())
          expectOwnAnswer(answer, 503, "proxy_internal_response")
          #expect(answer.text.contains(name), "\(fault): \(answer.text)")
          #expect(answer["Retry-After"] != nil)
          #expect(try sources.state().uses.isEmpty)
          #expect(try eventually { try proxy.ask(sources.url()).status == 200 }, "\(fault)")
        }
      }
    }
  }

  @Test func `an answer without Google's field is nobody's`() throws {
    let sources = try KeySources()
    // Its plain answers have no such field.
    let elsewhere = ["GCE_METADATA_HOST": "127.0.0.1:\(sources.port)/latest"]
    try withProxy(sources.configuration(google), environment: elsewhere) { proxy in
      let answer = try proxy.ask(sources.url())
      expectOwnAnswer(answer, 503, "proxy_internal_response")
      #expect(answer.text.contains("Metadata-Flavor"))
    }
  }

  @Test func `a crowd causes one token request, at the start and at the end of a token`() throws {
    let sources = try KeySources(#"{"lifetime": 2, "delay": 0.2}"#)
    try withProxy(sources.configuration(google, top: "threads: 4"), environment: environment(sources)) { proxy in
      let end = Date(timeIntervalSinceNow: 5)
      var statuses: [Int] = []
      while Date() < end { statuses += try sources.crowd(50, through: proxy) }
      #expect(Set(statuses) == [200])
      let state = try sources.state()
      #expect(state.peak == 1)
      #expect((2...8).contains(state.asked.count))
    }
  }

  @Test func `an environment that says half of it is told so, and check contacts nobody`() throws {
    let sources = try KeySources()
    let half = ["IDENTITY_ENDPOINT": "\(sources.base)/msi/token", "IDENTITY_HEADER": ""]
    try withProxy(sources.configuration(azure), environment: half) { proxy in
      let answer = try proxy.ask(sources.url())
      expectOwnAnswer(answer, 502, "proxy_configuration_error")
      #expect(answer.text.contains("IDENTITY_HEADER"))
      let check = try ChildProcess.run(
        Surroundings.program, ["check", "--config", proxy.configurationPath], environment: environment(sources))
      #expect(check.output.flowed.contains("cloud_identity azure, token for https://vault.test, identity id-1"))
      #expect(check.status == .exited(0))
    }
    #expect(try sources.state().asked.isEmpty)
  }
}
