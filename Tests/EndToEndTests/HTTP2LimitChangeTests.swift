import Foundation
import Testing

/// How many requests a connection has at once may change while it is in use.
@Suite struct HTTP2LimitChangeTests {
  private static func send(_ count: Int, _ id: String, _ proxy: ProxyProcess) throws -> [RawConnection] {
    let clients = try (0..<count).map { _ in try proxy.connect() }
    for client in clients {
      client.timeout = 20
      try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(id)"))
    }
    return clients
  }

  @Test(arguments: [0, 1]) func `requests beyond a client's share go on when the origin takes more`(before: Int) throws {
    let origin = try HTTP2Origin()
    try origin.set(settings: ["3": 1])
    try origin.script("long", [.awaitEnd, .gate("on")] + HTTP2Origin.Step.answer("long"))
    let top = "threads: 1\nlimits: {upstream_connections: 1}\ntimeouts: {connect: 8s}"
    try withProxy(origin.configuration(top: top)) { proxy throws in
      #expect(try proxy.ask("http://api.test/").status == 200)
      let long = try Self.send(1, "long", proxy)
      try origin.await(.standing, of: "on")
      if before == 0 { try origin.limitStreams(to: 0) }
      let clients = try Self.send(6, "short", proxy)
      #expect(clients[5].staysSilent(for: 0.2))
      try origin.limitStreams(to: 100)
      for client in clients { #expect(try client.readAnswer().told().connection == 1) }
      try origin.open("on")
      #expect(try long[0].readAnswer().text == "long")
    }
  }

  @Test func `a reload changes upstream_streams of open connections, down and up`() throws {
    let origin = try HTTP2Origin()
    for id in ["few", "many"] { try origin.script(id, [.awaitEnd, .gate(id)] + HTTP2Origin.Step.answer(id)) }
    func configuration(_ streams: Int) -> String {
      origin.configuration(
        top: "threads: 1\nlimits: {upstream_connections: 1, upstream_streams: \(streams)}\ntimeouts: {connect: 8s}")
    }
    try withProxy(configuration(100)) { proxy throws in
      #expect(try proxy.ask("http://api.test/").status == 200)
      try proxy.reload(configuration(2))
      let few = try Self.send(5, "few", proxy)
      try origin.await(.standing, 2, of: "few")
      #expect(few[4].staysSilent(for: 0.2))
      #expect(try origin.tell().of("few").count == 2)
      try origin.open("few")
      for client in few { #expect(try client.readAnswer().text == "few") }
      try proxy.reload(configuration(8))
      let many = try Self.send(5, "many", proxy)
      try origin.await(.standing, 5, of: "many")
      try origin.open("many")
      for client in many { #expect(try client.readAnswer().text == "many") }
      #expect(try origin.tell().connections.count == 1)
    }
  }
}
