import Foundation
import Testing

/// `upstream_connections` counts all loops together.
@Suite struct SharedLimitTests {
  private static func gated(_ origin: Origin) throws -> String {
    let name = Origin.newName()
    try origin.script(name, [.gate("on"), .send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")])
    return name
  }

  @Test func `a connection that comes free on one loop is a place for a request that waits on another`() throws {
    let origin = try Origin()
    let name = try Self.gated(origin)
    let top = "threads: 2\nlimits: {upstream_connections: 1}\ntimeouts: {connect: 5s}"
    try withProxy(try Configuration.https(top: top, origin: origin)) { proxy in
      // Loops differ by a few connections at most, so some of this many are on another loop than the first one.
      let clients = try (0..<16).map { _ in try proxy.connect() }
      for waiting in clients.dropFirst() {
        try clients[0].send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
        try origin.await(name, gate: "on")
        try waiting.send(ProxyProcess.request("GET", "http://api.test/status/202"))
        #expect(waiting.staysSilent(for: 0.05))
        let start = Date()
        try origin.open("on", of: name, count: 1)
        #expect(try clients[0].readAnswer().status == 200)
        #expect(try waiting.readAnswer().status == 202)
        #expect(Date().timeIntervalSince(start) < 2)
      }
    }
  }

  @Test func `what ends after its entry has gone is counted once`() throws {
    let origin = try Origin()
    let name = try Self.gated(origin)
    let other = try Configuration.https("credential: api", top: "admin: 127.0.0.1:0", origin: origin)
    try withProxy(other) { proxy in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
      try origin.await(name, gate: "on")
      let listen = "listen: \(proxy.addresses[0])\nadmin: 127.0.0.1:\(proxy.adminPort)\n"
      try proxy.reload(listen + "upstreams:\n  - {match: other.test, origin: \"https://localhost:1\"}\n")
      let active = #"authproxy_upstream_connections{upstream="api.test",state="active"}"#
      #expect(try proxy.metric(active) == 1)
      try origin.open("on", of: name, count: 1)
      #expect(try client.readAnswer().status == 200)
      #expect(try origin.connections("https", count: 0).fits)
      #expect(try proxy.metric(active) == nil)
    }
  }
}
