import Foundation
import Testing

/// The proxy reads chunked bodies strictly. A broken one never becomes a complete request at the origin.
@Suite struct ChunkedRequestTests {
  @Test func `a chunk that is malformed is 400, and the origin never sees the end of the message`() throws {
    let origin = try Origin.shared()
    try withProxy(try Configuration.https()) { proxy in
      each([
        "+3\r\nabc\r\n", "-3\r\nabc\r\n", "0x3\r\nabc\r\n", "3_0\r\nabc\r\n", " 3\r\nabc\r\n", "g\r\nabc\r\n", "\r\nabc\r\n",
        "FFFFFFFFFFFFFFFFF\r\nabc\r\n", "10000000000000003\r\nabc\r\n", "8000000000000000\r\nabc\r\n",
        "3;a\nabc\r\n", "3\nabc\r\n", "3\rabc\r\n", "3\r\nabcX\r\n", "3\r\nabc\n", "3\r\nabc\r", "3\r\nabcd\r\n",
        "3\r\nab\r\n\r\n",
        "3;\u{0}\r\nabc\r\n", "3;a\rb\r\nabc\r\n", "3,\r\nabc\r\n", "3.0\r\nabc\r\n", "3\r\nabc\r\n0\r\nX : 1\r\n",
        "3\r\nabc\r\n0\r\nX: 1\n\r\n", "3\r\nabc\r\n0\r\nX: 1\r\n fold\r\n", "3\r\nabc\r\n0\r\nno colon\r\n",
        "3\r\nabc\r\n0\n\r\n",
        "3;\r\nabc\r\n", "3;;a\r\nabc\r\n", "3;a=\r\nabc\r\n", "3;a=\"b\r\nabc\r\n", "3;a b\r\nabc\r\n", "3;a \r\nabc\r\n",
        "3;a/b\r\nabc\r\n",
        "3;a=\"b\"c\r\nabc\r\n", "3;a=\"\\\"\r\nabc\r\n", "3\r\nabc\r\n0;\r\n",
        "3\r\nabc\r\n00x\r\n", "3\r\nabc\r\n0\r\nX: \u{0}\r\n",
      ]) { text in
        let name = Origin.newName()
        let client = try proxy.connect()
        try client.send(
          latin1: "POST http://api.test/echo?id=\(name) HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\n\r\n\(text)"
            + "0\r\n\r\nGET http://api.test/echo?id=\(name) HTTP/1.1\r\nHost: api.test\r\n\r\n")
        let answer = try client.readAnswer()
        #expect(answer.status == 400, "\(text.debugDescription): \(answer.head)")
        #expect(try client.readToEnd().bytes.isEmpty, "\(text.debugDescription)")
        for exchange in try origin.exchanges(name) {
          let last = try origin.await(name, state: "closed")[0]
          #expect(last.state == "broken", "\(text.debugDescription): \(exchange.raw_head)")
        }
        #expect(try origin.exchanges(name).count <= 1, "\(text.debugDescription)")
      }
    }
  }

  @Test func `odd but valid chunks arrive as their bytes`() throws {
    try withProxy(try Configuration.https()) { proxy in
      each([
        "3 ; a\t=\tb ;c=\"\" ; d\r\nabc\r\n0\r\n\r\n",
        "3\r\nabc\r\n0\r\n\r\n", "003\r\nabc\r\n0\r\n\r\n", "1\r\na\r\n2\r\nbc\r\n000\r\n\r\n",
        "3;name=value\r\nabc\r\n0\r\n\r\n",
        "3;name=\"quoted; \\\" string\"\r\nabc\r\n0;last\r\n\r\n", "3;a;b=c\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n",
      ]) { text in
        for piecemeal in [false, true] {
          let client = try proxy.connect()
          try client.send("POST http://api.test/echo HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\n\r\n")
          if piecemeal {
            for byte in text.utf8 { try client.send([byte]) }
          } else {
            try client.send(text)
          }
          let received = try client.readAnswer().received()
          #expect(received.body == "abc", "\(text.debugDescription)")
          try client.send(ProxyProcess.request("GET", "http://api.test/"))
          #expect(try client.readAnswer().status == 200, "\(text.debugDescription): the connection is out of step")
        }
      }
    }
  }

  @Test func `a client that leaves in the middle of its body leaves a broken request, not a short one`() throws {
    let origin = try Origin.shared()
    try withProxy(try Configuration.https()) { proxy in
      each([
        "Transfer-Encoding: chunked\r\n\r\n5\r\nabc", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n", "Content-Length: 10\r\n\r\nabc",
      ]) { rest in
        for abrupt in [true, false] {
          let name = Origin.newName()
          let client = try proxy.connect()
          try client.send("POST http://api.test/upload?id=\(name) HTTP/1.1\r\nHost: api.test\r\n\(rest)")
          try origin.await(name, body: 3)
          if abrupt { client.reset() } else { client.close() }
          #expect(try origin.await(name, state: "closed")[0].state == "broken", "\(rest.debugDescription)")
        }
      }
    }
  }
}
