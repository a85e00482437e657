import Foundation
import Testing

/// `subject_token: client` with the token of another credential as actor: all users share that one.
@Suite struct SubjectActorTests {
  private static func workload(_ server: TokenServer) -> String {
    """
      workload:
        oauth2: {grant: client_credentials, token_url: "\(server.tokenURL)", client_id: w, client_secret: w-5ecret, timeout: 60s}
    """
  }

  @Test func `the actor's token is another credential's; users whom the server refuses do not have it refreshed`() throws {
    let server = try SubjectServer()
    let source = try TokenServer()
    let text = server.configuration("actor_token: {credential: workload}", top: Self.workload(source))
    try withProxy(text) { proxy throws in
      for name in ["ann", "bob"] { #expect(try proxy.ask(as: "user-\(name)-5ecret").status == 200) }
      let forms = try server.state().forms.map { Dictionary(uniqueKeysWithValues: $0.map { ($0[0], $0[1]) }) }
      #expect(try forms.map { $0["actor_token"] } == [source.state().issued[0], source.state().issued[0]])
      for index in 0..<10 { #expect(try proxy.ask(as: "bad-\(index)-5ecret").status == 401) }
      #expect(try source.state().issued.count == 1)
      let exchanges = try server.state().exchanges
      for index in 0..<10 { #expect(exchanges["bad-\(index)-5ecret"] == 1, "it is not repeated") }
    }
  }

  @Test func `an actor that was refused from the beginning is refreshed once, for the users who wait`() throws {
    let server = try SubjectServer()
    let source = try TokenServer()
    try server.set(#"{"refuse_actors": 1}"#)
    let text = server.configuration("actor_token: {credential: workload}", top: Self.workload(source))
    try withProxy(text) { proxy throws in
      #expect(try proxy.ask(as: "user-ann-5ecret").status == 200)
      #expect(try proxy.ask(as: "user-bob-5ecret").status == 200)
      #expect(try source.state().issued.count == 2)
      #expect(try server.state().exchanges == ["user-ann-5ecret": 2, "user-bob-5ecret": 1])
      for index in 0..<10 { #expect(try proxy.ask(as: "bad-\(index)-5ecret").status == 401) }
      #expect(try source.state().issued.count == 2)
    }
  }

  @Test(arguments: ["mailbox", "middle"])
  func `after a logout of the actor no user's token is sent, through another exchange either`(_ actor: String) throws {
    let server = try SubjectServer()
    let source = try TokenServer()
    let path = try Surroundings.newFolder() + "/tokens.json"
    let script = Surroundings.support + "/token_store.py"
    func write(_ members: String) throws {
      let made = try ChildProcess.run(Surroundings.python, [script, path, "mailbox", source.tokenURL, "me", members])
      try #require(made.status == .exited(0), "\(made.errors)")
    }
    let expiry = Int(Date().timeIntervalSince1970) + 3_600
    try write(
      """
      {"refresh_token": "r-5ecret", "access_token": "m-5ecret", "expires_at": \(expiry), "lifetime": 3600,
      "login": {"at": 1, "subject": "m"}}
      """)
    let credentials = """
        mailbox:
          oauth2:
            grant: authorization_code
            token_url: \(source.tokenURL)
            authorization_url: https://localhost/authorize
            client_id: me
        middle:
          oauth2: {grant: token_exchange, token_url: "\(source.tokenURL)", client_id: w, client_secret: w-5ecret,
            subject_token: {credential: mailbox}}
      token_store: {file: \(path)}
      """
    try withProxy(server.configuration("actor_token: {credential: \(actor)}", top: credentials)) { proxy throws in
      for name in ["ann", "bob"] { #expect(try proxy.ask(as: "user-\(name)-5ecret").status == 200) }
      try write(#"{"logged_out": {"at": 2, "unrevoked": []}}"#)
      #expect(try eventually(seconds: 4) { try proxy.ask(as: "user-ann-5ecret").status != 200 })
      let uses = try server.state().uses
      for name in ["ann", "bob", "new"] {
        let answer = try proxy.ask(as: "user-\(name)-5ecret")
        #expect(answer.status == 502 || answer.status == 503, "\(answer.status)")
      }
      #expect(try server.state().uses == uses)
    }
  }
}
