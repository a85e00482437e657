import Foundation
import Testing

/// A connection that was silent for ten seconds may be dead: a PING finds out, and nothing is lost. There are no other PINGs.
@Suite struct HTTP2LivenessTests {
  /// Longer than the silence that makes a connection doubtful.
  private static let silence: UInt32 = 10_300_000

  @Test func `requests that come one after another are never accompanied by a PING`() throws {
    let origin = try HTTP2Origin()
    try withProxy(origin.configuration()) { proxy throws in
      for _ in 0..<20 { #expect(try proxy.ask("http://api.test/").status == 200) }
      #expect(try origin.tell().connections.map { $0.frames["PING"] ?? 0 } == [0])
    }
  }

  @Test func `after a silence, a POST asks first, and a GET at once`() throws {
    let origin = try HTTP2Origin()
    let other = try HTTP2Origin()
    let configuration = """
      threads: 1
      upstreams:
        - {match: api.test, origin: "\(origin.url)", http_version: auto}
        - {match: other.test, origin: "\(other.url)", http_version: auto}
      """
    try withProxy(configuration) { proxy throws in
      for host in ["api", "other"] { #expect(try proxy.ask("http://\(host).test/").status == 200) }
      // The silence itself is what is tested.
      usleep(Self.silence)
      #expect(try proxy.ask("POST", "http://api.test/", body: "x").told().connection == 1)
      #expect(try proxy.ask("http://other.test/").told().connection == 1)
      for one in [origin, other] {
        #expect(try eventually { try one.tell().connections[0].frames["PING"] == 1 })
        #expect(try one.tell().connections.count == 1)
      }
    }
  }

  @Test func `a connection that sends is not dead, though it owes the answer to a PING`() throws {
    let origin = try HTTP2Origin()
    try origin.setIgnoring(true)
    let pieces = (0..<12).flatMap { [HTTP2Origin.Step.gate("\($0)"), .data("\($0)")] }
    try origin.script("long", [.head([[":status", "200"]])] + pieces + [.end([])])
    try withProxy(origin.configuration()) { proxy throws in
      #expect(try proxy.ask("http://api.test/").status == 200)
      usleep(Self.silence)
      let client = try proxy.connect()
      client.timeout = 30
      try client.send(ProxyProcess.request("GET", "http://api.test/?id=long"))
      for piece in 0..<12 {
        try origin.await(.standing, of: "\(piece)")
        // Longer than the patience in all.
        usleep(300_000)
        if piece == 1 { #expect(try proxy.ask("POST", "http://api.test/", body: "x").told().connection == 2) }
        try origin.open("\(piece)")
      }
      #expect(try client.readAnswer().text == "01234567891011")
      #expect(try origin.tell().connections[0].frames["PING"] == 1)
    }
  }

  @Test func `apps that leave a silent origin ask nothing`() throws {
    let origin = try HTTP2Origin()
    try origin.script("never", [.awaitEnd, .gate("never")])
    try withProxy(origin.configuration()) { proxy throws in
      let clients = try (0..<3).map { _ in try proxy.connect() }
      for client in clients { try client.send(ProxyProcess.request("GET", "http://api.test/?id=never")) }
      try origin.await(.standing, 3, of: "never")
      usleep(1_300_000)
      for client in clients { client.close() }
      try origin.await(.resets, 3, of: "never")
      #expect(try proxy.ask("http://api.test/").told().connection == 1)
      #expect(try origin.tell().connections[0].frames["PING"] ?? 0 == 0)
    }
  }

  @Test func `a connection that died in silence loses no request`() throws {
    let origin = try HTTP2Origin()
    let other = try HTTP2Origin()
    let configuration = """
      threads: 1
      admin: 127.0.0.1:0
      upstreams:
        - {match: api.test, origin: "\(origin.url)", http_version: auto}
        - {match: other.test, origin: "\(other.url)", http_version: auto}
      """
    try withProxy(configuration) { proxy throws in
      for (host, origin) in [("api", origin), ("other", other)] {
        #expect(try proxy.ask("http://\(host).test/").status == 200)
        try origin.play([.mute], on: 1)
      }
      usleep(Self.silence)
      let begun = Date()
      let post = try proxy.connect()
      try post.send(ProxyProcess.request("POST", "http://api.test/", body: "x"))
      // It goes elsewhere when the PING has no answer for a moment.
      #expect(try post.readAnswer().told().connection == 2)
      #expect(-begun.timeIntervalSinceNow < 2.5)
      // A GET goes along with the PING, and is repeated when the connection is dead.
      #expect(try proxy.ask("http://other.test/").told().connection == 2)
      #expect(try proxy.ask("POST", "http://api.test/", body: "x").told().connection == 2)
      // One PING each, and none again.
      for host in ["api", "other"] {
        let pings = try proxy.metric(#"authproxy_upstream_pings_total{upstream="\#(host).test",result="dead"}"#)
        #expect(pings ?? 1 == 1, "\(host): \(pings ?? 0)")
      }
    }
  }
}
