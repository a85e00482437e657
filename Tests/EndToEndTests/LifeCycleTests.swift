import Foundation
import Testing

@Suite struct LifeCycleTests {
  @Test func `SIGHUP takes a changed configuration for the next request, on open connections, too`() throws {
    try withProxy(try Configuration.https()) { proxy in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/echo"))
      #expect(try client.readAnswer().received()["Authorization"] == "Bearer \(Configuration.token)")
      try proxy.reload(
        Configuration.https("credential: second", top: "  second:\n    bearer: {token: second-5ecret}"))
      try client.send(ProxyProcess.request("GET", "http://api.test/echo"))
      #expect(try client.readAnswer().received()["Authorization"] == "Bearer second-5ecret")
    }
  }

  @Test func `a broken configuration changes nothing, and the log says what is wrong with it`() throws {
    try withProxy(try Configuration.https()) { proxy in
      try proxy.reload("upstreems: []\n", expecting: "upstreems")
      #expect(try proxy.ask("http://api.test/").status == 200)
    }
  }

  @Test func `a disabled trust policy warns once with each configuration that comes into force, and not when nothing changed`()
    throws
  {
    func text(_ top: String) -> String {
      "upstreams: [{match: api.test, origin: \"https://127.0.0.1:1\", trust: lab}]\ntrust: {lab: [{disabled: {}}]}\n\(top)\n"
    }
    try withProxy(text("")) { proxy in
      func warnings() -> Int { proxy.process.lines.filter { $0.contains("\"warning\"") && $0.contains("is disabled") }.count }
      #expect(warnings() == 1, "\(proxy.process.output)")
      for _ in 0..<2 { try proxy.reload(text(""), expecting: #""changed":"false""#) }
      #expect(warnings() == 1, "\(proxy.process.output)")
      try proxy.reload(text("unlisted_hosts: forward"), expecting: #""generation":"2""#)
      #expect(warnings() == 2, "\(proxy.process.output)")
    }
  }

  @Test func `SIGTERM lets what is in flight end, then exits with 0`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(name, [.gate("on"), .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")])
    let proxy = try ProxyProcess(try Configuration.https())
    let idle = try proxy.connect()
    try idle.send(ProxyProcess.request("GET", "http://api.test/"))
    #expect(try idle.readAnswer().status == 200)
    let client = try proxy.connect()
    try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
    try origin.await(name, gate: "on")
    proxy.process.signal(SIGTERM)
    #expect(try idle.readToEnd().bytes.isEmpty)
    #expect(proxy.process.ending == nil)
    try origin.open("on", of: name)
    let answer = try client.readAnswer()
    #expect(answer.text == "ok")
    #expect(answer["Connection"]?.lowercased() == "close")
    #expect(proxy.process.awaitEnd(seconds: 5) == .exited(0))
  }

  @Test func `the drain has an end, and a second SIGTERM ends it at once`() throws {
    let origin = try Origin.shared()
    for (timeouts, signals) in [("timeouts: {drain: 200ms}", 1), ("timeouts: {drain: 60s}", 2)] {
      let name = Origin.newName()
      try origin.script(name, [.awaitClose])
      let proxy = try ProxyProcess(try Configuration.https(top: timeouts))
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
      try origin.await(name)
      proxy.process.signal(SIGTERM)
      if signals == 2 {
        #expect(proxy.process.awaitEnd(seconds: 0.3) == nil)
        proxy.process.signal(SIGTERM)
      }
      #expect(proxy.process.awaitEnd(seconds: 5) == .exited(0), "\(timeouts)")
      proxy.process.signal(SIGKILL)
    }
  }
}
