import Foundation
import Testing

/// Against another project's OAuth server: django-oauth-toolkit, with rotation, reuse protection and tokens of 3 seconds.
@Suite struct DjangoTokenServerTests {
  private struct Facts: Decodable {
    let port: Int
    let client_id, service_id, client_secret, refresh_token: String
  }
  private struct Tokens: Decodable { let all, spent: Int }

  private final class Server {
    let process: ChildProcess
    let facts: Facts

    init() throws {
      process = try ChildProcess(
        Surroundings.python, [Surroundings.support + "/django_oauth.py", try Surroundings.newFolder()])
      guard let line = process.awaitLine(seconds: 60, where: { $0.hasPrefix("{") }) else {
        throw HarnessError("the server did not start: \(process.errors)")
      }
      facts = try JSONDecoder().decode(Facts.self, from: Data(line.utf8))
    }

    deinit { process.closeInput() }

    func configuration(_ grant: String, _ top: String = "") -> String {
      """
      upstreams:
        - {match: api.test, origin: "http://127.0.0.1:\(facts.port)", credential: api}
      credentials:
        api:
          allow_plaintext: true
          oauth2:
            token_url: http://127.0.0.1:\(facts.port)/o/token/
            client_secret: \(facts.client_secret)
            scope: read
      \(grant)
      \(top)
      """
    }

    @discardableResult
    func ask(_ path: String) throws -> Answer {
      let connection = try RawConnection(port: facts.port)
      try connection.send("GET \(path) HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
      return try connection.readAnswer()
    }
    func tokens() throws -> (all: Int, spent: Int) {
      let found = try JSONDecoder().decode(Tokens.self, from: Data(try ask("/tokens").body))
      return (found.all, found.spent)
    }
  }

  @Test func `rotating refresh tokens go on through refreshes, refusals and restarts`() throws {
    let server = try Server()
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
    let (all, spent) = try server.tokens()
    #expect(all >= 5)
    #expect(spent == all - 1)
  }

  @Test func `client credentials are refreshed and survive a revocation`() throws {
    let server = try Server()
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
    let server = try Server()
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
