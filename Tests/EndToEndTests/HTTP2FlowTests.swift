import Foundation
import Testing

/// A slow app, or a slow origin, stops its own stream only.
@Suite struct HTTP2FlowTests {
  @Test func `apps that stop reading stop nobody else, and memory stays bounded`() throws {
    let origin = try HTTP2Origin()
    try origin.script("large", [.head([[":status", "200"]]), .zeros(64 << 20), .end([])])
    try withProxy(origin.configuration()) { proxy throws in
      #expect(try proxy.ask("http://api.test/").status == 200)
      let before = try Measures(proxy.pid).resident
      let slow = try (0..<4).map { _ in try proxy.connect(receiveBuffer: 4096) }
      for client in slow {
        try client.send(ProxyProcess.request("GET", "http://api.test/?id=large"))
        #expect(try client.readHead().status == 200)
      }
      var times: [Double] = []
      for _ in 0..<40 {
        let begun = Date()
        #expect(try proxy.ask("http://api.test/").status == 200)
        times.append(-begun.timeIntervalSinceNow)
      }
      #expect(times.sorted()[20] < 0.1, "\(times)")
      let grown = try Measures(proxy.pid).resident - before
      #expect(grown < 24 << 10, "\(grown) KiB")
      #expect(try origin.tell().connections.count == 1)
    }
  }

  @Test func `an app that goes on gets all of it`() throws {
    let origin = try HTTP2Origin()
    try origin.script("large", [.head([[":status", "200"], ["content-length", "\(8 << 20)"]]), .zeros(8 << 20), .end([])])
    try withProxy(origin.configuration()) { proxy throws in
      let clients = try (0..<4).map { _ in try proxy.connect(receiveBuffer: 4096) }
      for client in clients { try client.send(ProxyProcess.request("GET", "http://api.test/?id=large")) }
      for client in clients {
        client.timeout = 40
        #expect(try client.readAnswer().body.count == 8 << 20)
      }
    }
  }

  @Test func `an upload waits for the windows, and others go on`() throws {
    let origin = try HTTP2Origin()
    try origin.setHolding(true)
    try withProxy(origin.configuration(top: "threads: 1\ntimeouts: {stall: 2s}")) { proxy throws in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("POST", "http://api.test/", ["Content-Length: 1000000"]))
      _ = client.sendWhatFits([UInt8](repeating: 0x61, count: 1_000_000))
      try origin.await(.requests)
      #expect(try eventually { try origin.tell().requests[0].size == 65535 })
      #expect(try proxy.ask("http://api.test/").status == 200)
      // A window that stays shut is a stalled origin.
      expectOwnAnswer(try client.readAnswer(), 504, "connection_write_timeout")
      try origin.await(.resets)
      #expect(try proxy.ask("http://api.test/").status == 200)
      #expect(try origin.tell().connections.count == 1)
    }
  }

  @Test func `a small body behind a shut window is a stalled origin, too, and its head's time begins when it has left`() throws
  {
    let origin = try HTTP2Origin()
    try origin.set(settings: ["4": 1000])
    try origin.setHolding(true)
    try origin.script(
      "late",
      [.awaitBytes(1000), .gate("more"), .frame(8, 0, -1, "\u{0}\u{1}\u{0}\u{0}"), .awaitEnd, .gate("answer")]
        + HTTP2Origin.Step.answer("ok"))
    let timeouts = "threads: 1\ntimeouts: {stall: 2s, response_head: 3s}"
    try withProxy(origin.configuration(top: timeouts)) { proxy throws in
      // Its SETTINGS are known from here on.
      #expect(try proxy.ask("http://api.test/").status == 200)
      let body = String(repeating: "a", count: 5000)
      let begun = Date()
      expectOwnAnswer(try proxy.ask("POST", "http://api.test/", body: body), 504, "connection_write_timeout")
      #expect(1.8...2.8 ~= -begun.timeIntervalSinceNow)
      try origin.await(.resets)
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("POST", "http://api.test/?id=late", body: body))
      try origin.await(.standing, of: "more")
      try origin.open("more")
      try origin.await(.standing, of: "answer")
      // Past the stall time: nothing is held any more.
      #expect(try eventually { -begun.timeIntervalSinceNow > 4.8 })
      try origin.open("answer")
      #expect(try client.readAnswer().text == "ok")
      #expect(try origin.tell().connections.count == 1)
    }
  }

  @Test func `a window below zero is waited for`() throws {
    let origin = try HTTP2Origin()
    try origin.setHolding(true)
    try origin.script(
      "up",
      [
        .awaitBytes(30_000), .settings(["4": 1000]), .gate("more"), .frame(8, 0, -1, "\u{0}\u{1}\u{0}\u{0}"),
        .frame(8, 0, 0, "\u{0}\u{1}\u{0}\u{0}"),
      ] + HTTP2Origin.Step.answer("ok"))
    try withProxy(origin.configuration()) { proxy throws in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("POST", "http://api.test/?id=up", ["Content-Length: 60000"]))
      try client.send([UInt8](repeating: 0x61, count: 30_000))
      try origin.await(.standing, of: "more")
      #expect(try eventually { try origin.tell().connections[0].frames["SETTINGS.ACK"] == 2 })
      try client.send([UInt8](repeating: 0x61, count: 30_000))
      try origin.open("more")
      #expect(try client.readAnswer().text == "ok")
      #expect(try origin.tell().of("up").first?.size == 60_000)
    }
  }

  @Test func `a large upload arrives whole, chunked and with a length`() throws {
    let origin = try HTTP2Origin()
    try withProxy(origin.configuration()) { proxy throws in
      let body = [UInt8](repeating: 0x61, count: 3_000_000)
      let client = try proxy.connect()
      client.timeout = 40
      try client.send(ProxyProcess.request("POST", "http://api.test/", ["Content-Length: \(body.count)"]))
      try client.send(body)
      #expect(try client.readAnswer().told().size == body.count)
      try client.send(ProxyProcess.request("POST", "http://api.test/", ["Transfer-Encoding: chunked"]))
      for start in stride(from: 0, to: body.count, by: 100_000) {
        try client.send("186a0\r\n")
        try client.send(Array(body[start..<start + 100_000]))
        try client.send("\r\n")
      }
      try client.send("0\r\n\r\n")
      #expect(try client.readAnswer().told().size == body.count)
    }
  }
}
