import Foundation
import Testing

/// `authproxy login` and `tokens`.
@Suite struct LoginTests {
  @Test(arguments: [["--no-par"], []])
  func `a login with a browser stores tokens, and says so once they are there`(options: [String]) throws {
    let server = options.isEmpty ? try LoginServer() : try LoginServer("--no-par")
    try server.configure()
    #expect(try server.tokens().contains(#""state":"never""#))
    let (page, ending, errors) = try server.logIn()
    #expect(ending == .exited(0), "\(errors)")
    #expect(page.contains("You are logged in to mailbox as ann@example.com"), "\(page)")
    #expect(errors.contains("logged in to mailbox as ann@example.com"), "\(errors)")
    let told = try server.tokens()
    #expect(told.contains(#""state":"logged in""#) && told.contains(#""subject":"user-1""#), "\(told)")
    #expect(try server.paths().contains("/par") == options.isEmpty)
    let attributes = try FileManager.default.attributesOfItem(atPath: server.folder + "/tokens.json")
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    for text in [page, errors, told] { #expect(!text.contains("5ecret"), "\(text)") }
  }

  @Test func `a login on another device polls until somebody has agreed`() throws {
    let server = try LoginServer("--polls", "1")
    try server.configure()
    let login = try server.start("login", "--device", "mailbox")
    #expect(login.awaitEnd(seconds: 20) == .exited(0), "\(login.errors)")
    #expect(login.lines == ["\(server.base)/enter", "ABCD-EFGH"])
    #expect(try server.paths().filter { $0 == "/token" }.count == 2)
  }

  @Test func `nobody comes`() throws {
    let server = try LoginServer()
    try server.configure()
    let login = try server.start("login", "--no-browser", "--timeout", "1s")
    #expect(login.awaitEnd(seconds: 20) == .exited(75), "\(login.errors)")
    #expect(try server.tokens().contains(#""state":"never""#))
  }

  @Test func `the answer may be pasted, with or without a line break at its end`() throws {
    let server = try LoginServer("--no-par")
    try server.configure()
    let login = try ChildProcess(
      Surroundings.program, ["login", "--config", server.path, "--no-browser", "--paste"], environment: [:])
    let url = try #require(login.awaitLine { $0.hasPrefix("http") }, "\(login.errors)")
    let answer = try ChildProcess.run("curl", ["-sS", "--noproxy", "*", "-o", "/dev/null", "-w", "%{redirect_url}", url]).output
    login.send(answer)
    login.closeInput()
    #expect(login.awaitEnd(seconds: 20) == .exited(0), "\(login.errors)")
    #expect(!login.errors.contains("5ecret"))
  }

  @Test func `a client assertion is read again for each request, and its absence is said`() throws {
    let server = try LoginServer()
    let file = server.folder + "/assertion"
    try "first-5ecret".write(toFile: file, atomically: true, encoding: .utf8)
    try server.configure("grant: authorization_code, client_assertion: {file: assertion}")
    func begin() throws -> (ChildProcess, String) {
      let login = try ChildProcess(
        Surroundings.program, ["login", "--config", server.path, "--no-browser"], environment: [:])
      login.closeInput()
      return (login, try #require(login.awaitLine { $0.hasPrefix("http") }, "\(login.errors)"))
    }
    let (login, url) = try begin()
    try "second-5ecret".write(toFile: file, atomically: true, encoding: .utf8)
    _ = try ChildProcess.run("curl", ["-sSL", "--noproxy", "*", url])
    #expect(login.awaitEnd(seconds: 20) == .exited(0), "\(login.errors)")
    let sent = try server.requests().compactMap { $0.form?["client_assertion"] }
    #expect(sent == ["first-5ecret", "second-5ecret"])
    let (second, again) = try begin()
    try FileManager.default.removeItem(atPath: file)
    let page = try ChildProcess.run("curl", ["-sSL", "--noproxy", "*", again]).output
    #expect(second.awaitEnd(seconds: 20) == .exited(78), "\(second.errors)")
    #expect(second.errors.contains(file) && page.contains("The login failed"), "\(second.errors) \(page)")
  }

  @Test func `the line with the answer is read if the browser cannot bring it`() throws {
    let server = try LoginServer("--no-par")
    try server.configure("grant: authorization_code, redirect_uri: \"https://app.example/callback\"")
    let login = try ChildProcess(
      Surroundings.program, ["login", "--config", server.path, "--no-browser"], environment: [:])
    let url = try #require(login.awaitLine { $0.hasPrefix("http") }, "\(login.errors)")
    let answer = try ChildProcess.run("curl", ["-sS", "--noproxy", "*", "-o", "/dev/null", "-w", "%{redirect_url}", url]).output
    #expect(answer.hasPrefix("https://app.example/callback?"))
    login.send(answer + "\n")
    #expect(login.awaitEnd(seconds: 20) == .exited(0), "\(login.errors)")
    login.closeInput()
  }

  @Test func `localhost listens on both families with one port, a fixed port in use is named`() throws {
    let server = try LoginServer("--no-par")
    try server.configure("grant: authorization_code, redirect_uri: \"http://localhost/callback\"")
    let login = try ChildProcess(
      Surroundings.program, ["login", "--config", server.path, "--no-browser"], environment: [:])
    login.closeInput()
    let url = try #require(login.awaitLine { $0.hasPrefix("http") }, "\(login.errors)")
    let redirect = try #require(URLComponents(string: url)?.queryItems?.first { $0.name == "redirect_uri" }?.value)
    let port = try #require(URLComponents(string: redirect)?.port)
    for address in ["127.0.0.1", "[::1]"] {
      let got = try ChildProcess.run(
        "curl",
        [
          "-s", "--noproxy", "*", "-o", "/dev/null", "-w", "%{http_code}", "-H", "Host: localhost:\(port)",
          "http://\(address):\(port)/callback",
        ])
      #expect(got.output == "400", "\(address)")
    }
    try server.configure("grant: authorization_code, redirect_uri: \"http://localhost:\(port)/callback\"")
    let second = try server.start("login")
    #expect(second.awaitEnd(seconds: 20) == .exited(69))
    #expect(second.errors.contains(String(port)), "\(second.errors)")
    login.signal(SIGTERM)
    _ = login.awaitEnd(seconds: 20)
  }

  @Test func `the browser is started behind the printed URL, without our standard input and output, and nobody waits for it`()
    throws
  {
    let server = try LoginServer("--no-par")
    try server.configure()
    let browser = server.folder + "/browser"
    try """
    #!/bin/sh
    echo noise; echo noise >&2
    readlink /proc/self/fd/0 > "\(server.folder)/stdin"
    curl -sSL --noproxy '*' "$1" > "\(server.folder)/page"
    exec sleep 30
    """.write(toFile: browser, atomically: true, encoding: .utf8)
    try #require(chmod(browser, 0o755) == 0)
    let login = try ChildProcess(
      Surroundings.program, ["login", "--config", server.path], environment: ["BROWSER": browser, "DISPLAY": ":9"])
    login.closeInput()
    if geteuid() == 0 {
      // As root it starts none.
      let url = try #require(login.awaitLine { $0.hasPrefix("http") }, "\(login.errors)")
      _ = try ChildProcess.run("curl", ["-sSL", "--noproxy", "*", url])
      #expect(login.awaitEnd(seconds: 20) == .exited(0), "\(login.errors)")
      #expect(!FileManager.default.fileExists(atPath: server.folder + "/stdin"))
      return
    }
    #expect(login.awaitEnd(seconds: 20) == .exited(0), "\(login.errors)")
    #expect(login.lines.count == 1 && !login.errors.contains("noise"))
    #expect(try String(contentsOfFile: server.folder + "/stdin", encoding: .utf8) == "/dev/null\n")
  }

  @Test func `without a credential that has a login it is a mistake of the command line`() throws {
    let server = try LoginServer()
    try server.configure()
    for arguments in [
      ["login", "--config", server.path, "other"], ["login"], ["login", "--config", server.path, "--timeout", "x"],
    ] {
      let ended = try ChildProcess.run(Surroundings.program, arguments)
      #expect(ended.status == .exited(64), "\(arguments) \(ended.errors)")
    }
  }
}
