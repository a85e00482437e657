import Foundation
import Testing

/// What others on the machine send to a login's listener.
@Suite struct HostileCallbackTests {
  private struct Login {
    let child: ChildProcess
    let url: String
    let port: Int
    let state: String

    init(_ server: LoginServer) throws {
      child = try ChildProcess(
        Surroundings.program, ["login", "--config", server.path, "--no-browser"], environment: [:])
      child.closeInput()
      url = try #require(child.awaitLine { $0.hasPrefix("http") }, "\(child.errors)")
      let query = try #require(URLComponents(string: url)?.queryItems)
      state = try #require(query.first { $0.name == "state" }?.value)
      let redirect = try #require(query.first { $0.name == "redirect_uri" }?.value)
      port = try #require(URLComponents(string: redirect)?.port)
    }

    func ask(_ target: String, method: String = "GET", host: String? = nil) throws -> Answer {
      let connection = try RawConnection(port: port)
      try connection.send("\(method) \(target) HTTP/1.1\r\nHost: \(host ?? "127.0.0.1:\(port)")\r\n\r\n")
      return try connection.readAnswer(to: method)
    }

    /// The browser's way, up to the redirect to the listener.
    func answer() throws -> String {
      try ChildProcess.run("curl", ["-sS", "--noproxy", "*", "-o", "/dev/null", "-w", "%{redirect_url}", url]).output
    }
  }

  private func expectLoggedIn(_ login: Login, _ server: LoginServer) throws {
    let page = try ChildProcess.run("curl", ["-sSL", "--noproxy", "*", login.url])
    #expect(page.output.contains("You are logged in"), "\(page.output)")
    #expect(login.child.awaitEnd(seconds: 20) == .exited(0), "\(login.child.errors)")
    #expect(try server.paths().filter { $0 == "/token" }.count == 1)
  }

  @Test func `no stray or hostile request ends the login or spends the code`() throws {
    let server = try LoginServer("--no-par")
    try server.configure()
    let login = try Login(server)
    let state = "state=\(login.state)"
    let cases: [(target: String, method: String, host: String?, status: Int)] = [
      ("/callback?code=x&state=wrong", "GET", nil, 400), ("/callback?code=x", "GET", nil, 400),
      ("/callback?code=x&state=", "GET", nil, 400), ("/callback?code=x&state=\(login.state.dropLast())", "GET", nil, 400),
      ("/callback?code=x&\(state)&\(state)", "GET", nil, 400), ("/callback?code=x&code=y&\(state)", "GET", nil, 400),
      ("/callback?code=x&error=access_denied&\(state)", "GET", nil, 400), ("/callback?\(state)", "GET", nil, 400),
      ("/callback?error=%3Cscript%3E%1b%5B31m&state=wrong", "GET", nil, 400),
      ("/callback?code=x&state=wrong&iss=https%3A%2F%2Fother.example", "GET", nil, 400), ("/callback", "GET", nil, 400),
      ("/callback?code=x&\(state)", "HEAD", nil, 405), ("/callback?code=x&\(state)", "POST", nil, 405),
      ("/callback?code=x&\(state)", "GET", "evil.example", 400), ("/callback?code=x&\(state)", "GET", "127.0.0.1", 400),
      ("/favicon.ico", "GET", nil, 404), ("/callback/?code=x&\(state)", "GET", nil, 404),
      ("/Callback?code=x&\(state)", "GET", nil, 404),
    ]
    each(cases) { one in
      let answer = try login.ask(one.target, method: one.method, host: one.host)
      #expect(answer.status == one.status, "\(one)")
      for text in [answer.head, answer.text] {
        #expect(!text.contains("<script") && !text.contains("\u{1b}") && !text.contains(login.state), "\(text)")
      }
    }
    for (bytes, status) in [
      ("POST /callback HTTP/1.1\r\nHost: 127.0.0.1:\(login.port)\r\nContent-Length: 8\r\n\r\ncode=x&s", 405),
      ("POST /callback HTTP/1.1\r\nHost: 127.0.0.1:\(login.port)\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n", 405),
      ("GET /callback HTTP/1.1\r\n\r\n", 400), ("\u{1}\r\n\r\n", 400),
      ("GET /callback HTTP/1.1\r\nHost: h\r\nX: \(String(repeating: "x", count: 9_000))\r\n\r\n", 400),
    ] {
      let connection = try RawConnection(port: login.port)
      try connection.send(bytes)
      let answer = try connection.readAnswer()
      #expect(answer.status == status, "\(bytes.prefix(60)) \(answer.head)")
      #expect(answer["Content-Security-Policy"] == "default-src 'none'" && answer["Cache-Control"] == "no-store")
    }
    try expectLoggedIn(login, server)
  }

  @Test func `a peer that sends without end does not hold the login up`() throws {
    let server = try LoginServer("--no-par")
    try server.configure()
    let login = try Login(server)
    let flood = try ChildProcess(
      "bash", ["-c", "{ printf '\\1\\r\\n\\r\\n'; cat /dev/zero; } > /dev/tcp/127.0.0.1/\(login.port)"], environment: [:])
    try expectLoggedIn(login, server)
    flood.signal(SIGKILL)
  }

  @Test func `neither silent connections nor those that stay keep the browser out`() throws {
    let server = try LoginServer("--no-par")
    try server.configure()
    let login = try Login(server)
    let silent = try (0..<30).map { _ in try RawConnection(port: login.port) }
    let staying = try (0..<30).map { _ in
      let connection = try RawConnection(port: login.port)
      try connection.send("GET /favicon.ico HTTP/1.1\r\nHost: 127.0.0.1:\(login.port)\r\n\r\n")
      return connection
    }
    let start = Date()
    try expectLoggedIn(login, server)
    #expect(Date().timeIntervalSince(start) < 5)
    withExtendedLifetime((silent, staying)) {}
  }

  @Test func `of the same answer three times at once, one is the login`() throws {
    let server = try LoginServer("--no-par")
    try server.configure()
    let login = try Login(server)
    let answer = try login.answer()
    let browsers = try (0..<3).map { _ in try ChildProcess("curl", ["-s", "--noproxy", "*", answer]) }
    for browser in browsers { #expect(browser.awaitEnd(seconds: 20) != nil) }
    #expect(browsers.count { $0.output.contains("You are logged in") } == 1, "\(browsers.map(\.output))")
    #expect(login.child.awaitEnd(seconds: 20) == .exited(0), "\(login.child.errors)")
    #expect(try server.paths().filter { $0 == "/token" }.count == 1)
  }

  @Test(arguments: ["iss=https%3A%2F%2Fother.example", "", "iss=%@%2F"])
  func `the right state with another issuer ends the login, and the code goes nowhere`(issuer: String) throws {
    let server = try LoginServer("--no-par")
    try server.configure()
    let login = try Login(server)
    let own = try #require(server.base.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
    let answer = try login.ask(
      "/callback?code=x-5ecret&state=\(login.state)&" + issuer.replacingOccurrences(of: "%@", with: own))
    #expect(answer.status == 400 && answer.text.contains("The login failed"), "\(answer.text)")
    #expect(login.child.awaitEnd(seconds: 20) == .exited(77), "\(login.child.errors)")
    #expect(!login.child.errors.contains("5ecret"))
    #expect(try !server.paths().contains("/token"))
  }
}
