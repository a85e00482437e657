import Foundation
import Testing

/// What may come instead of a good handshake after the 200 of an intercepted CONNECT.
@Suite struct HandshakeFaultTests {
  private func open(_ proxy: ProxyProcess) throws -> RawConnection {
    let client = try proxy.connect()
    try client.send("CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\n\r\n")
    #expect(try client.readAnswer(to: "CONNECT").status == 200)
    return client
  }

  private func configuration() throws -> String { try Intercepted.configuration(top: "timeouts: {handshake: 1s}") }

  @Test func `silence and half a ClientHello are closed in time`() throws {
    try withProxy(try configuration()) { proxy throws in
      for bytes: [UInt8] in [[], [0x16], [0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]] {
        let client = try open(proxy)
        let began = Date()
        if !bytes.isEmpty { try client.send(bytes) }
        #expect(try client.readToEnd(seconds: 8).bytes.isEmpty)
        #expect((0.5...6).contains(Date().timeIntervalSince(began)), "\(bytes)")
      }
    }
  }

  @Test func `mangled records get an alert and an end, and the proxy serves on`() throws {
    try withProxy(try configuration()) { proxy throws in
      for bytes: [UInt8] in [
        [0x16, 3, 1, 0, 5, 1, 0, 0, 1, 0], [0x16, 0xff, 0xff, 0xff, 0xff, 0], [0x16, 3, 1, 0, 0],
        [0x16] + [UInt8](repeating: 0x16, count: 4000),
      ] {
        let client = try open(proxy)
        try client.send(bytes)
        let (answer, _) = try client.readToEnd(seconds: 8)
        #expect(answer.isEmpty || answer[0] == 0x15, "\(answer)")
      }
      #expect(try proxy.inside(ProxyProcess.last("GET", "/echo")).statuses == [200])
    }
  }

  @Test func `versions and protocols that are not ours are refused`() throws {
    try withProxy(try configuration()) { proxy throws in
      let other = try proxy.inside("", "--alpn", "h2,spdy/3")
      #expect(other.handshake.contains("no application protocol"), "\(other)")
      let none = try proxy.inside(ProxyProcess.last("GET", "/echo"))
      #expect(none.alpn.isEmpty && none.statuses == [200], "\(none)")
    }
  }

  @Test func `many half handshakes hold nobody up`() throws {
    try withProxy(try Intercepted.configuration()) { proxy throws in
      let held = try (0..<100).map { _ in
        let client = try open(proxy)
        try client.send([0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3])
        return client
      }
      for _ in 0..<5 {
        #expect(try proxy.inside(ProxyProcess.last("GET", "/echo")).statuses == [200])
      }
      #expect(held.allSatisfy { $0.staysSilent(for: 0) })
    }
  }
}
