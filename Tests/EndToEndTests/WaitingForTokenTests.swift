import Foundation
import Testing

/// Waiting has a deadline and a limit, and ends when the client leaves.
@Suite struct WaitingForTokenTests {
  @Test func `a request waits as long as timeouts.credential`() throws {
    let server = try TokenServer()
    try server.holdNext()
    try withProxy(try server.configuration(top: "timeouts: {credential: 500ms}")) { proxy in
      let start = Date()
      let answer = try proxy.ask(server.url())
      expectOwnAnswer(answer, 503, "proxy_internal_response")
      #expect(answer["Retry-After"] != nil)
      #expect((0.45..<3).contains(Date().timeIntervalSince(start)))
      // The longest waits of all are those that an operator looks for.
      let line = try #require(proxy.process.awaitLine { $0.contains("\"request\"") })
      #expect(line.contains(/"credential_wait_ms":\d{3}/), "\(line)")
      try server.openGate()
      #expect(try eventually { try proxy.ask(server.url()).status == 200 })
      #expect(try server.state().requests.count == 1)
    }
  }

  @Test func `beyond limits.waiting_for_credential it is 503 at once, and who leaves makes room`() throws {
    let server = try TokenServer()
    try server.holdNext()
    try withProxy(
      try server.configuration(
        top: "limits: {waiting_for_credential: 3}\ntimeouts: {credential: 60s}\nthreads: 2\nadmin: 127.0.0.1:0")
    ) { proxy in
      func waitingRequests(are count: Double) throws -> Bool {
        try eventually { try proxy.metric(#"authproxy_credential_waiting_requests{credential="api"}"#) == count }
      }
      let waiting = try (0..<3).map { _ in try proxy.connect() }
      for client in waiting { try client.send(ProxyProcess.request("GET", server.url())) }
      #expect(try waitingRequests(are: 3))
      let answer = try proxy.ask(server.url())
      expectOwnAnswer(answer, 503, "proxy_internal_response")
      #expect(answer.text.contains("waiting_for_credential"))
      waiting[0].reset()
      #expect(try waitingRequests(are: 2))
      let late = try proxy.connect()
      try late.send(ProxyProcess.request("GET", server.url()))
      #expect(try waitingRequests(are: 3))
      try server.openGate()
      for client in [waiting[1], waiting[2], late] { #expect(try client.readAnswer().status == 200) }
    }
  }

  @Test func `a held refusal is relayed when no other token comes in time`() throws {
    let server = try TokenServer()
    try withProxy(try server.configuration(top: "timeouts: {credential: 500ms}")) { proxy in
      #expect(try proxy.ask(server.url()).status == 200)
      try server.set(#"{"revoke": true, "queue": [{"gate": "on"}]}"#)
      let answer = try proxy.ask(server.url())
      #expect(answer.status == 401)
      #expect(answer.proxyError == nil)
      #expect(answer.proxyDetails == "not retried, no other token came in time")
      try server.openGate()
    }
  }

  @Test func `a refusal is relayed when the refresh fails, and the token stays with the others`() throws {
    let server = try TokenServer()
    try withProxy(try server.configuration()) { proxy in
      #expect(try proxy.ask(server.url()).status == 200)
      try server.set(#"{"refused": ["bad"], "queue": [{"status": 500}, {"status": 500}]}"#)
      let first = try proxy.ask(server.url("bad"))
      #expect(first.status == 401)
      #expect(first.proxyDetails == "not retried, the credential could not be refreshed")
      let second = try proxy.ask(server.url("bad"))
      #expect(second.status == 401)
      #expect(second.proxyDetails == "not retried, the last refresh failed and the next one is not due")
      #expect(try proxy.ask(server.url()).status == 200)
    }
  }
}
