import Foundation
import Testing

/// What invented tokens and many users cost: nothing without bounds, and nothing for others.
@Suite(.serialized) struct SubjectLimitTests {
  @Test func `the table at its limit evicts who was not here for longest, and serves everybody`() throws {
    let server = try SubjectServer()
    try withProxy(server.configuration(top: "limits: {subject_tokens: 40}")) { proxy throws in
      // One client has half of it.
      for user in 0..<20 { #expect(try proxy.ask(as: "user-u\(user)-5ecret").status == 200) }
      #expect(try proxy.ask(as: "user-u0-5ecret").status == 200)
      #expect(try proxy.ask(as: "user-new-5ecret").status == 200)
      #expect(try proxy.metric("authproxy_subject_tokens{credential=\"api\"}") == 20)
      for user in [0, 2, 19] { #expect(try proxy.ask(as: "user-u\(user)-5ecret").status == 200) }
      #expect(try server.state().exchanges.values.allSatisfy { $0 == 1 })
      #expect(try proxy.ask(as: "user-u1-5ecret").status == 200)
      #expect(try server.state().exchanges["user-u1-5ecret"] == 2)
      let crowd = try SubjectServer.crowd(proxy, users: 200, connections: 16, rounds: 3)
      #expect(crowd.statuses == ["200": 600])
      #expect(crowd.foreign == 0)
      #expect(try proxy.metric("authproxy_subject_tokens{credential=\"api\"}") == 20)
    }
  }

  @Test func `a refused user with 10,000 requests does not slow the others`() throws {
    let server = try SubjectServer()
    try withProxy(server.configuration(top: "threads: 2\nlog: {access: false}")) { proxy throws in
      _ = try SubjectServer.crowd(proxy, users: 20, connections: 4, rounds: 2)
      let alone = try SubjectServer.crowd(proxy, users: 20, connections: 4, rounds: 50)
      let refused = try LoadGenerator.start(
        proxy, "http://api.test/api/x",
        ["--clients", "32", "--requests", "10000", "--rate", "3000", "--header", "Authorization: Bearer bad-eve-5ecret"])
      let beside = try SubjectServer.crowd(proxy, users: 20, connections: 4, rounds: 50)
      let result = try LoadGenerator.result(refused)
      print("alone \(alone), beside \(beside), refused \(result)")
      #expect(result.statuses == ["401": 10_000])
      #expect(beside.statuses == ["200": 1_000])
      #expect(beside.foreign == 0)
      #expect(beside.max_us < 1_000_000)
      let exchanges = try server.state().exchanges
      #expect(exchanges["bad-eve-5ecret"] == 1)
      #expect(exchanges.values.allSatisfy { $0 == 1 })
    }
  }

  @Test func `after 20 refused subjects a client's unknown ones get 429; those that are known go on, and other clients`() throws
  {
    let server = try SubjectServer()
    let clients = "clients:\n  - {name: one, password: one-5ecret}\n  - {name: two, password: two-5ecret}"
    try withProxy(server.configuration(top: clients)) { proxy throws in
      func ask(_ client: String, _ token: String) throws -> Answer {
        let proof = Data("\(client):\(client)-5ecret".utf8).base64EncodedString()
        return try proxy.ask(as: token, "x", ["Proxy-Authorization: Basic \(proof)"])
      }
      #expect(try ask("one", "user-ann-5ecret").status == 200)
      for index in 0..<20 { #expect(try ask("one", "bad-\(index)-5ecret").status == 401) }
      for index in 20..<60 {
        let answer = try ask("one", "bad-\(index)-5ecret")
        expectOwnAnswer(answer, 429, "http_request_denied")
        let wait = try #require(answer["Retry-After"].flatMap { Int($0) })
        #expect(wait > 0 && wait <= 60)
      }
      #expect(try ask("one", "user-new-5ecret").status == 429)
      #expect(try ask("one", "user-ann-5ecret").status == 200)
      #expect(try ask("two", "user-new-5ecret").status == 200)
      #expect(try server.state().exchanges.count == 22)
      let line = proxy.process.awaitLine { $0.contains("refused too many tokens of one client") }
      #expect(line?.contains("\"one\"") == true, "\(line ?? "")")
    }
  }

  @Test func `a user costs little memory beyond the token`() throws {
    let server = try SubjectServer()
    // Half of the table is one client's.
    try withProxy(server.configuration(top: "limits: {subject_tokens: 10000}\nlog: {access: false}\nthreads: 1")) {
      proxy throws in
      let count = ProcessInfo.processInfo.environment["SUBJECT_USERS"] == nil ? 1_000 : 5_000
      _ = try SubjectServer.crowd(proxy, users: 200, connections: 32, rounds: 1, prefix: "user-warm")
      let before = try Measures(proxy.pid).resident
      let crowd = try SubjectServer.crowd(proxy, users: count, connections: 32, rounds: 1)
      #expect(crowd.statuses == ["200": count])
      let each = (try Measures(proxy.pid).resident - before) * 1024 / count
      print("\(count) users: \(each) bytes each")
      #expect(each < 4_096)
    }
  }
}
