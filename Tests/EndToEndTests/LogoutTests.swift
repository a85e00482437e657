import Foundation
import Testing

/// `authproxy logout`, and `login --revoke`.
@Suite struct LogoutTests {
  @Test func `a logout revokes both tokens, and a second one has nothing to do`() throws {
    let server = try LoginServer()
    try server.configure()
    try server.logIn()
    let logout = try server.start("logout", "mailbox")
    #expect(logout.awaitEnd(seconds: 20) == .exited(0), "\(logout.errors)")
    #expect(try server.paths().filter { $0 == "/revoke" }.count == 2)
    let told = try server.tokens()
    #expect(told.contains(#""state":"logged out""#), "\(told)")
    let again = try server.start("logout", "mailbox")
    #expect(again.awaitEnd(seconds: 20) == .exited(0))
    #expect(again.errors.contains("nobody is logged in"), "\(again.errors)")
    #expect(try server.paths().filter { $0 == "/revoke" }.count == 2)
  }

  @Test func `a logout without a record reaches the proxies that remember a login`() throws {
    let server = try LoginServer()
    try server.configure()
    try server.logIn()
    let proxy = try server.proxy()
    defer { proxy.stop() }
    #expect(try eventually { try proxy.ask("http://api.test/api").status == 200 })
    try FileManager.default.removeItem(atPath: server.folder + "/tokens.json")
    let logout = try server.start("logout", "mailbox")
    #expect(logout.awaitEnd(seconds: 20) == .exited(0), "\(logout.errors)")
    #expect(logout.errors.contains("running proxies forget theirs"), "\(logout.errors)")
    #expect(try eventually { try proxy.ask("http://api.test/api").status == 502 })
  }

  @Test func `a logout with another configuration touches nothing, and says so`() throws {
    let server = try LoginServer()
    try server.configure()
    try server.logIn()
    let before = FileManager.default.contents(atPath: server.folder + "/tokens.json")
    try server.configure(client: "another")
    let logout = try server.start("logout", "mailbox")
    #expect(logout.awaitEnd(seconds: 20) == .exited(0))
    #expect(logout.errors.contains("client_id"), "\(logout.errors)")
    #expect(FileManager.default.contents(atPath: server.folder + "/tokens.json") == before)
    #expect(try !server.paths().contains("/revoke"))
  }

  @Test func `a login that revokes the one before still expects the same account`() throws {
    let server = try LoginServer("--subjects", "ann,bob,bob,bob")
    try server.configure()
    try server.logIn()
    let (page, ending, errors) = try server.logIn("--revoke")
    #expect(ending == .exited(77), "\(errors)")
    #expect(page.contains("--other-account"), "\(page)")
    #expect(try server.paths().filter { $0 == "/revoke" }.count == 2)
    #expect(try server.tokens().contains(#""state":"logged out""#))
    #expect(try server.logIn().ending == .exited(77), "also the login after one that was abandoned")
    #expect(try server.logIn("--other-account").ending == .exited(0))
  }

  @Test func `a damaged record is said to leave tokens at the server`() throws {
    let server = try LoginServer()
    try server.configure()
    try server.logIn()
    let path = server.folder + "/tokens.json"
    let text = try String(contentsOfFile: path, encoding: .utf8).replacingOccurrences(of: #""binding""#, with: #""bind""#)
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    let logout = try server.start("logout", "mailbox")
    #expect(logout.awaitEnd(seconds: 20) == .exited(0), "\(logout.errors)")
    #expect(logout.errors.contains("warning: the record of mailbox is damaged"), "\(logout.errors)")
  }

  @Test func `what a server did not revoke, the next logout does, even after another login`() throws {
    let server = try LoginServer("--busy-revocations", "1")
    try server.configure()
    try server.logIn()
    let first = try server.start("logout", "mailbox")
    #expect(first.awaitEnd(seconds: 20) == .exited(69), "\(first.errors)")
    #expect(try server.tokens().contains(#""state":"logged out""#))
    try server.logIn()
    let second = try server.start("logout", "mailbox")
    #expect(second.awaitEnd(seconds: 20) == .exited(0), "\(second.errors)")
    let revoked = try server.requests().filter { $0.path == "/revoke" }.compactMap { $0.form?["token"] }
    #expect(revoked.count == 5 && Set(revoked).count == 4, "the first one twice")
  }

  @Test(.enabled(if: geteuid() == 0, "root alone can become another user"))
  func `as root it becomes the owner of the store's folder, and follows no link of his`() throws {
    let server = try LoginServer()
    let nobody = 65_534
    let home = server.folder + "/service"
    try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
    try FileManager.default.createDirectory(atPath: server.folder + "/roots", withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(atPath: home + "/link", withDestinationPath: server.folder + "/roots")
    for path in [home, home + "/link"] { try #require(lchown(path, uid_t(nobody), gid_t(nobody)) == 0) }
    // Its folders are root's alone.
    for folder in [server.folder, Surroundings.program] { try makeReachable(folder) }
    let secret = #"client_secret: {command: [/bin/sh, -c, "id -u >> \#(home)/who; echo s"]}"#
    try server.configure("grant: authorization_code, \(secret)", store: home + "/tokens.json")
    try #require(chmod(server.path, 0o644) == 0)
    let (_, ending, errors) = try server.logIn()
    #expect(ending == .exited(0), "\(errors)")
    for file in ["tokens.json", "tokens.json.lock", "tokens.json.mailbox.lock", "who"] {
      let attributes = try FileManager.default.attributesOfItem(atPath: home + "/" + file)
      #expect(attributes[.ownerAccountID] as? Int == nobody, "\(file)")
    }
    let ran = try String(contentsOfFile: home + "/who", encoding: .utf8)
    #expect(Set(ran.split(separator: "\n")) == ["65534"])
    #expect(try server.tokens().contains(#""state":"logged in""#))
    try server.configure("grant: authorization_code, \(secret)", store: home + "/link/tokens.json")
    let refused = try server.start("login")
    #expect(refused.awaitEnd(seconds: 20) == .exited(69), "\(refused.errors)")
    #expect(refused.errors.contains("is a link of another user than root"), "\(refused.errors)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: server.folder + "/roots").isEmpty)
  }

  /// Lets everybody go through a folder, and those above it.
  private func makeReachable(_ path: String) throws {
    var path = path
    while path != "/" && path != "" {
      var status = stat()
      guard stat(path, &status) == 0 else { break }
      if status.st_mode & 0o001 == 0 { try #require(chmod(path, status.st_mode & 0o7777 | 0o011) == 0) }
      path = (path as NSString).deletingLastPathComponent
    }
  }
}
