import Foundation
import Testing

/// A connection that waits for an answer about revocation delays only its own request.
@Suite struct RevocationWithoutBlockingTests {
  private func asked(_ world: TrustWorld, _ mode: String, delay: Double, timeout: String = "20s") -> String {
    RevocationByOCSPTests.check(
      ", timeout: \(timeout), require_positive_response: true, responder: \"\(world.url)/ocsp/\(mode)?delay=\(delay)\"")
  }

  @Test func `while a responder hangs for 5 s, other upstreams' requests keep their latency`() throws {
    let world = try TrustWorld()
    let slow = try TLSServer(world, "ocsp")
    let origin = try Origin.shared()
    let pki = try Surroundings.pki()
    let cases = [
      TrustCase("slow", "https://localhost:\(slow.port)", [world.root, asked(world, "good", delay: 5)]),
      TrustCase(
        "quick", "https://localhost:\(origin.ports.https)", ["- default: {ca_file: \(pki)/ca.pem, system_roots: false}"]),
    ]
    try withProxy(TrustCase.configuration(cases, top: "threads: 1")) { proxy in
      try proxy.expectTrusted("quick")
      let waiting = try proxy.connect()
      let begun = Date()
      try waiting.send(ProxyProcess.request("GET", "http://slow.test/"))
      var worst = 0.0
      var count = 0
      while -begun.timeIntervalSinceNow < 4 {
        let start = Date()
        try proxy.expectTrusted("quick")
        worst = max(worst, -start.timeIntervalSinceNow)
        count += 1
        usleep(20_000)
      }
      // Nothing blocked the loop for nearly as long as the responder's delay, even on a busy machine.
      #expect(worst < 1, "\(count) requests, the slowest took \(worst) s")
      #expect(count > 20)
      #expect(try waiting.readAnswer().status == 200)
      #expect(-begun.timeIntervalSinceNow >= 5)
    }
  }

  @Test func `nothing is sent before the verdict, and nothing at all if that is no`() throws {
    let world = try TrustWorld()
    let server = try TLSServer(world, "ocsp", answers: false)
    let cases = [TrustCase("held", "https://localhost:\(server.port)", [world.root, asked(world, "revoked", delay: 1.5)])]
    try withProxy(TrustCase.configuration(cases)) { proxy in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("POST", "http://held.test/", body: "mine"))
      usleep(700_000)
      #expect(try world.count("revoked") == 1)
      #expect(!server.sawRequest)
      expectOwnAnswer(try client.readAnswer(), 502, "tls_certificate_error")
      #expect(!server.sawRequest, "\(server.output)")
    }
  }

  @Test func `waiting for an answer does not count towards the connect timeout`() throws {
    let world = try TrustWorld()
    let server = try TLSServer(world, "ocsp")
    let cases = [TrustCase("patient", "https://localhost:\(server.port)", [world.root, asked(world, "good", delay: 2)])]
    let top = "timeouts: {connect: 600ms, resolve: 600ms}"
    try withProxy(TrustCase.configuration(cases, top: top)) { proxy in
      try proxy.expectTrusted("patient")
    }
  }

  @Test func `many connections on all loops ask once`() throws {
    let world = try TrustWorld()
    let server = try Origin()
    let pki = try Surroundings.pki()
    let policy = ["- default: {ca_file: \(pki)/ca.pem, system_roots: false}", asked(world, "good", delay: 1)]
    let cases = [TrustCase("crowd", "https://localhost:\(server.ports.https)", policy)]
    try withProxy(TrustCase.configuration(cases, top: "threads: 3")) { proxy in
      let clients = try (0..<40).map { _ in try proxy.connect() }
      for client in clients { try client.send(ProxyProcess.request("GET", "http://crowd.test/")) }
      for client in clients { #expect(try client.readAnswer().status == 200) }
      #expect(try world.count("good") == 1)
    }
  }

  @Test func `a client that leaves does not take the answer from the others`() throws {
    let world = try TrustWorld()
    let server = try TLSServer(world, "ocsp")
    let cases = [TrustCase("shared", "https://localhost:\(server.port)", [world.root, asked(world, "good", delay: 1)])]
    try withProxy(TrustCase.configuration(cases)) { proxy in
      let first = try proxy.connect()
      try first.send(ProxyProcess.request("GET", "http://shared.test/"))
      usleep(300_000)
      let second = try proxy.connect()
      try second.send(ProxyProcess.request("GET", "http://shared.test/"))
      first.reset()
      #expect(try second.readAnswer().status == 200)
      #expect(try world.count("good") == 1)
    }
  }
}
