import Foundation
import Testing

/// `retry_statuses`: the responses that refuse the token.
@Suite struct RetryStatusesTests {
  @Test func `other statuses than 401 repeat idempotent methods only`() throws {
    let server = try TokenServer(#"{"status": 403}"#)
    try withProxy(try server.configuration("retry_statuses: [401, 403]")) { proxy in
      #expect(try proxy.ask(server.url()).status == 200)
      try server.set(#"{"revoke": true, "forget": true}"#)
      let post = try proxy.ask("POST", server.url(), body: "b")
      #expect(post.status == 403)
      #expect(post.proxyDetails == "not retried, the method is not idempotent")
      #expect(try server.state().uses.count == 1)
      // The refresh happens anyway, for the next request.
      #expect(try eventually { try server.state().requests.count == 1 })
      try server.set(#"{"revoke": true, "forget": true}"#)
      #expect(try proxy.ask("PUT", server.url(), body: "b").status == 200)
      #expect(try server.state().uses.map(\.status) == [403, 200])
    }
  }

  @Test func `a status that is not among them is the app's`() throws {
    let server = try TokenServer(#"{"status": 403, "refused": ["y"]}"#)
    try withProxy(try server.configuration()) { proxy in
      let answer = try proxy.ask(server.url("y"))
      #expect(answer.status == 403)
      #expect(answer.proxyDetails == nil)
      #expect(try server.state().requests.count == 1)
    }
  }

  @Test func `a scope that does not suffice is not helped by a refresh`() throws {
    let server = try TokenServer(#"{"status": 403, "scoped": ["admin"]}"#)
    try withProxy(try server.configuration("retry_statuses: [401, 403]")) { proxy in
      for _ in 0..<3 {
        let answer = try proxy.ask(server.url("admin"))
        #expect(answer.status == 403)
        #expect(answer.proxyDetails == "not retried, the token's scope does not suffice")
      }
      #expect(try server.state().requests.count == 1)
    }
  }
}
