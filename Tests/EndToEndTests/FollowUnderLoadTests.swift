import Foundation
import Testing

@Suite struct FollowUnderLoadTests {
  @Test func `two busy proxies follow logins and logouts within two seconds, with no other answers than the two documented`()
    throws
  {
    let server = try LoginServer("--no-par")
    try server.configure()
    let origin = try LoadGenerator.serve()
    let text = try String(contentsOfFile: server.path, encoding: .utf8).replacingOccurrences(
      of: #"origin: "\#(server.base)""#, with: #"origin: "http://127.0.0.1:\#(origin.port)""#)
    // One store; each proxy has its own configuration file.
    let shared = text.replacingOccurrences(of: "file: tokens.json", with: "file: \(server.folder)/tokens.json")
    let proxies = try (0..<2).map { _ in try ProxyProcess(shared) }
    defer { for proxy in proxies { proxy.stop() } }
    let rate = 1_000
    let loads = try proxies.map {
      try LoadGenerator.start($0, "http://api.test/", ["--clients", "16", "--rate", "\(rate)", "--requests", "\(rate * 8)"])
    }
    func expectBoth(_ status: Int, _ what: String, since start: Date) throws {
      for proxy in proxies {
        #expect(
          try eventually(seconds: 2 + start.timeIntervalSinceNow) { try proxy.ask("http://api.test/").status == status },
          "\(what)")
      }
    }
    for round in 0..<2 {
      try server.logIn()
      try expectBoth(200, "login \(round)", since: Date())
      let logout = try server.start("logout", "mailbox")
      #expect(logout.awaitEnd(seconds: 20) == .exited(0), "\(logout.errors)")
      try expectBoth(502, "logout \(round)", since: Date())
    }
    for load in loads {
      let result = try LoadGenerator.result(load)
      #expect(Set(result.statuses.keys) == ["200", "502"], "\(result)")
      #expect(result.finished == rate * 8 && result.mismatched == 0, "\(result)")
    }
    #expect(try server.paths().allSatisfy { $0 != "/api" })
  }
}
