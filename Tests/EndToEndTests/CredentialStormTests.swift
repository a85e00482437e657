import Foundation
import Testing

/// Ten thousand requests at once, and no token.
@Suite(.serialized) struct CredentialStormTests {
  private static let crowd = 10_000

  @Test func `ten thousand requests that wait for one token cause one token request, and all are served`() throws {
    let server = try TokenServer()
    try server.holdNext()
    let upstream = try LoadGenerator.serve()
    defer { upstream.process.closeInput() }
    let configuration = """
      listen: 127.0.0.1:0
      admin: 127.0.0.1:0
      limits: {connections: 12000, waiting_for_credential: 12000}
      timeouts: {credential: 60s, connect: 60s}
      log: {access: false}
      upstreams:
        - {match: api.test, origin: "http://127.0.0.1:\(upstream.port)", credential: api}
      credentials:
        api:
          allow_plaintext: true
          oauth2: {grant: client_credentials, token_url: "\(server.tokenURL)", client_id: me, client_secret: shh-5ecret}
      """
    try withProxy(configuration) { proxy in
      let idle = try Measures(proxy.pid, resettingPeak: true).resident
      let crowd = try LoadGenerator.start(
        proxy, "http://api.test/", ["--clients", String(Self.crowd), "--requests", String(Self.crowd)], seconds: 90)
      try server.origin.await(server.name, gate: "on")
      let descriptors = try eventually(seconds: 60) { try Measures(proxy.pid).descriptors > Self.crowd }
      #expect(descriptors)
      // A connected request may not be read yet: wait until the loops have parked the last ones.
      usleep(500_000)
      let waiting = try Measures(proxy.pid).resident
      let start = Date()
      try server.openGate()
      let result = try LoadGenerator.result(crowd, seconds: 90)
      let seconds = Date().timeIntervalSince(start)
      #expect(result.good == Self.crowd, "\(result)")
      #expect(try server.state().requests.count == 1)
      let perRequest = (waiting - idle) * 1024 / Self.crowd
      let peak = try Measures(proxy.pid).residentPeak
      print(
        "storm: \(Self.crowd) requests served \(String(format: "%.2f", seconds)) s after the token came; "
          + "\(perRequest) bytes a waiting request; at most \(peak / 1024) MiB in all")
      #expect(perRequest < 8 << 10)
      #expect(peak < 400 << 10)
    }
  }
}
