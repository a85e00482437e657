import Foundation
import Testing

/// If the kernel has no room for another epoll registration (ENOSPC), the proxy acts as if descriptors had run out.
@Suite struct RegistrationShortageTests {
  @Test func `new connections wait, requests without a connection are 503, and all goes on afterwards`() throws {
    let shortage = try Shortage()
    let origin = try Origin()
    let configuration = try Configuration.http(top: "threads: 1\nadmin: 127.0.0.1:0", origin: origin)
    try withProxy(configuration, environment: shortage.environment) { proxy in
      let served = try proxy.connect()
      try served.send(ProxyProcess.request("OPTIONS", "http://api.test/status/204", ["Max-Forwards: 0"]))
      #expect(try served.readAnswer().status == 200)
      try shortage.begin()
      try served.send(ProxyProcess.request("GET", "http://api.test/status/201"))
      expectOwnAnswer(try served.readAnswer(), 503, "proxy_internal_error")
      let before = try Measures(proxy.pid)
      let waiting = try (0..<8).map { _ in try proxy.connect() }
      for client in waiting { try client.send(ProxyProcess.request("GET", "http://api.test/status/202")) }
      let scraper = try RawConnection(port: proxy.adminPort)
      #expect(waiting[0].staysSilent(for: 1))
      let after = try Measures(proxy.pid)
      #expect(after.processorTicks - before.processorTicks < 30, "it spins: \(before) \(after)")
      #expect(try scraper.readToEnd().bytes.isEmpty)
      try shortage.end()
      for client in waiting { #expect(try client.readAnswer().status == 202) }
      try served.send(ProxyProcess.request("GET", "http://api.test/status/203"))
      #expect(try served.readAnswer().status == 203)
      #expect(try proxy.admin("healthz").status == 200)
      #expect(proxy.process.lines.contains { $0.contains("out of file descriptors or epoll registrations") })
    }
  }

  @Test func `a client that waits to be registered is let go when the proxy ends`() throws {
    let shortage = try Shortage()
    try withProxy(try Configuration.http(top: "threads: 1"), environment: shortage.environment) { proxy in
      try shortage.begin()
      let waiting = try proxy.connect()
      #expect(waiting.staysSilent(for: 0.3))
      proxy.process.signal(SIGTERM)
      #expect(try waiting.readToEnd(seconds: 5).bytes.isEmpty)
      #expect(proxy.process.awaitEnd(seconds: 10) == .exited(0))
    }
  }

  @Test func `a token request waits until there is room`() throws {
    let shortage = try Shortage()
    let server = try TokenServer()
    let configuration = try server.configuration(top: "threads: 1")
    try withProxy(configuration, environment: shortage.environment) { proxy in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("OPTIONS", "http://api.test/", ["Max-Forwards: 0"]))
      #expect(try client.readAnswer().status == 200)
      // libcurl's own timers may carry the request to the server.
      try server.holdNext()
      try shortage.begin()
      try client.send(ProxyProcess.request("GET", server.url()))
      #expect(client.staysSilent(for: 0.5))
      try shortage.end()
      try server.openGate()
      #expect(try client.readAnswer().status == 200)
      #expect(try server.state().requests.count == 1)
    }
  }
}
