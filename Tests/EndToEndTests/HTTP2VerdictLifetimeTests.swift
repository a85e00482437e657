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
}
