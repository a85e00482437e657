import Foundation
import Testing

/// A logout, and another login, end what was stored for the one before.
@Suite struct CacheLogoutTests {
  @Test func `a logout drops what is stored, and no login finds what another has left`() throws {
    let server = try LoginServer("--subjects", "ann,ann,bob")
    try server.configure(entry: ", cache: {share: credential, default_ttl: 10m}")
    let text = try String(contentsOfFile: server.path, encoding: .utf8)
    try ProxyProcess.write(text + "admin: 127.0.0.1:0\n", to: server.path)
    try server.logIn()
    let proxy = try server.proxy()
    defer { proxy.stop() }
    func ask() throws -> (status: Int, cache: String?) {
      let answer = try proxy.ask("http://api.test/api")
      return (answer.status, answer.cacheStatus)
    }
    func requests() throws -> Int { try server.paths().count { $0 == "/api" } }
    let logins: [() throws -> ChildProcess.Ending?] = [
      { .exited(0) }, { try server.logIn().ending }, { try server.logIn("--other-account").ending },
    ]
    for (round, logIn) in logins.enumerated() {
      #expect(try logIn() == .exited(0))
      // The first answer under a login is its own.
      #expect(
        try eventually(seconds: 30) {
          _ = try ask()
          return try requests() == round + 1
        })
      #expect(try ask().cache?.hasPrefix("hit") == true)
      #expect(try requests() == round + 1)
      // The third login takes the place of the second.
      if round > 0 { continue }
      let logout = try server.start("logout", "mailbox")
      #expect(logout.awaitEnd(seconds: 20) == .exited(0), "\(logout.errors)")
      #expect(try eventually(seconds: 30) { try proxy.metric("authproxy_cache_objects") == 0 })
      #expect(try ask().status == 502)
      #expect(try requests() == round + 1)
    }
  }
}
