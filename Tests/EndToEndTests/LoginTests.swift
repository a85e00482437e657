import Foundation
import Testing

/// `authproxy login`, `logout` and `tokens`.
@Suite struct LoginTests {
  private func tokens(_ server: LoginServer) throws -> String {
    try ChildProcess.run(Surroundings.program, ["tokens", "--config", server.path, "--json"]).output
  }

  @Test(arguments: [["--no-par"], []])
  func `a login with a browser stores tokens, and says so once they are there`(options: [String]) throws {
    let server = options.isEmpty ? try LoginServer() : try LoginServer("--no-par")
    try server.configure()
    #expect(try tokens(server).contains(#""state":"never""#))
    let (page, ending, errors) = try server.logIn()
    #expect(ending == .exited(0), "\(errors)")
    #expect(page.contains("You are logged in to mailbox as ann@example.com"), "\(page)")
    #expect(errors.contains("logged in to mailbox as ann@example.com"), "\(errors)")
    let told = try tokens(server)
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

  @Test func `a logout revokes both tokens, and a second one has nothing to do`() throws {
    let server = try LoginServer()
    try server.configure()
    try server.logIn()
    let logout = try server.start("logout", "mailbox")
    #expect(logout.awaitEnd(seconds: 20) == .exited(0), "\(logout.errors)")
    #expect(try server.paths().filter { $0 == "/revoke" }.count == 2)
    let told = try tokens(server)
    #expect(told.contains(#""state":"logged out""#), "\(told)")
    let again = try server.start("logout", "mailbox")
    #expect(again.awaitEnd(seconds: 20) == .exited(0))
    #expect(again.errors.contains("nobody is logged in"), "\(again.errors)")
    #expect(try server.paths().filter { $0 == "/revoke" }.count == 2)
  }

  @Test func `hostile requests neither end the login nor spend the code`() throws {
    let server = try LoginServer("--no-par")
    try server.configure()
    let login = try ChildProcess(
      Surroundings.program, ["login", "--config", server.path, "--no-browser"], environment: [:])
    login.closeInput()
    let url = try #require(login.awaitLine { $0.hasPrefix("http") }, "\(login.errors)")
    let redirect = try #require(URLComponents(string: url)?.queryItems?.first { $0.name == "redirect_uri" }?.value)
    // Silent connections do not keep the browser out.
    let port = try #require(URLComponents(string: redirect)?.port)
    let silent = try (0..<30).map { _ in try RawConnection(port: port) }
    for (path, status) in [
      ("?code=x&state=wrong", "400"), ("?code=x", "400"), ("", "400"), ("/other?code=x", "404"),
      ("?error=access_denied&state=y", "400"),
    ] {
      let got = try ChildProcess.run(
        "curl", ["-s", "--noproxy", "*", "-o", "/dev/null", "-w", "%{http_code}", redirect + path])
      #expect(got.output == status, "\(path)")
    }
    let post = try ChildProcess.run(
      "curl", ["-s", "--noproxy", "*", "-o", "/dev/null", "-w", "%{http_code}", "-d", "code=x", redirect])
    #expect(post.output == "405" || post.output == "413", "\(post.output)")
    let page = try ChildProcess.run("curl", ["-sSL", "--noproxy", "*", url])
    #expect(page.output.contains("You are logged in"), "\(page.output)")
    #expect(login.awaitEnd(seconds: 20) == .exited(0), "\(login.errors)")
    #expect(try server.paths().filter { $0 == "/token" }.count == 1)
    withExtendedLifetime(silent) {}
  }

  @Test func `nobody comes`() throws {
    let server = try LoginServer()
    try server.configure()
    let login = try server.start("login", "--no-browser", "--timeout", "1s")
    #expect(login.awaitEnd(seconds: 20) == .exited(75), "\(login.errors)")
    #expect(try tokens(server).contains(#""state":"never""#))
  }
}
