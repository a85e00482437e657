import Foundation
import Testing

@Suite struct LimitTests {
  @Test func `a head that is too large is 431, and one whose target alone is too long 414`() throws {
    let origin = try Origin.shared()
    try withProxy(try Configuration.https(top: "limits: {request_head: 8KiB}")) { proxy throws in
      let long = String(repeating: "x", count: 9 << 10)
      each([
        (ProxyProcess.request("GET", "http://api.test/", ["X-Long: \(long)"]), 431),
        (ProxyProcess.request("GET", "http://api.test/", (0..<500).map { "X-\($0): 0123456789" }), 431),
        (ProxyProcess.request("GET", "http://api.test/\(long)"), 414), (String(repeating: "G", count: 9 << 10), 400),
      ]) { (text, status) in
        let client = try proxy.connect()
        try client.send(text)
        let answer = try client.readAnswer()
        #expect(
          answer.status == status || (status == 400 && [400, 414, 431].contains(answer.status)),
          "\(text.prefix(40)): \(answer.head)")
        #expect(answer.proxyError == "http_request_error")
        #expect(try client.readToEnd().bytes.isEmpty)
      }
      let name = Origin.newName()
      let fits = String(repeating: "x", count: 7 << 10)
      #expect(try proxy.ask("http://api.test/echo?id=\(name)", ["X-Long: \(fits)"]).received()["X-Long"] == fits)
      #expect(try origin.exchanges(name).count == 1)
    }
  }

  @Test func `the default lets heads of up to 32 KiB pass`() throws {
    try withProxy(try Configuration.https()) { proxy throws in
      let large = String(repeating: "x", count: 30 << 10)
      #expect(try proxy.ask("http://api.test/echo", ["X-Large: \(large)"]).received()["X-Large"] == large)
      #expect(try proxy.ask("http://api.test/", ["X-Large: \(large)", "X-Larger: \(large)"]).status == 431)
    }
  }

  @Test func `a refusal is read by a client that goes on sending`() throws {
    try withProxy(try Configuration.https()) { proxy in
      for _ in 0..<20 {
        let client = try proxy.connect()
        try client.send("POST http://api.test/ HTTP/1.1\r\nHost: api.test\r\nContent-Length: x\r\n\r\n")
        // Bytes still in transit must not turn the answer into a reset.
        try? client.send([UInt8](repeating: 120, count: 20_000))
        #expect(try client.readAnswer().status == 400)
      }
    }
  }

  @Test func `a head that is not complete in time is 408, however steadily it trickles`() throws {
    try withProxy(try Configuration.https(top: "timeouts: {request_head: 400ms}")) { proxy in
      let client = try proxy.connect()
      let start = Date()
      try client.send("GET http://api.test/ HTTP/1.1\r\n")
      while client.staysSilent(for: 0.05) && Date().timeIntervalSince(start) < 5 { try? client.send("X") }
      expectOwnAnswer(try client.readAnswer(), 408, "http_request_error")
      #expect(Date().timeIntervalSince(start) < 3)
      _ = try client.readToEnd()
    }
  }

  @Test func `an idle client connection is closed without a word`() throws {
    try withProxy(try Configuration.https(top: "timeouts: {idle: 300ms}")) { proxy in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/"))
      #expect(try client.readAnswer().status == 200)
      #expect(try client.readToEnd(seconds: 5) == ([], .closed))
    }
  }

  @Test func `an upload that stalls is given up, and the origin sees a broken request`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try withProxy(try Configuration.https(top: "timeouts: {stall: 300ms}")) { proxy in
      let client = try proxy.connect()
      try client.send("POST http://api.test/upload?id=\(name) HTTP/1.1\r\nHost: api.test\r\nContent-Length: 10\r\n\r\nabc")
      try origin.await(name, body: 3)
      _ = try client.readToEnd(seconds: 5)
      #expect(try origin.await(name, state: "closed")[0].state == "broken")
    }
  }

  @Test func `a download that stalls is cut`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(name, [.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), .awaitClose])
    try withProxy(try Configuration.https(top: "timeouts: {stall: 300ms}")) { proxy in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
      #expect(try client.readHead().status == 200)
      #expect(try client.readToEnd(seconds: 5).bytes == Array("abc".utf8))
      try origin.await(name, state: "closed", seconds: 5)
    }
  }

  @Test func `a client that does not read is given up after stall`() throws {
    let origin = try Origin()
    try withProxy(try Configuration.https(top: "timeouts: {stall: 500ms}", origin: origin)) { proxy in
      let client = try proxy.connect(receiveBuffer: 4096)
      try client.send(ProxyProcess.request("GET", "http://api.test/bytes/\(64 << 20)"))
      _ = try origin.connections("https", count: 1)
      #expect(try origin.connections("https", count: 0, seconds: 8).fits)
    }
  }

  @Test func `over the limit of connections, accepting waits, and nobody is refused`() throws {
    try withProxy(try Configuration.https(top: "limits: {connections: 4}")) { proxy in
      var first = try (0..<4).map { _ in try proxy.connect() }
      for client in first {
        try client.send(ProxyProcess.request("GET", "http://api.test/"))
        #expect(try client.readAnswer().status == 200)
      }
      let late = try proxy.connect()
      try late.send(ProxyProcess.request("GET", "http://api.test/status/202"))
      #expect(late.staysSilent(for: 0.3))
      first.removeLast().close()
      #expect(try late.readAnswer().status == 202)
      for client in first {
        try client.send(ProxyProcess.request("GET", "http://api.test/"))
        #expect(try client.readAnswer().status == 200)
      }
    }
  }

  @Test func `over upstream_connections a request waits up to connect, and is then 503`() throws {
    let origin = try Origin()
    let name = Origin.newName()
    try origin.script(name, [.gate("on"), .send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")])
    try withProxy(
      // Long enough for a handshake with an origin on a busy machine: one that fails would be followed by another connection.
      // One loop: from another one the request would get the place, but by a connection of its own.
      try Configuration.https(
        top: "limits: {upstream_connections: 2}\ntimeouts: {connect: 2s}\nthreads: 1", origin: origin)
    ) { proxy in
      let busy = try (0..<2).map { _ in
        let client = try proxy.connect()
        try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
        return client
      }
      try origin.await(name, gate: "on")
      expectOwnAnswer(try proxy.ask("http://api.test/"), 503, "connection_limit_reached")
      let waiting = try proxy.connect()
      try waiting.send(ProxyProcess.request("GET", "http://api.test/status/202"))
      #expect(waiting.staysSilent(for: 0.1))
      try origin.open("on", of: name, count: 2)
      #expect(try waiting.readAnswer().status == 202)
      for client in busy { #expect(try client.readAnswer().status == 200) }
      #expect(try origin.connections("https").accepted <= 2)
    }
  }

  @Test func `out of descriptors, accepting pauses without spinning and goes on afterwards`() throws {
    let proxy = try ProxyProcess(
      try Configuration.https(top: "threads: 1"), wrapper: ["sh", "-c", "ulimit -n 48; exec \"$@\"", "sh"])
    defer { proxy.stop() }
    #expect(try proxy.ask("http://api.test/").status == 200)
    let served = try proxy.connect()
    try served.send(ProxyProcess.request("GET", "http://api.test/"))
    #expect(try served.readAnswer().status == 200)
    var crowd = try (0..<100).map { _ in try proxy.connect() }
    let before = try Measures(proxy.pid)
    #expect(crowd[99].staysSilent(for: 1))
    let after = try Measures(proxy.pid)
    #expect(after.processorTicks - before.processorTicks < 30, "it spins: \(before) \(after)")
    #expect(proxy.process.ending == nil)
    // Existing connections are still served.
    try served.send(ProxyProcess.request("GET", "http://api.test/status/201"))
    #expect(try served.readAnswer().status == 201)
    crowd.removeAll()
    let again = try proxy.ask("http://api.test/status/202")
    #expect(again.status == 202)
  }

  @Test func `an entry's own timeouts replace the global ones`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(name, [.awaitClose])
    try withProxy(try Configuration.https("timeouts: {response_head: 200ms}", top: "timeouts: {response_head: 30s}")) { proxy in
      expectOwnAnswer(try proxy.ask("http://api.test/?id=\(name)"), 504, "connection_read_timeout")
    }
  }
}
