import Foundation
import Testing

/// A busy connection does not outlive the verdict that it rests on.
@Suite struct HTTP2VerdictLifetimeTests {
  @Test func `a connection whose certificate has expired takes no request, and its streams have drain`() throws {
    let world = try TrustWorld()
    try world.issue("brief", seconds: 5)
    let issued = Date()
    let origin = try HTTP2Origin(certificate: world.file("brief"))
    try origin.script("long", [.head([[":status", "200"]]), .data("a"), .gate("on"), .last("b")])
    let cases = [TrustCase("brief", origin.url, [world.root], entry: ["http_version: auto"])]
    try withProxy(TrustCase.configuration(cases, top: "threads: 1\ntimeouts: {drain: 30s}")) { proxy throws in
      let long = try proxy.connect()
      long.timeout = 20
      try long.send(ProxyProcess.request("GET", "http://brief.test/?id=long"))
      try origin.await(.requests, of: "long")
      // The certificate's life is what is tested.
      usleep(UInt32(max(0, 6.5 + issued.timeIntervalSinceNow) * 1_000_000))
      try proxy.expectRefused("brief", "default: expired")
      #expect(try origin.tell().requests.count == 1)
      try origin.open("on")
      #expect(try long.readAnswer().text == "ab")
      try origin.await(.closed)
    }
  }

  /// As over HTTP/1.1 (`VerdictLifetimeTests`): answers are valid for 60 s at least; those in use are fetched again after 45 s.
  @Test func `an answer that a connection rests on is fetched anew before it is missed`() throws {
    let world = try TrustWorld()
    try world.set("ocsp", "brief")
    let origin = try HTTP2Origin(certificate: world.file("ocsp"))
    let check = RevocationByOCSPTests.check(RevocationByOCSPTests.hard)
    let cases = [TrustCase("api", origin.url, [world.root, check], entry: ["http_version: auto"])]
    let top = "threads: 1\ntimeouts: {upstream_idle: 5m}\n" + RevocationByOCSPTests.loopback
    try withProxy(TrustCase.configuration(cases, top: top)) { proxy in
      let begun = Date()
      try proxy.expectTrusted("api")
      sleep(36)
      try proxy.expectTrusted("api")
      usleep(UInt32(max(0, 56 + begun.timeIntervalSinceNow) * 1_000_000))
      #expect(try world.count("ocsp") == 2)
      usleep(UInt32(max(0, 63 + begun.timeIntervalSinceNow) * 1_000_000))
      try proxy.expectTrusted("api")
      #expect(try world.count("ocsp") == 2)
      #expect(try origin.tell().connections.count == 1)
    }
  }
}
