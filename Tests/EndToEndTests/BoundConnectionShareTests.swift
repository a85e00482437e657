import Foundation
import Testing

/// A connection with NTLM or Negotiate belongs to one client, and occupies one of the origin's places even while idle. So it
/// counts in that client's share, and the proxy closes it before another client's request has to wait.
@Suite struct BoundConnectionShareTests {
  private static func configuration(_ origin: Origin, threads: Int) -> String {
    """
    clients: [{name: greedy, password: greedy-5ecret}, {name: other, password: other-5ecret}, {name: third, password: third-5ecret}]
    threads: \(threads)
    limits: {upstream_connections: 8}
    timeouts: {connect: 30s}
    upstreams:
      - {match: api.test, origin: "https://localhost:\(origin.ports.https)"}
    """
  }

  private struct App {
    let connection: RawConnection
    let name: String

    init(_ name: String, _ proxy: ProxyProcess) throws {
      connection = try proxy.connect()
      self.name = name
    }

    func send(_ path: String, _ fields: [String] = []) throws {
      let basic = "Proxy-Authorization: Basic \(Data("\(name):\(name)-5ecret".utf8).base64EncodedString())"
      try connection.send(ProxyProcess.request("GET", "http://api.test\(path)", [basic] + fields))
    }

    /// Number of the connection on which the origin received it.
    func ask() throws -> Int {
      try send("/echo")
      return try connection.readAnswer().received().connection
    }

    func sendBinding() throws { try send("/echo", ["Authorization: Negotiate YWJj"]) }

    func bind() throws -> Int {
      try sendBinding()
      return try connection.readAnswer().received().connection
    }
  }

  @Test(arguments: [1, 2]) func `a client that binds all the connections it can get keeps nobody else waiting`(threads: Int)
    throws
  {
    let origin = try Origin()
    try withProxy(Self.configuration(origin, threads: threads)) { proxy in
      let greedy = try (0..<20).map { _ in try App("greedy", proxy) }
      for app in greedy.prefix(7) { _ = try app.bind() }
      // The result of these, which exceed the share, does not matter.
      for app in greedy.dropFirst(7) { try app.sendBinding() }
      for _ in 0..<8 {
        let start = Date()
        _ = try App("other", proxy).ask()
        #expect(Date().timeIntervalSince(start) < 1)
      }
      let start = Date()
      let others = try (0..<20).map { try App($0 % 2 == 0 ? "other" : "third", proxy) }
      for app in others { try app.send("/echo") }
      for app in others { #expect(try app.connection.readAnswer().status == 200) }
      #expect(Date().timeIntervalSince(start) < 2)
      #expect(try origin.connections("https").open <= 8)
    }
  }

  @Test(arguments: [1, 2]) func `of idle bound connections the oldest is closed for a waiting request`(threads: Int)
    throws
  {
    let origin = try Origin()
    try withProxy(Self.configuration(origin, threads: threads)) { proxy in
      let bound = try (0..<7).map { _ in
        let app = try App("greedy", proxy)
        return (app: app, number: try app.bind())
      }
      #expect(Set(bound.map(\.number)).count == 7)
      // The eighth place belongs to another client while its response takes time.
      let (busy, name) = (try App("other", proxy), Origin.newName())
      try origin.script(name, [.gate("on"), .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")])
      try busy.send("/?id=\(name)")
      try origin.await(name, gate: "on")

      let start = Date()
      let third = try App("third", proxy).ask()
      #expect(Date().timeIntervalSince(start) < 1)
      #expect(!bound.map(\.number).contains(third))
      try origin.open("on", of: name)
      #expect(try busy.connection.readAnswer().text == "ok")
      // The proxy closed exactly one connection; with one loop, which has a single order, the oldest.
      let kept = try bound.map { try $0.app.ask() == $0.number }
      #expect(kept.filter { $0 }.count == 6, "\(kept)")
      if threads == 1 { #expect(!kept[0], "\(kept)") }
    }
  }
}
