import Foundation
import Testing

/// Somebody logs in or out while the proxy refreshes the same login.
@Suite struct LoginDuringRefreshTests {
  private func requestDuringRefresh(
    _ body: (LoginServer, ProxyProcess) throws -> Void
  ) throws -> (server: LoginServer, proxy: ProxyProcess, answer: Answer) {
    let server = try LoginServer("--gate")
    try server.configure("grant: authorization_code, scope: openid mail, timeout: 30s")
    try server.logIn()
    let proxy = try server.proxy()
    #expect(try eventually { try proxy.ask("http://api.test/api").status == 200 })
    // The API refuses the token, so the proxy refreshes it.
    try server.get("/forget")
    let connection = try proxy.connect()
    try connection.send(ProxyProcess.request("GET", "http://api.test/api"))
    try server.get("/waiting")
    try body(server, proxy)
    return (server, proxy, try connection.readAnswer())
  }

  @Test func `a logout waits for the refresh, revokes what it brought, and no token is left or comes back`() throws {
    var logout: ChildProcess?
    let (server, proxy, answer) = try requestDuringRefresh { server, _ in
      logout = try server.start("logout", "mailbox")
      #expect(logout?.awaitEnd(seconds: 0.5) == nil, "it waits for the lock")
      try server.get("/open")
    }
    defer { proxy.stop() }
    #expect([200, 401, 502].contains(answer.status), "whichever came first")
    #expect(logout?.awaitEnd(seconds: 20) == .exited(0), "\(logout?.errors ?? "")")
    #expect(try server.get("/valid") == #"{"access": 0, "refresh": 0}"#)
    #expect(try eventually { try proxy.ask("http://api.test/api").status == 502 })
    #expect(try server.tokens().contains(#""state":"logged out""#))
    #expect(try server.requests().filter { $0.form?["grant_type"] == "refresh_token" }.count == 1)
    proxy.process.signal(SIGTERM)
    #expect(proxy.process.awaitEnd(seconds: 20) == .exited(0))
    #expect(try server.tokens().contains(#""state":"logged out""#), "nothing was written at the end")
  }

  @Test func `a login waits for the refresh to be written, and is the one that counts`() throws {
    var login: ChildProcess?
    let (server, proxy, answer) = try requestDuringRefresh { server, _ in
      let child = try ChildProcess(
        Surroundings.program, ["login", "--config", server.path, "--no-browser"], environment: [:])
      child.closeInput()
      login = child
      let url = try #require(child.awaitLine { $0.hasPrefix("http") }, "\(child.errors)")
      let page = try ChildProcess("curl", ["-sSL", "--noproxy", "*", url])
      #expect(child.awaitEnd(seconds: 0.5) == nil, "it waits for the lock")
      try server.get("/open")
      #expect(page.awaitEnd(seconds: 20) == .exited(0))
      #expect(page.output.contains("You are logged in"))
    }
    defer { proxy.stop() }
    #expect(answer.status == 200)
    #expect(login?.awaitEnd(seconds: 20) == .exited(0), "\(login?.errors ?? "")")
    // The next refresh is the new login's.
    try server.get("/forget")
    try server.get("/open")
    #expect(try eventually { try proxy.ask("http://api.test/api").status == 200 })
    let tokens = try server.requests().compactMap { $0.form?["refresh_token"] }
    #expect(Set(tokens).count == 2 && tokens.count == 2, "each was used once")
  }

  @Test func `of two logins at once both end well, and the record is that of the last one`() throws {
    let server = try LoginServer("--no-par", "--subjects", "user-1")
    try server.configure()
    let logins = try (0..<2).map { _ in
      let child = try ChildProcess(
        Surroundings.program, ["login", "--config", server.path, "--no-browser"], environment: [:])
      child.closeInput()
      return child
    }
    let pages = try logins.map { login in
      try ChildProcess("curl", ["-sSL", "--noproxy", "*", try #require(login.awaitLine { $0.hasPrefix("http") })])
    }
    for (login, page) in zip(logins, pages) {
      #expect(login.awaitEnd(seconds: 20) == .exited(0), "\(login.errors)")
      #expect(page.awaitEnd(seconds: 20) == .exited(0))
      #expect(page.output.contains("You are logged in"))
    }
    let proxy = try server.proxy()
    defer { proxy.stop() }
    #expect(try eventually { try proxy.ask("http://api.test/api").status == 200 })
  }
}
