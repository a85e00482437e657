import Foundation
import Testing

/// An expired token is never sent, whatever the token server does.
@Suite struct ExpiredTokenTests {
  @Test func `when the token server is down, requests are answered 503, not sent with the old token`() throws {
    let server = try TokenServer(#"{"expires_in": 2}"#)
    try withProxy(try server.configuration()) { proxy in
      #expect(try proxy.ask(server.url()).status == 200)
      let down = (0..<50).map { _ in #"{"status": 500}"# }.joined(separator: ",")
      try server.set("{\"queue\": [\(down)]}")
      var sawUnavailable = false
      let end = Date(timeIntervalSinceNow: 3.5)
      while Date() < end {
        let answer = try proxy.ask(server.url())
        if answer.status != 200 {
          sawUnavailable = true
          expectOwnAnswer(answer, 503, "proxy_internal_response")
          #expect((Int(answer["Retry-After"] ?? "") ?? 0) >= 1)
          #expect(answer.text.contains("Credential api"))
        }
        usleep(20_000)
      }
      #expect(sawUnavailable)
      let state = try server.state()
      #expect(state.uses.allSatisfy { !$0.late && $0.status == 200 })
      #expect(state.requests.count < 8, "failures back off")
      try server.set(#"{"queue": []}"#)
      #expect(try eventually(seconds: 15) { try proxy.ask(server.url()).status == 200 })
    }
  }

  @Test func `a failure while the token is valid changes nothing for requests`() throws {
    let server = try TokenServer(#"{"expires_in": 20}"#)
    try withProxy(try server.configuration("refresh_before_expiry: 19s")) { proxy in
      #expect(try proxy.ask(server.url()).status == 200)
      try server.set(#"{"queue": [{"status": 500}, {"drop": true}, {"body": ""}, {"body": "<html>"}]}"#)
      // The refresh is due at half of the lifetime or earlier.
      #expect(try eventually(seconds: 15) { try server.state().requests.count >= 2 })
      for _ in 0..<10 { #expect(try proxy.ask(server.url()).status == 200) }
    }
  }

  @Test func `a request that waits for a connection longer than its token lives gets another one`() throws {
    let server = try TokenServer(#"{"expires_in": 1}"#)
    let name = Origin.newName()
    try server.origin.script(name, [.gate("on"), .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")])
    try withProxy(try server.configuration(top: "limits: {upstream_connections: 1}\nthreads: 1")) { proxy in
      let slow = try proxy.connect()
      try slow.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
      try server.origin.await(name, gate: "on")
      let other = try proxy.connect()
      try other.send(ProxyProcess.request("GET", server.url()))
      #expect(other.staysSilent(for: 1.5))
      try server.origin.open("on", of: name)
      #expect(try slow.readAnswer().status == 200)
      #expect(try other.readAnswer().status == 200)
      let uses = try server.state().uses
      #expect(uses.map(\.late) == [false])
      #expect(uses.map(\.token) == ["\(server.name)-5ecret-token-2"])
    }
  }
}
