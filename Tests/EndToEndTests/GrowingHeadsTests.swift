import Foundation
import Testing

/// The new head has a space after each colon and after each comma of a list, so it may be larger than the received one.
@Suite struct GrowingHeadsTests {
  @Test(arguments: [
    // As many fields as allowed, without a space. The TE makes the proxy add fields.
    ("GET / HTTP/1.1\r\nHost:a\r\n", 255, true),
    ("GET http://api.test/ HTTP/1.1\r\nHost:a\r\nTE:trailers\r\n", 254, false),
    ("GET http://api.test/ HTTP/1.0\r\nTE:trailers\r\n", 255, false),
    ("OPTIONS http://api.test HTTP/1.1\r\nHost:a\r\nTE:trailers\r\nMax-Forwards:9\r\n", 253, false),
  ])
  func `a request of many small fields`(_ start: String, _ count: Int, _ isConnected: Bool) throws {
    let listener = try TestListener()
    try withProxy(try Configuration.http("decompress: true", port: listener.port)) { proxy throws in
      let client = try proxy.connect()
      if isConnected {
        try client.send("CONNECT api.test:80 HTTP/1.1\r\nHost: api.test:80\r\n\r\n")
        #expect(try client.readHead().status == 200)
      }
      try client.send(start + String(repeating: "a:\r\n", count: count) + "\r\n")
      let origin = try listener.accept()
      let head = String(decoding: try origin.read(through: "\r\n\r\n"), as: UTF8.self)
      #expect(head.components(separatedBy: "\r\n").filter { $0 == "a: " }.count == count)
      try origin.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
      #expect(try client.readAnswer().status == 200)
      #expect(proxy.process.ending == nil)
    }
  }

  @Test(arguments: [
    "HTTP/1.1 103 \(String(repeating: "r", count: 40_000))\r\n\r\n",
    "HTTP/1.1 103 \(String(repeating: "r", count: 15_000))\r\n\r\nHTTP/1.1 103 \(String(repeating: "r", count: 20_000))\r\n\r\n",
    "",
  ])
  func `a response with a long reason, and with a list without blanks`(_ interim: String) throws {
    let listener = try TestListener()
    try withProxy(try Configuration.http(port: listener.port)) { proxy throws in
      for size in [10_000, 20_000, 31_000] {
        let client = try proxy.connect()
        try client.send(ProxyProcess.request("GET", "http://api.test/"))
        let origin = try listener.accept()
        _ = try origin.read(through: "\r\n\r\n")
        let list = Array(repeating: "a", count: size / 2).joined(separator: ",")
        try origin.send(interim + "HTTP/1.1 200 \(String(repeating: "r", count: 30_000))\r\n")
        try origin.send("Proxy-Status:\(list)\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        let answer = try client.readAnswer()
        #expect(answer.status == 200)
        #expect(answer.text == "ok")
        #expect(proxy.process.ending == nil)
      }
    }
  }
}
