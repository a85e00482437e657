import Foundation
import Testing

@Suite struct ManyRequestsTests {
  @Test func `2,000 requests on one client connection use one connection to the origin`() throws {
    let origin = try Origin()
    try withProxy(try Configuration.https(origin: origin)) { proxy in
      let result = try LoadGenerator.load(
        proxy, "http://api.test/?authorization=\(Configuration.wanted)", "--clients", "1", "--requests", "2000")
      #expect(result.good == 2000, "\(result)")
      #expect(try origin.connections("https").accepted == 1)
    }
  }

  @Test func `200 clients at once are all served`() throws {
    try withProxy(try Configuration.https()) { proxy in
      let result = try LoadGenerator.load(
        proxy, "http://api.test/?authorization=\(Configuration.wanted)", "--clients", "200", "--requests", "4000")
      #expect(result.good == 4000, "\(result)")
      #expect(result.failed == 0)
    }
  }

  @Test func `a client that comes with a new connection each time is served on pooled origin connections`() throws {
    let origin = try Origin()
    try withProxy(try Configuration.https(top: "threads: 1", origin: origin)) { proxy in
      let result = try LoadGenerator.load(
        proxy, "http://api.test/", "--clients", "1", "--requests", "500", "--new-connections", "fin")
      #expect(result.good == 500, "\(result)")
      #expect(try origin.connections("https").accepted == 1)
    }
  }
}
