import Foundation
import Testing

/// The proxy does not retry what only an operator can fix, until the operator does.
@Suite struct NeedsOperatorTests {
  @Test func `a refused refresh token is asked with once, and a new one in the file is taken by a reload`() throws {
    let server = try TokenServer(#"{"refresh_token": "good-5ecret-refresh"}"#)
    let folder = try Surroundings.newFolder()
    try ProxyProcess.write("bad-5ecret-refresh\n", to: folder + "/refresh")
    let configuration = try server.configuration("grant: refresh_token", "refresh_token: {file: \(folder)/refresh}")
    try withProxy(configuration) { proxy in
      for _ in 0..<5 {
        let answer = try proxy.ask(server.url())
        expectOwnAnswer(answer, 502, "proxy_configuration_error")
        #expect(answer.text.contains("invalid_grant"))
        #expect(!answer.text.contains("5ecret"), "servers quote what they were sent")
      }
      #expect(try server.state().requests.count == 1)
      #expect(proxy.process.awaitLine { $0.contains("credential needs an operator") } != nil)
      try server.set(#"{"refresh_token": "good-5ecret-refresh"}"#)
      try ProxyProcess.write("good-5ecret-refresh\n", to: folder + "/refresh")
      try proxy.reload(configuration)
      #expect(try proxy.ask(server.url()).status == 200)
      #expect(try server.state().requests.count == 2)
    }
  }

  @Test func `a changed client secret ends the back-off after invalid_client`() throws {
    let server = try TokenServer()
    try server.set(#"{"queue": [{"status": 401, "body": {"error": "invalid_client"}}]}"#)
    let folder = try Surroundings.newFolder()
    try ProxyProcess.write("old-5ecret\n", to: folder + "/client")
    let configuration = try server.configuration("client_secret: {file: \(folder)/client}")
    try withProxy(configuration) { proxy in
      let answer = try proxy.ask(server.url())
      expectOwnAnswer(answer, 503, "proxy_internal_response")
      #expect(answer.text.contains("invalid_client"))
      try ProxyProcess.write("new-5ecret\n", to: folder + "/client")
      try proxy.reload(configuration)
      #expect(try proxy.ask(server.url()).status == 200)
      let state = try server.state()
      #expect(state.requests.count == 2)
      #expect(state.requests[1]["Authorization"] == "Basic " + Data("me:new-5ecret".utf8).base64EncodedString())
    }
  }

  @Test func `a token that is still valid stays in use`() throws {
    let server = try TokenServer(#"{"refresh_token": "r1-5ecret", "expires_in": 6}"#)
    try withProxy(
      try server.configuration("grant: refresh_token", "refresh_token: r1-5ecret", "refresh_before_expiry: 5s")
    ) { proxy in
      #expect(try proxy.ask(server.url()).status == 200)
      let token = try server.state().issued[0]
      try server.set("{\"refresh_token\": \"other\", \"accept\": [\"\(token)\"]}")
      #expect(try eventually { try server.state().requests.count == 2 })
      try server.set("{\"accept\": [\"\(token)\"]}")
      #expect(try proxy.ask(server.url()).status == 200)
      #expect(try eventually { try proxy.ask(server.url()).status == 502 })
      #expect(try server.state().requests.count == 2)
    }
  }

  @Test func `a reload that changes nothing keeps the token`() throws {
    let server = try TokenServer()
    let configuration = try server.configuration(top: "threads: 2")
    try withProxy(configuration) { proxy in
      #expect(try proxy.ask(server.url()).status == 200)
      try proxy.reload(configuration + "\n# touched\n")
      for _ in 0..<4 { #expect(try proxy.ask(server.url()).status == 200) }
      #expect(try server.state().requests.count == 1)
      try proxy.reload(configuration.replacingOccurrences(of: "client_id: me", with: "client_id: you"))
      #expect(try proxy.ask(server.url()).status == 200)
      #expect(try server.state().requests.count == 2)
    }
  }
}
