import Foundation
import Testing

/// A running proxy follows logins and logouts that others write into the token store, without signal, reload or request.
@Suite struct StoredLoginTests {
  private struct Store {
    let folder: String
    let server: TokenServer
    var path: String { folder + "/tokens.json" }

    func write(_ members: String) throws {
      let script = Surroundings.support + "/token_store.py"
      let made = try ChildProcess.run(Surroundings.python, [script, path, "api", server.tokenURL, "me", members])
      try #require(made.status == .exited(0), "\(made.errors)")
    }

    /// - Parameter lifetime: seconds left of the access token.
    func logIn(_ token: String, lifetime: Int = 3_600, expires: Int? = nil) throws {
      let now = Int(Date().timeIntervalSince1970)
      let end = expires.map { ", \"expires_at\": \($0)" } ?? ""
      try write(
        """
        {"refresh_token": "r-\(token)", "access_token": "\(token)", "expires_at": \(now + lifetime), "lifetime": 3600,
        "login": {"at": \(now)\(end), "subject": "alice-5ecret-subject"}}
        """)
    }

    func logOut() throws {
      try write(#"{"logged_out": {"at": 1, "unrevoked": []}}"#)
    }

    func configuration() throws -> String {
      try server.configuration(
        "grant: authorization_code", "authorization_url: https://localhost/authorize",
        top: "token_store: {file: \(path)}\nadmin: 127.0.0.1:0\n")
    }
  }

  private func makeStore(_ settings: String = "{}") throws -> Store {
    Store(folder: try Surroundings.newFolder(), server: try TokenServer(settings))
  }

  private func expectNeedsLogin(_ answer: Answer, sourceLocation: SourceLocation = #_sourceLocation) {
    expectOwnAnswer(answer, 502, "proxy_configuration_error", sourceLocation: sourceLocation)
    let details = #"details="credential \"api\" needs a login: run \"authproxy login api\"""#
    #expect(answer["Proxy-Status"]?.contains(details) == true, "\(answer.fields)", sourceLocation: sourceLocation)
  }

  private func count(_ message: String, in proxy: ProxyProcess) -> Int {
    proxy.process.lines.count { $0.contains("\"\(message)\"") }
  }

  @Test func `before a login requests fail at once with the command, and the proxy says so once`() throws {
    let store = try makeStore()
    try withProxy(try store.configuration()) { proxy throws in
      #expect(try eventually(seconds: 2) { try proxy.admin("readyz?credentials").status == 503 }, "without any request")
      for _ in 0..<3 { expectNeedsLogin(try proxy.ask(store.server.url())) }
      #expect(try proxy.admin("readyz").status == 200)
      let answer = try proxy.admin("readyz?credentials")
      #expect(answer.text == "not ready\ncredential api needs a login: run \"authproxy login api\"\n")
      let metrics = try proxy.admin("metrics").text
      #expect(metrics.contains("authproxy_credential_needs_operator{credential=\"api\"} 1\n"))
      #expect(!metrics.contains("authproxy_credential_login_timestamp_seconds{"))
      #expect(try proxy.admin("status").text.contains(#""login":{"needed":true}"#))
      #expect(count("credential needs a login", in: proxy) == 1)
      #expect(try store.server.state().requests.isEmpty)
    }
  }

  @Test func `two proxies follow a login and a logout within two seconds, and use the record's token as it is`() throws {
    let store = try makeStore(#"{"accept": ["a-5ecret-token", "b-5ecret-token"]}"#)
    let proxies = try (0..<2).map { _ in try ProxyProcess(try store.configuration()) }
    defer { for proxy in proxies { proxy.stop() } }
    func expectBoth(_ status: Int, _ what: String) throws {
      let start = Date()
      for proxy in proxies {
        #expect(
          try eventually(seconds: 2 + start.timeIntervalSinceNow) { try proxy.ask(store.server.url()).status == status },
          "\(what)")
      }
    }
    for proxy in proxies { expectNeedsLogin(try proxy.ask(store.server.url())) }
    try store.logIn("a-5ecret-token", expires: 1_999_999_999)
    try expectBoth(200, "login")
    for proxy in proxies {
      let metrics = try proxy.admin("metrics").text
      #expect(metrics.contains("authproxy_credential_needs_operator{credential=\"api\"} 0\n"))
      #expect(metrics.contains("authproxy_credential_login_timestamp_seconds{credential=\"api\"} 1"))
      #expect(metrics.contains("authproxy_credential_login_expiry_timestamp_seconds{credential=\"api\"} 1999999999\n"))
      #expect(try proxy.admin("readyz?credentials").status == 200)
      #expect(count("logged in", in: proxy) == 1)
    }
    try store.logOut()
    try expectBoth(502, "logout")
    for proxy in proxies {
      expectNeedsLogin(try proxy.ask(store.server.url()))
      #expect(count("logged out", in: proxy) == 1)
      #expect(try proxy.admin("readyz?credentials").status == 503)
    }
    try store.logIn("b-5ecret-token")
    try expectBoth(200, "another login")
    let state = try store.server.state()
    #expect(state.requests.isEmpty, "the record has a token")
    #expect(state.uses.last?.token == "b-5ecret-token")
    for proxy in proxies {
      for text in [proxy.process.output, try proxy.admin("status").text, try proxy.admin("metrics").text] {
        #expect(!text.contains("5ecret"))
      }
    }
  }

  @Test func `a login is refreshed and rotated, and after a refused refresh token a login is needed`() throws {
    let store = try makeStore(#"{"rotate": true, "refresh_token": "r-old-5ecret"}"#)
    try store.logIn("old-5ecret", lifetime: -10)
    try withProxy(try store.configuration()) { proxy throws in
      #expect(try proxy.ask(store.server.url()).status == 200)
      #expect(try store.server.state().requests.map { $0.form["refresh_token"] } == ["r-old-5ecret"])
      try store.server.set(#"{"revoke": true}"#)
      #expect(try proxy.ask(store.server.url()).status == 200)
      try store.server.set(#"{"revoke": true, "refresh_token": "another"}"#)
      #expect(try proxy.ask(store.server.url()).status == 401, "the upstream's refusal is relayed")
      #expect(try store.server.state().requests.count == 3)
      // The answer is relayed before the owner has told the others.
      #expect(try eventually { try proxy.admin("readyz?credentials").text.contains("credential api needs a login") })
      #expect(proxy.process.awaitLine { $0.contains("credential needs a login") } != nil)
      #expect(count("credential needs a login", in: proxy) == 1)
    }
    // Another process has been told: it does not ask the server again, and the token that was refused expires at last.
    try withProxy(try store.configuration()) { proxy throws in
      #expect(try eventually { try proxy.admin("readyz?credentials").status == 503 })
      #expect(try store.server.state().requests.count == 3)
    }
    // A login repairs it.
    try withProxy(try store.configuration()) { proxy throws in
      try store.server.set(#"{"accept": ["new-5ecret"]}"#)
      try store.logIn("new-5ecret")
      #expect(try eventually(seconds: 2) { try proxy.ask(store.server.url()).status == 200 })
      #expect(try proxy.admin("readyz?credentials").status == 200)
    }
  }

  @Test func `requests that run while people log in and out get the API's answer or the documented one`() throws {
    let store = try makeStore(#"{"accept": ["a-5ecret-token"]}"#)
    try withProxy(try store.configuration()) { proxy throws in
      let connection = try proxy.connect()
      var found: [Int: Int] = [:]
      for round in 0..<4 {
        if round % 2 == 0 { try store.logIn("a-5ecret-token") } else { try store.logOut() }
        let end = Date(timeIntervalSinceNow: 2)
        var last = 0
        while Date() < end {
          try connection.send(ProxyProcess.request("GET", store.server.url()))
          last = try connection.readAnswer().status
          found[last, default: 0] += 1
        }
        #expect(last == (round % 2 == 0 ? 200 : 502), "round \(round)")
      }
      #expect(Set(found.keys) == [200, 502], "\(found)")
    }
  }
}
