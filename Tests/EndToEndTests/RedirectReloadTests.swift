import Foundation
import Testing

/// Redirects while the configuration changes: a request keeps what it began with.
@Suite struct RedirectReloadTests {
  private let world: Redirecting
  init() throws { world = try Redirecting() }

  @Test func `a request follows as it began, the next one as the file says now`() throws {
    try withProxy(world.configuration(world.standard())) { proxy throws in
      let (name, target) = (Origin.newName(), Origin.newName())
      try world.origin.script(
        name, [.readBody, .gate("on"), Redirecting.answer(302, "https://\(Redirecting.cdn):\(world.port)/?id=\(target)")])
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
      try world.origin.await(name, gate: "on")
      try proxy.reload(world.configuration("relay"))
      try world.origin.open("on", of: name, count: 2)
      #expect(try client.readAnswer().text == "ok\n")
      #expect(try world.only(target).tls?.sni == Redirecting.cdn)
      try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
      #expect(try client.readAnswer().status == 302)
    }
  }

  @Test func `reloads under load change the number of no hop`() throws {
    try withProxy(world.configuration(world.standard(), top: "threads: 2")) { proxy throws in
      let name = Origin.newName()
      // Three hops by turns: each exchange's path says where it is.
      try world.origin.script(name, [.readBody, Redirecting.answer(302, "/status/200?n=1")])
      let stop = Date(timeIntervalSinceNow: 3)
      let clients = try (0..<8).map { _ in try proxy.connect() }
      var answers = 0
      var reloads = 0
      while Date() < stop {
        for client in clients { try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)")) }
        if reloads < 6 {
          reloads += 1
          try proxy.reload(world.configuration(world.standard(), top: "threads: 2\n# \(reloads)\nname: proxy\(reloads)"))
        }
        for client in clients {
          let answer = try client.readAnswer()
          #expect(answer.status == 200 && answer.text == "status 200\n", "\(answer.head)")
          answers += 1
        }
      }
      #expect(answers > 40 && reloads == 6)
    }
  }
}
