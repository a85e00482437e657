import Foundation
import Testing

/// The verdict about an https:// parent ends with what it rests on, also on connections that are kept.
@Suite struct ParentVerdictTests {
  private func configuration(_ parent: ParentServer, _ world: TrustWorld, check: String = "", keys: String = "") throws
    -> String
  {
    let port = try Origin.shared().ports.http
    return """
      via: corporate
      parents: {corporate: {url: "\(parent.url("https"))", trust: corporate\(keys)}}
      upstreams: [{match: plain.test, origin: "http://localhost:\(port)"}]
      trust:
        corporate:
          \(world.root)
          \(check)
      threads: 1
      timeouts: {upstream_idle: 5m}
      \(RevocationByOCSPTests.loopback)

      """
  }

  @Test(arguments: ["", ", tunnel_http: true"])
  func `a kept connection is judged again when its verdict has run out`(_ keys: String) throws {
    let world = try TrustWorld()
    try world.issue("brief", seconds: 6)
    let issued = Date()
    let parent = try ParentServer(world.folder, certificate: "brief")
    try withProxy(try configuration(parent, world, keys: keys)) { proxy throws in
      for _ in 0..<2 { #expect(try proxy.ask("http://plain.test/echo").status == 200, "\(proxy.tail)") }
      #expect(Set(try parent.asked().map(\.connection)).count == 1)
      let count = try parent.asked().count
      usleep(UInt32(max(0, 7.5 + issued.timeIntervalSinceNow) * 1_000_000))
      let answer = try proxy.ask("http://plain.test/echo")
      expectOwnAnswer(answer, 502, "tls_certificate_error")
      #expect(answer["Proxy-Status"]?.contains("default: expired") == true, "\(answer.head)")
      #expect(answer["Proxy-Status"]?.contains(#"next-hop="corporate""#) == true, "\(answer.head)")
      #expect(try parent.asked().count == count)
    }
  }

  /// The proxy remembers a failure for 60 s, the shortest validity of a verdict about revocation: hence the long wait.
  @Test func `a kept connection that passed without an answer is asked about again, and closed if the parent was revoked`()
    throws
  {
    let world = try TrustWorld()
    try world.set("ocsp", "error")
    let parent = try ParentServer(world.folder, certificate: "ocsp")
    try withProxy(try configuration(parent, world, check: RevocationByOCSPTests.check())) { proxy throws in
      #expect(try proxy.ask("http://plain.test/echo").status == 200, "\(proxy.tail)")
      try world.set("ocsp", "revoked")
      #expect(try proxy.ask("http://plain.test/echo").status == 200)
      #expect(Set(try parent.asked().map(\.connection)).count == 1)
      sleep(62)
      let answer = try proxy.ask("http://plain.test/echo")
      expectOwnAnswer(answer, 502, "tls_certificate_error")
      #expect(answer["Proxy-Status"]?.contains("revocation: revoked") == true, "\(answer.head)")
      #expect(try parent.asked().count == 2)
    }
  }
}
