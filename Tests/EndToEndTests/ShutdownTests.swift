import Foundation
import Testing

@Suite struct ShutdownTests {
  @Test func `during shutdown_delay /readyz says 503, and new clients are served`() throws {
    let proxy = try ProxyProcess(
      try "admin: 127.0.0.1:0\n" + Configuration.https(top: "timeouts: {shutdown_delay: 1s, drain: 2s}"))
    #expect(try proxy.admin("readyz").status == 200)
    proxy.process.signal(SIGTERM)
    #expect(try eventually(seconds: 0.8) { try proxy.admin("readyz").status == 503 })
    #expect(try proxy.admin("healthz").status == 200)
    let answer = try proxy.ask("http://api.test/")
    #expect(answer.status == 200)
    #expect(answer["Connection"] == nil)
    #expect(proxy.process.awaitEnd(seconds: 5) == .exited(0))
  }

  @Test func `a connection that has not asked yet, and one that keeps asking, get an answer that says close`() throws {
    let proxy = try ProxyProcess(try Configuration.https(top: "timeouts: {drain: 5s}"))
    let fresh = try proxy.connect()
    let kept = try proxy.connect()
    try kept.send(ProxyProcess.request("GET", "http://api.test/"))
    #expect(try kept.readAnswer()["Connection"] == nil)
    let lines = proxy.process.lines.count
    proxy.process.signal(SIGTERM)
    #expect(proxy.process.awaitLine(from: lines, where: { $0.contains("draining") }) != nil)
    for client in [fresh, kept] {
      try client.send(ProxyProcess.request("GET", "http://api.test/"))
      let answer = try client.readAnswer()
      #expect(answer.status == 200)
      #expect(answer["Connection"] == "close")
      #expect(try client.readToEnd().bytes.isEmpty)
    }
    #expect(proxy.process.awaitEnd(seconds: 5) == .exited(0))
  }

  @Test func `a CONNECT that comes while the proxy drains is of use: one request inside, which says close`() throws {
    let proxy = try ProxyProcess(try Intercepted.configuration(top: "timeouts: {drain: 10s}"))
    let fresh = try SteppedClient(proxy.port)
    let begun = try SteppedClient(proxy.port)
    #expect(try begun.connect("api.test:443").status == 200)
    let open = try SteppedClient(proxy.port)
    #expect(try open.connect("api.test:443").status == 200)
    try open.tls("api.test", root: proxy.root)
    #expect(try open.get("/echo").status == 200)
    let lines = proxy.process.lines.count
    proxy.process.signal(SIGTERM)
    #expect(proxy.process.awaitLine(from: lines, where: { $0.contains("draining") }) != nil)
    #expect(try fresh.connect("api.test:443").status == 200)
    for client in [fresh, begun] { #expect(try client.tls("api.test", root: proxy.root).error == nil) }
    for client in [fresh, begun, open] {
      let answer = try client.get("/echo")
      #expect(answer.status == 200 && answer.says("connection: close"), "\(answer)")
      #expect(try client.end().end == "close_notify")
    }
    #expect(proxy.process.awaitEnd(seconds: 5) == .exited(0))
  }

  @Test func `a drain under load cuts nothing and loses no connection that the kernel had accepted`() throws {
    let served = try LoadGenerator.serve(size: 2000)
    let proxy = try ProxyProcess(try Configuration.http(port: served.port))
    // Kept-alive clients, until the generator can connect no more. The requests that it began must succeed.
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(name, [.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"), .pause(1), .send("slow")])
    let load = try LoadGenerator.start(
      proxy, "http://api.test/", ["--clients", "16", "--requests", "100000000", "--stop-on-refusal"])
    usleep(700_000)
    proxy.process.signal(SIGTERM)
    #expect(proxy.process.awaitEnd(seconds: 20) == .exited(0))
    let result = try LoadGenerator.result(load)
    #expect(result.finished > 1000)
    #expect(result.failed == 0, "\(result)")
    #expect(result.statuses.keys.sorted() == ["200"], "\(result.statuses)")
    served.process.closeInput()
  }

  @Test func `a reload during the shutdown changes nothing`() throws {
    let proxy = try ProxyProcess(try Configuration.https(top: "timeouts: {shutdown_delay: 700ms}"))
    proxy.process.signal(SIGTERM)
    usleep(100_000)
    try ProxyProcess.write("nonsense", to: proxy.configurationPath)
    proxy.process.signal(SIGHUP)
    #expect(proxy.process.awaitEnd(seconds: 5) == .exited(0))
    #expect(!proxy.process.output.contains("reload failed"))
  }
}
