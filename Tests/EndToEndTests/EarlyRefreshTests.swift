import Foundation
import Testing

/// The proxy fetches the next token while the current one is valid, so no request waits.
@Suite struct EarlyRefreshTests {
  @Test func `requests go on with the old token while the next one is fetched`() throws {
    let server = try TokenServer(#"{"expires_in": 6}"#)
    try withProxy(try server.configuration("refresh_before_expiry: 5s")) { proxy in
      #expect(try proxy.ask(server.url()).status == 200)
      try server.holdNext()
      try server.origin.await(server.name, gate: "on")
      for _ in 0..<20 { #expect(try proxy.ask(server.url()).status == 200) }
      #expect(Set(try server.state().uses.map(\.token)) == ["\(server.name)-5ecret-token-1"])
      try server.openGate()
      let changed = try eventually(seconds: 5) {
        _ = try proxy.ask(server.url())
        return try server.state().uses.last?.token == "\(server.name)-5ecret-token-2"
      }
      #expect(changed)
      #expect(try server.state().uses.allSatisfy { $0.status == 200 })
    }
  }

  @Test func `without requests the token is still refreshed`() throws {
    let server = try TokenServer(#"{"expires_in": 4}"#)
    try withProxy(try server.configuration()) { proxy in
      #expect(try proxy.ask(server.url()).status == 200)
      let isRefreshed = try eventually(seconds: 8) { try server.state().requests.count >= 3 }
      #expect(isRefreshed)
      #expect(try proxy.ask(server.url()).status == 200)
      #expect(try server.state().uses.allSatisfy { !$0.late })
    }
  }

  @Test(arguments: [#""expires_in": 0"#, #""expires_in": 1"#, #""expires_in": null"#, #""expires_in": -5"#])
  func `an odd lifetime never makes a busy loop`(_ lifetime: String) throws {
    let server = try TokenServer("{\(lifetime)}")
    try withProxy(try server.configuration()) { proxy in
      let end = Date(timeIntervalSinceNow: 2.5)
      while Date() < end {
        #expect(try proxy.ask(server.url()).status == 200)
        usleep(50_000)
      }
      let requests = try server.state().requests
      #expect(requests.count <= 4)
    }
  }
}
