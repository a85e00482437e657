import Foundation
import Testing

/// A token that was exchanged for a person's login follows that login.
@Suite struct ExchangedLoginTests {
  private func write(_ members: String, to path: String, _ server: TokenServer) throws {
    let script = Surroundings.support + "/token_store.py"
    let made = try ChildProcess.run(Surroundings.python, [script, path, "mailbox", server.tokenURL, "me", members])
    try #require(made.status == .exited(0), "\(made.errors)")
  }

  private func logIn(_ token: String, to path: String, _ server: TokenServer) throws {
    let expiry = Int(Date().timeIntervalSince1970) + 3_600
    try write(
      """
      {"refresh_token": "r-\(token)", "access_token": "\(token)", "expires_at": \(expiry), "lifetime": 3600,
      "login": {"at": 1, "subject": "\(token)"}}
      """, to: path, server)
  }

  @Test func `it waits for the login, follows it within seconds, and ends with it`() throws {
    let server = try TokenServer()
    let path = try Surroundings.newFolder() + "/tokens.json"
    let mailbox = """
        mailbox:
          oauth2:
            grant: authorization_code
            token_url: \(server.tokenURL)
            authorization_url: https://localhost/authorize
            client_id: me
      token_store: {file: \(path)}
      """
    try withProxy(
      try server.configuration("grant: token_exchange", "subject_token: {credential: mailbox}", top: mailbox)
    ) { proxy throws in
      func expectNeedsLogin(_ answer: Answer) {
        expectOwnAnswer(answer, 502, "proxy_configuration_error")
        #expect(answer.text.contains("run \"authproxy login mailbox\""), "\(answer.text)")
      }
      expectNeedsLogin(try proxy.ask(server.url()))
      #expect(try server.state().requests.isEmpty)

      try logIn("ann-5ecret", to: path, server)
      #expect(try eventually(seconds: 4) { try proxy.ask(server.url()).status == 200 })
      try logIn("bob-5ecret", to: path, server)
      #expect(
        try eventually(seconds: 4) {
          _ = try proxy.ask(server.url())
          return try server.state().requests.last?.form["subject_token"] == "bob-5ecret"
        }, "another person's login: what was exchanged before is not sent")

      try write(#"{"logged_out": {"at": 2, "unrevoked": []}}"#, to: path, server)
      #expect(try eventually(seconds: 4) { try proxy.ask(server.url()).status == 502 })
      let used = try server.state().uses.count
      expectNeedsLogin(try proxy.ask(server.url()))
      #expect(try server.state().uses.count == used)
      #expect(try server.state().requests.map { $0.form["subject_token"] } == ["ann-5ecret", "bob-5ecret"])
    }
  }
}
