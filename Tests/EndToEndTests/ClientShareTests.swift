import Foundation
import Testing

/// No client gets more than seven eighths of an origin's connections, so other clients' requests are served however slow that
/// client is.
@Suite struct ClientShareTests {
  private static func basic(_ name: String) -> String {
    "Proxy-Authorization: Basic \(Data("\(name):\(name)-5ecret".utf8).base64EncodedString())"
  }

  private static let clients = "clients: [{name: greedy, password: greedy-5ecret}, {name: other, password: other-5ecret}]\n"

  private static func top(_ connections: Int, threads: Int = 1) -> String {
    "threads: \(threads)\nlimits: {upstream_connections: \(connections)}\ntimeouts: {connect: 30s, stall: 60s}"
  }

  /// Begun, and five bytes short.
  private static func slowUploads(_ count: Int, _ proxy: ProxyProcess, _ name: String) throws -> [RawConnection] {
    try (0..<count).map { _ in
      let client = try proxy.connect()
      let fields = [basic("greedy"), "Content-Length: 10"]
      try client.send(ProxyProcess.request("POST", "http://api.test/echo?id=\(name)", fields) + "01234")
      return client
    }
  }

  private static func finish(_ uploads: [RawConnection]) throws {
    for upload in uploads { try upload.send("56789") }
    for upload in uploads {
      upload.timeout = 30
      #expect(try upload.readAnswer().status == 200)
    }
  }

  private static func expectOtherIsServed(_ proxy: ProxyProcess, sourceLocation: SourceLocation = #_sourceLocation) throws {
    // On every loop.
    for _ in 0..<8 {
      let start = Date()
      let answer = try proxy.ask("http://api.test/status/202", [basic("other")])
      #expect(answer.status == 202, sourceLocation: sourceLocation)
      #expect(Date().timeIntervalSince(start) < 1, sourceLocation: sourceLocation)
    }
  }

  @Test(arguments: [1, 2])
  func `while 40 slow uploads want all connections, another client is answered within a second`(_ threads: Int) throws {
    let origin = try Origin()
    let text = try Self.clients + Configuration.https(top: Self.top(8, threads: threads), origin: origin)
    try withProxy(text) { proxy in
      for _ in 0..<2 {
        let name = Origin.newName()
        let uploads = try Self.slowUploads(40, proxy, name)
        try origin.await(name, count: 7, body: 5)
        try Self.expectOtherIsServed(proxy)
        #expect(try origin.exchanges(name).count == 7)
        // The others are served in turn.
        try Self.finish(uploads)
        #expect(try origin.exchanges(name).count == 40)
      }
      #expect(try origin.connections("https").open <= 8)
    }
  }

  @Test func `clients without a name are told apart by their address`() throws {
    let origin = try Origin()
    try withProxy(try Configuration.https(top: Self.top(8, threads: 2), origin: origin)) { proxy in
      let name = Origin.newName()
      let uploads = try Self.slowUploads(40, proxy, name)
      try origin.await(name, count: 7, body: 5)
      let start = Date()
      #expect(try proxy.ask("GET", "http://api.test/status/202", from: "127.0.0.2").status == 202)
      #expect(Date().timeIntervalSince(start) < 1)
      try Self.finish(uploads)
    }
  }

  @Test(arguments: [1, 2])
  func `places of clients that left, in flight or waiting, go to new clients`(_ threads: Int) throws {
    let origin = try Origin()
    let text = try Self.clients + Configuration.https(top: Self.top(8, threads: threads), origin: origin)
    try withProxy(text) { proxy in
      for round in 0..<4 {
        let name = Origin.newName()
        var uploads = try Self.slowUploads(40, proxy, name)
        try origin.await(name, count: 7, body: 5)
        if round % 2 == 0 {
          for upload in uploads { upload.reset() }
        } else {
          for _ in 0..<20 { uploads.remove(at: Int.random(in: 0..<uploads.count)).reset() }
          try Self.finish(uploads)
        }
      }
      let name = Origin.newName()
      let uploads = try Self.slowUploads(12, proxy, name)
      try origin.await(name, count: 7, body: 5)
      try Self.expectOtherIsServed(proxy)
      #expect(try origin.exchanges(name).count == 7)
      try Self.finish(uploads)
    }
  }

  @Test func `a reload that allows more connections serves those who wait, one that allows fewer none too many`() throws {
    let origin = try Origin()
    func text(_ connections: Int) throws -> String {
      try Self.clients + Configuration.https(top: Self.top(connections, threads: 2), origin: origin)
    }
    try withProxy(try text(8)) { proxy in
      let listen = "listen: \(proxy.addresses[0])\n"
      let name = Origin.newName()
      let uploads = try Self.slowUploads(40, proxy, name)
      try origin.await(name, count: 7, body: 5)
      try proxy.reload(listen + text(16))
      try origin.await(name, count: 14, body: 5)
      try Self.expectOtherIsServed(proxy)
      #expect(try origin.exchanges(name).count == 14)
      try proxy.reload(listen + text(8))
      try Self.finish(uploads)
      #expect(try origin.exchanges(name).count == 40)
      let later = Origin.newName()
      let others = try Self.slowUploads(20, proxy, later)
      try origin.await(later, count: 7, body: 5)
      try Self.expectOtherIsServed(proxy)
      #expect(try origin.exchanges(later).count == 7)
      try Self.finish(others)
    }
  }

  @Test func `of a few connections a client that is alone has all, and the next one is another client's`() throws {
    let origin = try Origin()
    try withProxy(try Self.clients + Configuration.https(top: Self.top(3), origin: origin)) { proxy in
      let name = Origin.newName()
      let first = try Self.slowUploads(3, proxy, name)
      try origin.await(name, count: 3, body: 5)
      let later = try Self.slowUploads(6, proxy, name)
      #expect(later[5].staysSilent(for: 0.1))
      let other = try proxy.connect()
      try other.send(ProxyProcess.request("GET", "http://api.test/status/202", [Self.basic("other")]))
      #expect(other.staysSilent(for: 0.2))
      let start = Date()
      try Self.finish([first[0]])
      #expect(try other.readAnswer().status == 202)
      #expect(Date().timeIntervalSince(start) < 1)
      // While the other client's connection exists, one place stays reserved for it.
      try Self.expectOtherIsServed(proxy)
      #expect(try origin.exchanges(name).count == 3)
      try Self.finish(Array(first.dropFirst()) + later)
    }
  }

  @Test func `a request that is held back too long is 503, and says why`() throws {
    let origin = try Origin()
    let top = "limits: {upstream_connections: 8}\ntimeouts: {connect: 500ms}"
    try withProxy(try Self.clients + Configuration.https(top: top, origin: origin)) { proxy in
      let name = Origin.newName()
      let uploads = try Self.slowUploads(7, proxy, name)
      try origin.await(name, count: 7, body: 5)
      let answer = try proxy.ask("http://api.test/", [Self.basic("greedy")])
      expectOwnAnswer(answer, 503, "connection_limit_reached")
      #expect(answer["Retry-After"] != nil)
      #expect(answer.proxyDetails == "this client's share of the connections is in use")
      try Self.expectOtherIsServed(proxy)
      try Self.finish(uploads)
    }
  }

  @Test func `a busy client on one loop does not keep the last connection from one that waits on another`() throws {
    let origin = try Origin()
    let text = try Self.clients + Configuration.https(top: Self.top(1, threads: 2), origin: origin)
    try withProxy(text) { proxy in
      // Load on either loop alone would use the only connection.
      let load = try LoadGenerator.start(
        proxy, "http://api.test/", ["--clients", "6", "--requests", "100000000", "--header", Self.basic("greedy")])
      #expect(try eventually { try origin.connections("https").accepted > 0 })
      for _ in 0..<10 {
        let start = Date()
        #expect(try proxy.ask("http://api.test/status/202", [Self.basic("other")]).status == 202)
        #expect(Date().timeIntervalSince(start) < 2)
      }
      load.signal(SIGTERM)
      #expect(try LoadGenerator.result(load).failed == 0)
    }
  }
}
