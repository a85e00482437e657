import Foundation
import Testing

/// Logins that meet each other, or are killed, while a proxy uses the store.
@Suite struct LoginRaceTests {
  private struct Record: Decodable, Equatable {
    let generation: Int
    let access_token, refresh_token: Data
  }

  private func record(_ server: LoginServer) throws -> Record {
    struct Store: Decodable { let credentials: [String: Record] }
    let text = try Data(contentsOf: URL(fileURLWithPath: server.folder + "/tokens.json"))
    let store = try JSONDecoder().decode(Store.self, from: text)
    return try #require(store.credentials["mailbox"])
  }

  /// Status of the API for the stored token, without the proxy.
  private func direct(_ server: LoginServer) throws -> String {
    let token = String(decoding: try record(server).access_token, as: UTF8.self)
    return try ChildProcess.run(
      "curl",
      [
        "-sS", "--noproxy", "*", "-o", "/dev/null", "-w", "%{http_code}", "-H", "Authorization: Bearer \(token)",
        server.base + "/api",
      ]
    ).output
  }

  private func withProxy(_ server: LoginServer, _ body: (ProxyProcess) throws -> Void) throws {
    try server.configure()
    let text = try String(contentsOfFile: server.path, encoding: .utf8)
    let proxy = try ProxyProcess(text, folder: server.folder)
    defer { proxy.stop() }
    try body(proxy)
  }

  private func isServed(_ proxy: ProxyProcess) throws -> Bool { try proxy.ask("http://api.test/api").status == 200 }

  @Test func `of two logins at once both succeed, and the store has one of them`() throws {
    let server = try LoginServer()
    try withProxy(server) { proxy in
      let logins = try (0..<2).map { _ in try server.start("login", "--no-browser") }
      let urls = try logins.map { login in try #require(login.awaitLine { $0.hasPrefix("http") }, "\(login.errors)") }
      let browsers = try urls.map { try ChildProcess("curl", ["-sSL", "--noproxy", "*", $0]) }
      for login in logins { #expect(login.awaitEnd(seconds: 20) == .exited(0), "\(login.errors)") }
      for browser in browsers {
        #expect(browser.awaitEnd(seconds: 20) == .exited(0))
        #expect(browser.output.contains("You are logged in"), "\(browser.output)")
      }
      #expect(try server.paths().filter { $0 == "/token" }.count == 2)
      #expect(try direct(server) == "200")
      #expect(try eventually(seconds: 2) { try isServed(proxy) })
    }
  }

  /// AUTHPROXY_KILLS: how many, at random instants of a login.
  @Test func `a login that is killed leaves the old login or the new one, and the proxy serves`() throws {
    let kills = ProcessInfo.processInfo.environment["AUTHPROXY_KILLS"].flatMap { Int($0) } ?? 8
    let server = try LoginServer()
    try withProxy(server) { proxy in
      // The first one is slower than the others.
      let whole = try (0..<3).map { _ in
        let start = Date()
        try server.logIn()
        return Date().timeIntervalSince(start)
      }.reduce(1, min)
      #expect(try eventually(seconds: 2) { try isServed(proxy) })
      var (old, new) = (0, 0)
      for round in 1...kills {
        let before = try record(server)
        let instant = Double.random(in: 0...whole * 1.1)
        let login = try server.start("login", "--no-browser")
        let began = Date()
        let isLate = { Date().timeIntervalSince(began) >= instant }
        var browser: ChildProcess?
        while !isLate() {
          if browser == nil, let url = login.lines.first(where: { $0.hasPrefix("http") }) {
            browser = try ChildProcess("curl", ["-sSL", "--noproxy", "*", url])
          }
          usleep(500)
        }
        login.signal(SIGKILL)
        #expect(login.awaitEnd(seconds: 10) != nil)
        _ = browser?.awaitEnd(seconds: 10)
        let after = try record(server)
        if after == before { old += 1 } else { new += 1 }
        #expect(after == before || after.generation > before.generation, "round \(round)")
        #expect(try direct(server) == "200", "round \(round), after \(instant) s")
        #expect(try isServed(proxy), "round \(round), after \(instant) s\n\(proxy.tail)")
      }
      print("killed \(kills) logins within \(whole * 1.1) s: \(old) times the old login, \(new) times the new one")
      // Locks went with their processes.
      let (_, ending, errors) = try server.logIn()
      #expect(ending == .exited(0), "\(errors)")
      #expect(try direct(server) == "200")
      let names = try Authority.names(server.folder)
      #expect(names.allSatisfy { !$0.contains("corrupt") }, "\(names)")
    }
  }
}
