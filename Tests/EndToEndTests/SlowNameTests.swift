import Foundation
import Testing

/// Names with silent name servers delay only the requests for such names.
@Suite struct SlowNameTests {
  private func withNames(_ top: String = "", _ body: (ProxyProcess, Shortage, Int) throws -> Void) throws {
    let shortage = try Shortage()
    let port = try Origin.shared().ports.http
    let configuration = """
      threads: 2
      unlisted_hosts: forward
      forbidden_addresses: []
      upstreams:
        - match: api.test
          origin: http://api.fast.test:\(port)
        - match: same.test
          origin: http://x.slow.test:\(port)
      clients:
        - {name: one, password: pw-5ecret-1}
        - {name: two, password: pw-5ecret-2}
      """
    try withProxy(configuration, environment: shortage.environment) { try body($0, shortage, port) }
  }

  private func ask(_ proxy: ProxyProcess, _ client: (name: String, number: Int), _ target: String) throws -> RawConnection {
    let connection = try proxy.connect()
    let password = Data("\(client.name):pw-5ecret-\(client.number)".utf8).base64EncodedString()
    try connection.send(ProxyProcess.request("GET", target, ["Proxy-Authorization: Basic \(password)"]))
    return connection
  }
  private let one = (name: "one", number: 1)
  private let two = (name: "two", number: 2)

  private func slow(_ shortage: Shortage) -> Int { shortage.names.filter { $0.hasSuffix(".slow.test") }.count }

  @Test func `a client's slow names delay neither the configuration's nor another client's`() throws {
    try withNames { proxy, shortage, port in
      let stuck = try (0..<40).map { try ask(proxy, one, "http://n\($0).slow.test:\(port)/") }
      // Half of the 16 lanes.
      #expect(try eventually { slow(shortage) == 8 })
      let start = Date()
      #expect(try ask(proxy, one, "http://api.test/").readAnswer().status == 200)
      #expect(try ask(proxy, two, "http://other.fast.test:\(port)/").readAnswer().status == 200)
      #expect(Date().timeIntervalSince(start) < 3)
      #expect(slow(shortage) == 8)
      stuck.forEach { $0.close() }
    }
  }

  @Test func `two clients together do not get more of one zone`() throws {
    try withNames { proxy, shortage, port in
      let stuck = try (0..<40).map { try ask(proxy, $0 % 2 == 0 ? one : two, "http://n\($0).slow.test:\(port)/") }
      #expect(try eventually { slow(shortage) == 8 })
      #expect(try ask(proxy, two, "http://other.fast.test:\(port)/").readAnswer().status == 200)
      #expect(try ask(proxy, one, "http://another.fast.test:\(port)/").readAnswer().status == 200)
      #expect(slow(shortage) == 8)
      stuck.forEach { $0.close() }
    }
  }

  @Test func `one name is asked for once, whoever waits for it`() throws {
    try withNames { proxy, shortage, _ in
      let waiting = try (0..<16).map { _ in try ask(proxy, one, "http://same.test/") }
      #expect(try eventually { shortage.names.contains("x.slow.test") })
      #expect(try ask(proxy, two, "http://api.test/").readAnswer().status == 200)
      #expect(slow(shortage) == 1)
      waiting.forEach { $0.close() }
    }
  }

  @Test func `a name that does not exist is not asked for again at once`() throws {
    try withNames { proxy, shortage, port in
      let client = try ask(proxy, one, "http://a.gone.test:\(port)/")
      expectOwnAnswer(try client.readAnswer(), 502, "dns_error")
      let password = Data("one:pw-5ecret-1".utf8).base64EncodedString()
      try client.send(
        ProxyProcess.request("GET", "http://a.gone.test:\(port)/", ["Proxy-Authorization: Basic \(password)"]))
      expectOwnAnswer(try client.readAnswer(), 502, "dns_error")
      #expect(shortage.names == ["a.gone.test"])
    }
  }
}
