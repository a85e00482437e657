import Foundation
import Testing

/// A crowd waits for connections longer than its token is valid, and there is no other token.
@Suite struct ExpiredCrowdTests {
  @Test func `a connection is offered to thousands whose token has ended, on a small stack`() throws {
    let server = try TokenServer(#"{"expires_in": 6}"#, origin: try Origin())
    let top = """
      threads: 1
      admin: 127.0.0.1:0
      limits: {upstream_connections: 4000}
      timeouts: {connect: 60s, credential: 1s}
      """
    let proxy = try ProxyProcess(
      try server.configuration(top: top), wrapper: ["sh", "-c", "ulimit -s 256; exec \"$@\"", "sh"])
    defer { proxy.stop() }
    #expect(try proxy.ask(server.url()).status == 200)
    let down = (0..<50).map { _ in #"{"status": 500}"# }.joined(separator: ",")
    try server.set("{\"queue\": [\(down)]}")
    // Handshakes get no answer, so all requests wait for the few that may run at once.
    server.origin.pause()
    defer { server.origin.goOn() }
    let crowd = try LoadGenerator.start(proxy, server.url(), ["--clients", "3000", "--requests", "3000"])
    #expect(try eventually { try proxy.metric("authproxy_client_connections") ?? 0 >= 3000 })
    let expiry = try proxy.awaitExpiry(of: "api")
    // In whole seconds, rounded down.
    #expect(try eventually(seconds: 15) { Date().timeIntervalSince1970 > expiry + 2.5 })
    server.origin.goOn()
    #expect(try LoadGenerator.result(crowd).finished == 3000)
    #expect(proxy.process.ending == nil)
    try server.set(#"{"queue": []}"#)
    #expect(try eventually(seconds: 20) { try proxy.ask(server.url()).status == 200 })
    // One was already in flight, on the existing connection, when the origin stopped.
    let uses = try server.state().uses
    #expect(uses.filter(\.late).count <= 1, "\(uses.map { "\($0.token) \($0.status) \($0.late)" })")
  }
}
