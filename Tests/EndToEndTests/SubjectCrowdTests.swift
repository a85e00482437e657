import Foundation
import Testing

/// Many users behind few connections: every answer belongs to its user.
@Suite(.serialized) struct SubjectCrowdTests {
  /// 1,000 by hand: it takes longer than a test should.
  private static let users = ProcessInfo.processInfo.environment["SUBJECT_USERS"].flatMap(Int.init) ?? 300

  @Test func `users over 64 connections: every answer belongs to its user, and there is one exchange for each`() throws {
    let server = try SubjectServer()
    try server.set(#"{"delay": 0.002}"#)
    try withProxy(server.configuration(top: "threads: 4")) { proxy throws in
      let crowd = try SubjectServer.crowd(proxy, users: Self.users, connections: 64, rounds: 5)
      print("\(Self.users) users: \(crowd)")
      #expect(crowd.statuses == ["200": 5 * Self.users])
      #expect(crowd.foreign == 0)
      #expect(crowd.leaked == 0)
      let state = try server.state()
      #expect(state.exchanges.count == Self.users)
      #expect(state.exchanges.values.allSatisfy { $0 == 1 })
      #expect(state.peak <= 8, "exchanges of one client at a time")
      #expect(state.uses.values.allSatisfy { $0 == 5 })
    }
  }

  @Test func `a reload under load exchanges nothing again, and mixes up nobody`() throws {
    let server = try SubjectServer()
    let text = server.configuration(top: "threads: 2")
    try withProxy(text) { proxy throws in
      _ = try SubjectServer.crowd(proxy, users: 50, connections: 16, rounds: 1)
      let script = Surroundings.support + "/subject_crowd.py"
      let crowd = try ChildProcess(Surroundings.python, [script, "\(proxy.port)", "50", "16", "40"])
      crowd.closeInput()
      for index in 1...5 {
        try proxy.reload(text.replacingOccurrences(of: "timeout: 60s", with: "timeout: \(60 + index)s"))
      }
      #expect(crowd.awaitEnd(seconds: 60) == .exited(0), "\(crowd.errors)")
      let seen = try JSONDecoder().decode(SubjectServer.Crowd.self, from: Data(crowd.output.utf8))
      #expect(seen.statuses == ["200": 2_000])
      #expect(seen.foreign == 0)
      let state = try server.state()
      #expect(state.exchanges.count == 50)
      #expect(state.exchanges.values.allSatisfy { $0 == 1 }, "\(state.exchanges)")
    }
  }

  @Test func `another audience is another identity: what was exchanged before is not sent`() throws {
    let server = try SubjectServer()
    try withProxy(server.configuration("audience: orders")) { proxy throws in
      #expect(try proxy.ask(as: "user-ann-5ecret").status == 200)
      try proxy.reload(server.configuration("audience: billing"))
      #expect(try proxy.ask(as: "user-ann-5ecret").status == 200)
      let audiences = try server.state().forms.map { form in form.first { $0[0] == "audience" }?[1] }
      #expect(audiences == ["orders", "billing"])
    }
  }
}
