import Foundation
import Testing

/// Codes, verifiers and tokens of logins are nowhere to be read, in no spelling.
@Suite struct LoginRedactionTests {
  @Test func `after logins, refreshes, refusals and logouts no output has a code, a verifier or a token`() throws {
    let server = try LoginServer("--polls", "1", "--subjects", "user-1,user-1,user-2")
    try server.configure("grant: authorization_code, scope: openid mail, client_secret: client-5ecret")
    let quiet = try String(contentsOfFile: server.path, encoding: .utf8)
    let proxy = try ProxyProcess("admin: 127.0.0.1:0\nlog: {level: trace}\n" + quiet, folder: server.folder)
    defer { proxy.stop() }
    var said: [String] = []
    func run(_ arguments: String...) throws {
      let child = try ChildProcess(
        Surroundings.program, [arguments[0], "--config", server.path] + arguments.dropFirst(),
        environment: ["BROWSER": "/bin/false"])
      child.closeInput()
      _ = child.awaitEnd(seconds: 20)
      said += [child.output, child.errors]
    }
    func look() throws {
      for page in ["metrics", "status", "readyz?credentials"] { said.append(try proxy.admin(page).text) }
      try run("tokens", "--json")
      try run("tokens")
    }
    func awaitAnswer(_ status: Int) throws {
      for _ in 0..<200 {
        let answer = try proxy.ask("GET", "http://api.test/api")
        if answer.proxyError != nil { said.append(answer.head + answer.text) }
        if answer.status == status { return }
        usleep(20_000)
      }
      Issue.record("no \(status) came")
    }
    func logIn(_ arguments: String...) throws {
      let (page, ending, errors) = arguments.isEmpty ? try server.logIn() : try server.logIn(arguments[0])
      #expect(ending == .exited(0), "\(errors)")
      said += [page, errors]
    }
    try logIn()
    try awaitAnswer(200)
    // The next request is refused, so the proxy refreshes.
    try server.get("/forget")
    try awaitAnswer(200)
    try look()
    // The address of the callback, with a code that was never issued, is refused.
    let login = try ChildProcess(
      Surroundings.program, ["login", "--config", server.path, "--no-browser", "--paste"], environment: [:])
    let url = try #require(login.awaitLine { $0.hasPrefix("http") }, "\(login.errors)")
    let callback = try ChildProcess.run("curl", ["-sS", "--noproxy", "*", "-o", "/dev/null", "-w", "%{redirect_url}", url])
      .output
    login.send(callback.replacingOccurrences(of: "code-5ecret", with: "code-5ecret-false"))
    login.closeInput()
    #expect(login.awaitEnd(seconds: 20) != .exited(0))
    said.append(login.errors)
    try run("login", "--device", "mailbox")
    try awaitAnswer(200)
    try look()
    try run("logout", "mailbox")
    try awaitAnswer(502)
    try look()

    let secrets = try JSONDecoder().decode([String].self, from: Data(try server.get("/secrets").utf8))
    #expect(Set(secrets.map { $0.prefix(3) }).isSuperset(of: ["at-", "rt-", "dc-"]) && secrets.count >= 9, "\(secrets.count)")
    let outputs = said + [proxy.process.output, proxy.process.errors]
    Spellings.expectNone(of: secrets.map { Array($0.utf8) }, in: outputs)
  }
}
