import Foundation
import Testing

/// Against another project's OAuth server: django-oauth-toolkit, with rotation, reuse protection and tokens of 3 seconds.
@Suite struct DjangoTokenServerTests {
  @Test func `rotating refresh tokens go on through refreshes, refusals and restarts`() throws {
    let server = try DjangoServer()
    let folder = try Surroundings.newFolder()
    let configuration = server.configuration(
      """
            grant: refresh_token
            client_id: \(server.facts.client_id)
            refresh_token: \(server.facts.refresh_token)
      """, "token_store: {file: \(folder)/tokens.json}")
    for _ in 0..<2 {
      let proxy = try ProxyProcess(configuration, folder: folder)
      defer { proxy.stop() }
      let end = Date(timeIntervalSinceNow: 5)
      while Date() < end {
        let answer = try proxy.ask("http://api.test/api")
        #expect(answer.status == 200, "\(answer.head)\(answer.text)")
        usleep(50_000)
      }
      try server.ask("/revoke")
      #expect(try proxy.ask("http://api.test/api").status == 200)
    }
    let tokens = try server.tokens()
    #expect(tokens.all >= 5)
    #expect(tokens.spent == tokens.all - 1)
    #expect(tokens.refused == 0)
  }

  @Test func `client credentials are refreshed and survive a revocation`() throws {
    let server = try DjangoServer()
    let configuration = server.configuration(
      """
            grant: client_credentials
            client_id: \(server.facts.service_id)
      """)
    try withProxy(configuration) { proxy in
      for _ in 0..<3 {
        #expect(try proxy.ask("http://api.test/api").status == 200)
        try server.ask("/revoke")
      }
      #expect(try proxy.ask("http://api.test/api").status == 200)
    }
  }

  @Test func `a spent refresh token is what it is, and said to the operator`() throws {
    let server = try DjangoServer()
    let configuration = server.configuration(
      """
            grant: refresh_token
            client_id: \(server.facts.client_id)
            refresh_token: never-5ecret-issued
      """)
    try withProxy(configuration) { proxy in
      let answer = try proxy.ask("http://api.test/api")
      expectOwnAnswer(answer, 502, "proxy_configuration_error")
      #expect(answer.text.contains("invalid_grant"))
    }
  }
}
