import Foundation
import Testing

/// The proxy is strict towards origins, too: a malformed head is 502, and its connection is not used again. A response that
/// breaks after its head never looks complete.
@Suite struct BrokenResponseTests {
  private func play(_ origin: Origin, _ proxy: ProxyProcess, _ steps: [Origin.Step]) throws -> RawConnection {
    let name = Origin.newName()
    try origin.script(name, [.readBody] + steps)
    let client = try proxy.connect()
    try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
    return client
  }

  @Test func `a malformed response head is 502, and its connection is not used again`() throws {
    let origin = try Origin()
    try withProxy(try Configuration.https(top: "threads: 1", origin: origin)) { proxy in
      each([
        "HTTP/1.1 abc OK\r\n", "HTTP/1.1 99 Low\r\n", "HTTP/1.1 1000 High\r\n", "HTTP/1.1 20 Short\r\n", "HTTP/1.1 2000K\r\n",
        "ICY 200 OK\r\n",
        "HTTP/2 200 OK\r\n", "HTTP/1.1200 OK\r\n", "http/1.1 200 OK\r\n", "\r\n\r\nHTTP/1.1 200 OK\r\n", "hello\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n", "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2, 3\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\nConnection: close\r\n",
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n",
        "HTTP/1.1 200 OK\nContent-Length: 2\n", "HTTP/1.1 200 OK\r\nX: a\u{0}b\r\n", "HTTP/1.1 200 OK\r\nX: a\rb\r\n",
        "HTTP/1.1 200 OK\r\nX Y: 1\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n", "HTTP/1.1 200 OK\r\n: empty\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n",
      ]) { head in
        let client = try play(origin, proxy, [.send(head + "\r\nokokok"), .awaitClose])
        let answer = try client.readAnswer()
        #expect(answer.status == 502, "\(head.debugDescription): \(answer.head)")
        #expect(answer.proxyError == "http_protocol_error", "\(head.debugDescription): \(answer.head)")
        // awaitClose ends when the proxy closes the connection.
        #expect(try origin.connections("https", count: 0, seconds: 5).fits, "\(head.debugDescription): still open")
      }
    }
  }

  @Test func `folded fields and space before a colon are never handed on`() throws {
    // RFC 9112 sections 5.1 and 5.2 leave the choice: discard the message, or repair it.
    let origin = try Origin.shared()
    try withProxy(try Configuration.https()) { proxy in
      for field in ["X-A: 1\r\n folded", "X-A : 1"] {
        let client = try play(origin, proxy, [.send("HTTP/1.1 200 OK\r\n\(field)\r\nContent-Length: 2\r\n\r\nok")])
        let answer = try client.readAnswer()
        if answer.status == 200 {
          #expect(answer["X-A"] == "1" || answer["X-A"] == "1 folded", "\(answer.head)")
        } else {
          expectOwnAnswer(answer, 502, "http_protocol_error")
        }
      }
    }
  }

  @Test func `no answer at all is 502`() throws {
    let origin = try Origin.shared()
    try withProxy(try Configuration.https()) { proxy in
      for end in [Origin.Step.close, .abort, .reset] {
        let name = Origin.newName()
        try origin.script(name, [.readBody, end])
        expectOwnAnswer(try proxy.ask("POST", "http://api.test/?id=\(name)", body: "x"), 502, "http_protocol_error")
        #expect(try origin.exchanges(name).count == 1)
      }
    }
  }

  @Test func `a head that is too large is 502 http_response_header_section_size`() throws {
    let origin = try Origin.shared()
    try withProxy(try Configuration.https()) { proxy in
      for filler in [
        "X-Long: " + String(repeating: "x", count: 70 << 10) + "\r\n", String(repeating: "X-Many: 0123456789\r\n", count: 4000),
      ] {
        let client = try play(origin, proxy, [.send("HTTP/1.1 200 OK\r\n\(filler)Content-Length: 2\r\n\r\nok")])
        expectOwnAnswer(try client.readAnswer(), 502, "http_response_header_section_size")
      }
      let large = "X-Long: " + String(repeating: "x", count: 50 << 10) + "\r\n"
      let client = try play(origin, proxy, [.send("HTTP/1.1 200 OK\r\n\(large)Content-Length: 2\r\n\r\nok")])
      #expect(try client.readAnswer()["X-Long"]?.count == 50 << 10)
    }
  }

  @Test func `an answer that is cut after its head never looks whole`() throws {
    let origin = try Origin.shared()
    for (scheme, configuration) in [("https", try Configuration.https()), ("http", try Configuration.http())] {
      try withProxy(configuration) { proxy in
        let cases: [(String, Origin.Step)] = [
          ("Content-Length: 100\r\n\r\nhalf", .close), ("Content-Length: 100\r\n\r\nhalf", .reset),
          ("Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", .close), ("Transfer-Encoding: chunked\r\n\r\n10\r\nhalf", .close),
          ("Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n0\r\n", .close),
          ("Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\n", .close),
          ("Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n0;\r\n\r\n", .close),
          ("Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n0;a=\"b\r\n\r\n", .close),
          ("Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n0;a b\r\n\r\n", .close),
          ("Transfer-Encoding: chunked\r\n\r\n4\r\nhalfXX\r\n0\r\n\r\n", .close), ("Connection: close\r\n\r\nhalf", .reset),
        ]
        // A FIN without close_notify is a cut only if the connection's end delimits the body.
        each(cases + (scheme == "https" ? [("Connection: close\r\n\r\nhalf", .abort), ("\r\nhalf", .abort)] : [])) {
          (rest, end) in
          let client = try play(origin, proxy, [.send("HTTP/1.1 200 OK\r\n\(rest)"), end])
          let head: Answer
          do { head = try client.readHead() } catch { return }  // reset before the head was read: cut enough
          if head.status == 502 { return }
          let (bytes, ending) = try client.readToEnd()
          let text = String(decoding: bytes, as: UTF8.self)
          if head.isChunked {
            #expect(!text.hasSuffix("0\r\n\r\n"), "\(scheme) \(rest.debugDescription) \(end): \(text)")
          } else if let length = head["Content-Length"].flatMap({ Int($0) }) {
            #expect(bytes.count < length, "\(scheme) \(rest.debugDescription) \(end)")
          } else {
            #expect(ending == .reset, "\(scheme) \(rest.debugDescription) \(end)")
          }
        }
      }
    }
  }

  @Test func `a cut close-delimited answer is reset for an HTTP/1.0 client`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(
      name, [.readBody, .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"), .gate("cut"), .close])
    try withProxy(try Configuration.https()) { proxy in
      let client = try proxy.connect()
      try client.send("GET http://api.test/?id=\(name) HTTP/1.0\r\n\r\n")
      #expect(try client.readHead()["Transfer-Encoding"] == nil)
      #expect(try client.read(4) == Array("half".utf8))
      try origin.open("cut", of: name)
      #expect(try client.readToEnd().end == .reset)
    }
  }
}
