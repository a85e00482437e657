import Foundation
import Testing

/// A token server that lies, breaks or sleeps hurts the user whom it does it to, and nobody else.
@Suite(.serialized) struct SubjectServerFaultTests {
  @Test(arguments: ["html", "big", "cut", "refresh", "mac", "redirect", "fails"])
  func `an answer that is no token becomes 503, for its user alone`(_ kind: String) throws {
    let server = try SubjectServer()
    try withProxy(server.configuration(top: "log: {level: trace}")) { proxy throws in
      for _ in 0..<3 {
        let answer = try proxy.ask(as: "\(kind)-eve-5ecret")
        expectOwnAnswer(answer, 503, "proxy_internal_response")
        #expect(answer["Retry-After"] != nil)
        #expect(!(answer.head + answer.text).contains("5ecret"))
      }
      #expect(try proxy.ask(as: "user-ann-5ecret").status == 200)
      let state = try server.state()
      #expect(state.exchanges == ["\(kind)-eve-5ecret": 1, "user-ann-5ecret": 1], "one in its back-off")
      #expect(state.uses == ["ann": 1])
    }
  }

  @Test func `an exchange that hangs ends with its user's requests, while others are served`() throws {
    let server = try SubjectServer()
    try withProxy(server.configuration("timeout: 2s", top: "threads: 2")) { proxy throws in
      let hanging = try (0..<7).map { _ in try proxy.connect() }
      for (index, client) in hanging.enumerated() {
        try client.send(
          ProxyProcess.request("GET", "http://api.test/api/x", ["Authorization: Bearer hang-u\(index)-5ecret"]))
      }
      #expect(try eventually { try server.state().open == 7 })
      for user in 0..<20 { #expect(try proxy.ask(as: "user-u\(user)-5ecret").status == 200) }
      for client in hanging { expectOwnAnswer(try client.readAnswer(), 503, "proxy_internal_response") }
    }
  }

  @Test func `requests leave at their own deadline; those of others that wait in line go on`() throws {
    let server = try SubjectServer()
    try withProxy(server.configuration("timeout: 3s", top: "timeouts: {credential: 1s}")) { proxy throws in
      let hanging = try (0..<8).map { _ in try proxy.connect() }
      for (index, client) in hanging.enumerated() {
        try client.send(
          ProxyProcess.request("GET", "http://api.test/api/x", ["Authorization: Bearer hang-u\(index)-5ecret"]))
      }
      #expect(try eventually { try server.state().open == 8 })
      // All eight exchanges of this client are taken: the next one waits in line, and its request for a second.
      expectOwnAnswer(try proxy.ask(as: "user-ann-5ecret"), 503, "proxy_internal_response")
      for client in hanging { expectOwnAnswer(try client.readAnswer(), 503, "proxy_internal_response") }
      #expect(try eventually { try proxy.ask(as: "user-ann-5ecret").status == 200 })
      #expect(try server.state().exchanges["user-ann-5ecret"] == 1)
    }
  }
}
