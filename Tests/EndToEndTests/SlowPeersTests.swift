import Foundation
import Testing

/// A slow peer delays only itself.
@Suite struct SlowPeersTests {
  private func othersAreServed(_ proxy: ProxyProcess) throws {
    let others = try LoadGenerator.load(proxy, "http://api.test/", "--clients", "4", "--requests", "400")
    #expect(others.good == 400, "\(others)")
    #expect(others.max_us < 1_000_000, "\(others)")
  }

  @Test func `readers that do not read hold up nobody, cost little, and get everything in the end`() throws {
    try withProxy(try Configuration.https()) { proxy in
      try othersAreServed(proxy)
      let before = try Measures(proxy.pid)
      let size = 32 << 20
      let readers = try (0..<8).map { _ in
        let reader = try proxy.connect(receiveBuffer: 4096)
        try reader.send(ProxyProcess.request("GET", "http://api.test/bytes/\(size)"))
        return reader
      }
      let heads = try readers.map { try $0.readHead() }
      #expect(heads.allSatisfy { $0.status == 200 })
      try othersAreServed(proxy)
      let during = try Measures(proxy.pid)
      #expect(during.resident - before.resident < 16 << 10, "\(before) \(during)")
      var body = heads[0]
      readers[0].timeout = 30
      try readers[0].readBody(&body)
      #expect(body.body.count == size)
    }
  }

  @Test func `writers that do not write hold up nobody, and are served once they do`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try withProxy(try Configuration.https()) { proxy in
      let writers = try (0..<8).map { _ in
        let writer = try proxy.connect()
        try writer.send("POST http://api.test/echo?id=\(name) HTTP/1.1\r\nHost: api.test\r\nContent-Length: 10\r\n\r\n01234")
        return writer
      }
      try origin.await(name, count: 8, body: 5)
      try othersAreServed(proxy)
      for writer in writers {
        try writer.send("56789")
        let received = try writer.readAnswer().received()
        #expect(received.body == "0123456789")
      }
    }
  }

  @Test func `an origin that does not answer holds up nobody`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(name, [.gate("on"), .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")])
    try withProxy(try Configuration.https()) { proxy in
      let waiting = try (0..<8).map { _ in
        let client = try proxy.connect()
        try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
        return client
      }
      try origin.await(name, count: 8, gate: "on")
      try othersAreServed(proxy)
      try origin.open("on", of: name, count: 8)
      for client in waiting { #expect(try client.readAnswer().text == "ok") }
    }
  }
}
