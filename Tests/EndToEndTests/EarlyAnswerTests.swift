import Foundation
import Testing

/// An origin may answer before it has read the request.
@Suite struct EarlyAnswerTests {
  @Test func `an answer during an upload reaches the app, whether the origin reads on or closes`() throws {
    let origin = try Origin.shared()
    for ending in [Origin.Step.readBody, .close, .reset] {
      let name = Origin.newName()
      try origin.script(
        name,
        [
          .readBytes(10), .send("HTTP/1.1 413 Too Large\r\nContent-Length: 9\r\nConnection: close\r\n\r\ntoo large"),
          .pause(0.2), ending,
        ])
      try withProxy(try Configuration.https()) { proxy in
        let client = try proxy.connect()
        try client.send(
          "POST http://api.test/?id=\(name) HTTP/1.1\r\nHost: api.test\r\nContent-Length: \(64 << 20)\r\n\r\n0123456789")
        let answer = try client.readAnswer()
        #expect(answer.status == 413, "\(ending)")
        #expect(answer.text == "too large")
      }
    }
  }

  @Test func `an app that goes on sending gets the early answer all the same`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(
      name, [.readBytes(1), .send("HTTP/1.1 403 No\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno"), .pause(0.1), .close])
    try withProxy(try Configuration.https()) { proxy in
      let client = try proxy.connect()
      try client.send("POST http://api.test/?id=\(name) HTTP/1.1\r\nHost: api.test\r\nContent-Length: \(8 << 20)\r\n\r\n")
      let piece = [UInt8](repeating: 120, count: 65536)
      for _ in 0..<128 {
        // The proxy may stop reading, and close: then the response is already here.
        if client.sendWhatFits(piece) <= 0 { break }
      }
      let answer = try client.readAnswer()
      #expect(answer.status == 403)
    }
  }

  @Test func `the rest of a refused upload is not taken for the next request`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    let inner = Origin.newName()
    try origin.script(name, [.send("HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno"), .readBody])
    try withProxy(try Configuration.https()) { proxy in
      let smuggled = ProxyProcess.request("GET", "http://api.test/echo?id=\(inner)")
      let client = try proxy.connect()
      try client.send(
        "POST http://api.test/?id=\(name) HTTP/1.1\r\nHost: api.test\r\nContent-Length: \(smuggled.utf8.count)\r\n\r\n")
      #expect(try client.readAnswer().status == 403)
      try? client.send(smuggled)
      try? client.send(ProxyProcess.request("GET", "http://api.test/status/202"))
      // Either the connection is closed, or the next response belongs to the next request.
      if let next = try? client.readAnswer() { #expect(next.status == 202, "\(next.head)") }
      #expect(try origin.exchanges(inner).isEmpty)
    }
  }
}
