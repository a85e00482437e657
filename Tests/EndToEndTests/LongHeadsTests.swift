import Foundation
import Testing

/// The proxy's own answers fit, whatever they have to say.
@Suite struct LongHeadsTests {
  @Test func `a TRACE that ends here echoes a head of any allowed size`() throws {
    let top = "limits: {request_head: 128KiB}"
    let configuration = try Configuration.https(top: top).replacingOccurrences(of: "    credential: api\n", with: "")
    try withProxy(configuration) { proxy throws in
      for size in [100, 30_000, 32_600, 100_000] {
        let field = "X-Long: " + String(repeating: "x", count: size)
        let answer = try proxy.ask("TRACE", "http://api.test/", ["Max-Forwards: 0", field])
        #expect(answer.status == 200)
        #expect(answer.text.contains(field))
        #expect(proxy.process.ending == nil)
      }
    }
  }

  @Test func `an answer of ours follows the interim responses that stand before it`() throws {
    let listener = try TestListener()
    try withProxy(try Configuration.http(port: listener.port)) { proxy throws in
      let client = try proxy.connect(receiveBuffer: 4096)
      try client.send(ProxyProcess.request("GET", "http://api.test/"))
      let origin = try listener.accept()
      _ = try origin.read(through: "\r\n\r\n")
      // More than the client's side holds while nobody reads.
      let hint = "HTTP/1.1 103 Early Hints\r\nX-Hint: \(String(repeating: "h", count: 30_000))\r\n\r\n"
      for _ in 0..<95 { try origin.send(hint) }
      try origin.send("HTTP/1.1 nonsense\r\n\r\n")
      Thread.sleep(forTimeInterval: 0.3)
      let answer = try client.readAnswer()
      #expect(answer.status == 502)
      #expect(!answer.interim.isEmpty)
      #expect(answer.interim.allSatisfy { $0["X-Hint"]?.count == 30_000 })
    }
  }
}
