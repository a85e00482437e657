import Foundation
import Testing

/// Events arrive one by one, as the origin sends them.
@Suite struct EventStreamTests {
  private func stream(_ framing: String, _ events: Int, type: String = "text/event-stream") -> [Origin.Step] {
    var steps: [Origin.Step] = [.send("HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\n\(framing)\r\n")]
    for number in 0..<events {
      let event = "data: \(number)\n\n"
      steps += [
        .gate("event"), .send(framing.hasPrefix("Transfer") ? "\(String(event.utf8.count, radix: 16))\r\n\(event)\r\n" : event),
      ]
    }
    return steps + [.gate("event"), framing.hasPrefix("Transfer") ? .send("0\r\n\r\n") : .close]
  }

  @Test func `each event arrives before the next is sent`() throws {
    let origin = try Origin.shared()
    for framing in ["Transfer-Encoding: chunked\r\n", "Connection: close\r\n"] {
      let name = Origin.newName()
      try origin.script(name, stream(framing, 20))
      try withProxy(try Configuration.https()) { proxy in
        let client = try proxy.connect()
        try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
        let head = try client.readHead()
        #expect(head["Content-Type"] == "text/event-stream")
        for number in 0..<20 {
          try origin.open("event", of: name)
          _ = try client.read(through: "data: \(number)\n\n")
          if head.isChunked { _ = try client.read(2) }
        }
        try origin.open("event", of: name)
        let rest = try client.readToEndOrFinalChunk(chunked: head.isChunked)
        #expect(rest)
      }
    }
  }

  @Test func `an event stream outlives stall, in silence too`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(name, stream("Transfer-Encoding: chunked\r\n", 2))
    try withProxy(try Configuration.https(top: "timeouts: {stall: 200ms}")) { proxy in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
      #expect(try client.readHead().status == 200)
      #expect(client.staysSilent(for: 0.8))
      try origin.open("event", of: name)
      #expect(try client.readChunk() == "data: 0\n\n")
    }
  }

  @Test func `a body that trickles faster than stall is not cut, whatever it is`() throws {
    try withProxy(try Configuration.https(top: "timeouts: {stall: 300ms}")) { proxy throws in
      #expect(try proxy.ask("http://api.test/slowly/20").text == String(repeating: ".", count: 20))
    }
  }

  @Test func `the origin hears at once that the reader of a stream has left`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(
      name, [.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"), .awaitClose])
    try withProxy(try Configuration.https()) { proxy in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
      #expect(try client.readHead().status == 200)
      client.reset()
      try origin.await(name, state: "closed", seconds: 5)
    }
  }
}

extension RawConnection {
  /// Whether the message ends correctly: with the last chunk, or with the connection.
  func readToEndOrFinalChunk(chunked: Bool) throws -> Bool {
    chunked ? try read(5) == Array("0\r\n\r\n".utf8) : try readToEnd() == ([], .closed)
  }
}
