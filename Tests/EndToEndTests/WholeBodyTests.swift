import Foundation
import Testing

/// Bodies that are read whole before they are sent, and the memory that all of them share.
@Suite struct WholeBodyTests {
  private static let hmac =
    #"hmac: {key: s1-5ecret, message: "{method}{target}{body_sha256}", values: {id: one}, fields: {X-Key: "{id}", X-Sign: "{signature}"}}"#

  private func kept(_ proxy: ProxyProcess, until wanted: (Double) -> Bool) throws -> Bool {
    for _ in 0..<500 {
      if let bytes = try proxy.metric("authproxy_hashed_body_bytes"), wanted(bytes) { return true }
      usleep(10_000)
    }
    return false
  }

  private func head(_ length: Int) -> String {
    "POST http://api.test/x HTTP/1.1\r\nHost: api.test\r\nContent-Length: \(length)\r\n\r\n"
  }

  @Test func `what does not fit beside others is 503 with Retry-After, and every byte comes back`() throws {
    let server = try SigningServer([:])
    let text = server.configuration(Self.hmac, top: "limits: {buffers: 1MiB, hashed_body: 1MiB}")
    try withProxy("admin: 127.0.0.1:0\n" + text) { proxy throws in
      let (large, small) = (800 << 10, 400 << 10)
      let slow = try proxy.connect()
      try slow.send(head(large) + String(repeating: "a", count: large - 1))
      let isKept = try kept(proxy) { $0 >= Double(large - 1) }
      #expect(isKept)
      let refused = try proxy.ask("POST", "http://api.test/x", body: String(repeating: "b", count: small))
      #expect(refused.status == 503 && refused["Retry-After"] == "1", "\(refused.head)")
      #expect(refused.proxyError == "proxy_internal_response", "\(refused.head)")
      try slow.send("a")
      #expect(try slow.readAnswer().proxyError == nil)
      let isEmpty = try kept(proxy) { $0 == 0 }
      #expect(isEmpty)
      // Those who leave in the middle of their body leave nothing behind either.
      for _ in 0..<8 {
        let leaving = try proxy.connect()
        try leaving.send(head(large) + String(repeating: "c", count: 100 << 10))
        leaving.close()
      }
      let isEmptyAgain = try kept(proxy) { $0 == 0 }
      #expect(isEmptyAgain)
      #expect(try proxy.ask("POST", "http://api.test/x", body: String(repeating: "d", count: small)).proxyError == nil)
    }
  }
}
