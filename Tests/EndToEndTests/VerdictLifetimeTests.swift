import Foundation
import Testing

/// A verdict is valid as long as everything it depends on. Pooled connections and sessions end with it.
@Suite struct VerdictLifetimeTests {
  /// An origin whose certificate expires while the proxy has connections and sessions with it.
  @Test(arguments: ["-tls1_2", "-tls1_3"])
  func `a resumed session does not skip the evaluators: not once the certificate has expired`(version: String) throws {
    let world = try TrustWorld()
    try world.issue("brief", seconds: 6)
    let issued = Date()
    let server = try TLSServer(world, "brief", options: [version])
    let cases = [TrustCase("brief", "https://localhost:\(server.port)", [world.root])]
    try withProxy(TrustCase.configuration(cases, top: "threads: 1")) { proxy in
      try proxy.expectTrusted("brief")
      let again = try proxy.ask("http://brief.test/")
      #expect(again.text.contains("Reused"), "the second connection resumes: \(again.text.prefix(400))")
      usleep(UInt32(max(0, 7.5 + issued.timeIntervalSinceNow) * 1_000_000))
      try proxy.expectRefused("brief", "default: expired")
    }
  }

  @Test func `a session goes on with the verdict, and the staple, that it was made under`() throws {
    let world = try TrustWorld.shared()
    let server = try TLSServer(world, "good", options: ["-status_file", world.file("staple-good.der")])
    let check = "- revocation: {check: leaf, network: false, require_positive_response: true}"
    let cases = [TrustCase("stapled", "https://localhost:\(server.port)", [world.root, check])]
    try withProxy(TrustCase.configuration(cases, top: "threads: 1")) { proxy in
      try proxy.expectTrusted("stapled")
      let again = try proxy.ask("http://stapled.test/")
      #expect(again.status == 200, "\(again.head)")
      #expect(again.text.contains("Reused"))
    }
  }

  @Test func `a pooled connection is judged again when its verdict has run out`() throws {
    let world = try TrustWorld()
    try world.issue("brief", seconds: 5)
    let issued = Date()
    let server = try KeepAliveServer(world, "brief")
    let cases = [TrustCase("brief", "https://localhost:\(server.port)", [world.root])]
    try withProxy(TrustCase.configuration(cases, top: "threads: 1")) { proxy in
      try proxy.expectTrusted("brief")
      try proxy.expectTrusted("brief")
      #expect(server.connections == 1)
      usleep(UInt32(max(0, 6.5 + issued.timeIntervalSinceNow) * 1_000_000))
      try proxy.expectRefused("brief", "default: expired")
      #expect(server.requests == 2)
    }
  }

  /// Answers are valid for 60 s at least; those in use are fetched again after 45 s.
  @Test func `an answer that a pooled connection rests on is fetched anew before it is missed`() throws {
    let world = try TrustWorld()
    try world.set("ocsp", "brief")
    let server = try KeepAliveServer(world, "ocsp")
    let cases = [
      TrustCase(
        "api", "https://localhost:\(server.port)", [world.root, RevocationByOCSPTests.check(RevocationByOCSPTests.hard)])
    ]
    let top = "threads: 1\ntimeouts: {upstream_idle: 5m}\n" + RevocationByOCSPTests.loopback
    try withProxy(TrustCase.configuration(cases, top: top)) { proxy in
      let begun = Date()
      try proxy.expectTrusted("api")
      sleep(36)
      try proxy.expectTrusted("api")
      usleep(UInt32(max(0, 56 + begun.timeIntervalSinceNow) * 1_000_000))
      #expect(try world.count("ocsp") == 2)
      usleep(UInt32(max(0, 63 + begun.timeIntervalSinceNow) * 1_000_000))
      // Its own verdict has expired, and the new answer is there.
      try proxy.expectTrusted("api")
      #expect(try world.count("ocsp") == 2)
      #expect(server.connections == 1)
    }
  }

  /// The proxy remembers a failure for 60 s, the shortest validity of a verdict about revocation: hence the long wait.
  @Test func `a pooled connection that passed without an answer is asked about again, and closed if it was revoked`() throws {
    let world = try TrustWorld()
    try world.set("ocsp", "error")
    let server = try KeepAliveServer(world, "ocsp")
    let cases = [
      TrustCase("api", "https://localhost:\(server.port)", [world.root, RevocationByOCSPTests.check()])
    ]
    let top = "threads: 1\ntimeouts: {upstream_idle: 5m}\n" + RevocationByOCSPTests.loopback
    try withProxy(TrustCase.configuration(cases, top: top)) { proxy in
      try proxy.expectTrusted("api")
      try world.set("ocsp", "revoked")
      try proxy.expectTrusted("api")
      #expect(server.connections == 1)
      #expect(try world.count("ocsp") == 1)
      sleep(62)
      try proxy.expectRefused("api", "revocation: revoked")
      #expect(try world.count("ocsp") == 2)
      #expect(server.requests == 2)
    }
  }
}
