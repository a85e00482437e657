import Foundation
import Testing

/// GOAWAY in front of a connection's end is read, also by a proxy that is just writing.
@Suite struct HTTP2LastWordsTests {
  @Test(arguments: [HTTP2Origin.Step.close, .abort]) func `an upload that an ending connection has not processed is repeated`(
    end: HTTP2Origin.Step
  ) throws {
    let origin = try HTTP2Origin()
    let body = String(repeating: "a", count: 60_000)
    for round in 0..<20 { try origin.script("r\(round)", [.goAway(0, 0, ""), end], HTTP2Origin.Step.answer("done")) }
    try withProxy(origin.configuration()) { proxy throws in
      for round in 0..<20 {
        let answer = try proxy.ask("POST", "http://api.test/?id=r\(round)", body: body)
        #expect(answer.status == 200 && answer.text == "done", "\(round): \(answer.head)")
      }
    }
  }

  @Test func `a connection that breaks under many uploads ends each of them once, and nothing else`() throws {
    let origin = try HTTP2Origin()
    try origin.setHolding(true)
    try origin.script("up", [.gate("break"), .abort])
    try withProxy(origin.configuration()) { proxy throws in
      let clients = try (0..<30).map { _ in try proxy.connect() }
      let body = [UInt8](repeating: 0x61, count: 40_000)
      for client in clients {
        try client.send(ProxyProcess.request("POST", "http://api.test/?id=up", ["Content-Length: 100000"]))
        _ = client.sendWhatFits(body)
      }
      try origin.await(.standing, 30, of: "break")
      try origin.open("break")
      for client in clients { expectOwnAnswer(try client.readAnswer(), 502, "http_protocol_error") }
      #expect(try proxy.ask("http://api.test/").status == 200)
      #expect(try origin.tell().of("up").count == 30)
    }
  }
}
