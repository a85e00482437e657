import Foundation
import Testing

/// An origin that takes no requests for now: MAX_CONCURRENT_STREAMS is 0.
@Suite struct HTTP2PausedOriginTests {
  private static func wait(_ count: Int, _ proxy: ProxyProcess) throws -> [RawConnection] {
    let clients = try (0..<count).map { _ in try proxy.connect() }
    for client in clients {
      client.timeout = 20
      try client.send(ProxyProcess.request("GET", "http://api.test/"))
    }
    return clients
  }

  /// A request that goes on while its connection takes no others.
  private static func pause(_ origin: HTTP2Origin, _ proxy: ProxyProcess) throws -> RawConnection {
    try origin.script("long", [.head([[":status", "200"]]), .data("a"), .gate("on"), .last("b")])
    let long = try proxy.connect()
    try long.send(ProxyProcess.request("GET", "http://api.test/?id=long"))
    try origin.await(.standing, of: "on")
    try origin.limitStreams(to: 0)
    return long
  }

  @Test func `GOAWAY behind it lets those in line go elsewhere`() throws {
    let origin = try HTTP2Origin()
    try withProxy(origin.configuration(top: "threads: 1\ntimeouts: {connect: 8s}")) { proxy throws in
      let long = try Self.pause(origin, proxy)
      let clients = try Self.wait(3, proxy)
      #expect(clients[2].staysSilent(for: 0.2))
      try origin.play([.goAway(0x7fff_ffff, 0, "")], on: 1)
      for client in clients { #expect(try client.readAnswer().told().connection == 2) }
      try origin.open("on")
      #expect(try long.readAnswer().text == "ab")
    }
  }

  @Test func `if it stays so, another connection is tried`() throws {
    let origin = try HTTP2Origin()
    try withProxy(origin.configuration(top: "threads: 1\ntimeouts: {connect: 8s}")) { proxy throws in
      let long = try Self.pause(origin, proxy)
      let clients = try Self.wait(3, proxy)
      #expect(clients[2].staysSilent(for: 0.5))
      for client in clients { #expect(try client.readAnswer().told().connection == 2) }
      try origin.open("on")
      #expect(try long.readAnswer().text == "ab")
      #expect(try origin.tell().connections.count == 2)
    }
  }

  @Test func `one whose connections are all so gets few of them`() throws {
    let origin = try HTTP2Origin()
    try withProxy(origin.configuration(top: "threads: 1\ntimeouts: {connect: 4s, resolve: 1s}")) { proxy throws in
      let long = try Self.pause(origin, proxy)
      try origin.set(settings: ["3": 0])
      for client in try Self.wait(3, proxy) {
        let answer = try client.readAnswer()
        expectOwnAnswer(answer, 503, "connection_limit_reached")
        #expect(answer["Proxy-Status"]?.contains(#"details="the origin takes no requests now""#) == true, "\(answer.head)")
      }
      #expect(try origin.tell().connections.count == 2)
      try origin.open("on")
      #expect(try long.readAnswer().text == "ab")
    }
  }

  @Test func `those in line behind a reload wait for the SETTINGS of one connection`() throws {
    let origin = try HTTP2Origin()
    let ca = "\(try Surroundings.pki())/ca.pem"
    func configuration(_ more: String) -> String {
      origin.configuration(top: "threads: 1\ntimeouts: {connect: 8s}")
        + "\ntrust:\n  default:\n    - default: {ca_file: \(ca), system_roots: false\(more)}\n"
    }
    try withProxy(configuration("")) { proxy throws in
      #expect(try proxy.ask("http://api.test/").status == 200)
      try origin.limitStreams(to: 0)
      let clients = try Self.wait(2, proxy)
      #expect(clients[1].staysSilent(for: 0.2))
      try origin.set(settings: ["3": 0])
      // Their pool is another one from here on, which opens a connection for them, and keeps none.
      try proxy.reload(configuration(", min_version: tls1.3"))
      #expect(clients[1].staysSilent(for: 0.5))
      #expect(try origin.tell().connections.count <= 4)
      try origin.limitStreams(to: 10)
      for client in clients { #expect(try client.readAnswer().status == 200) }
    }
  }

  @Test(arguments: ["GET", "POST"])
  func `connections that end before a request fail those that wait for them`(method: String) throws {
    let origin = try HTTP2Origin()
    try withProxy(origin.configuration(top: "threads: 1\ntimeouts: {connect: 8s}")) { proxy throws in
      #expect(try proxy.ask("http://api.test/").status == 200)
      try origin.limitStreams(to: 0)
      try origin.set(settings: ["3": 0])
      try origin.setFarewell()
      let client = try proxy.connect()
      try client.send(ProxyProcess.request(method, "http://api.test/", body: method == "POST" ? "x" : nil))
      #expect(client.staysSilent(for: 0.2))
      try origin.play([.goAway(0x7fff_ffff, 0, "")], on: 1)
      let answer = try client.readAnswer()
      expectOwnAnswer(answer, 503, "connection_limit_reached")
      #expect(answer["Proxy-Status"]?.contains(#"details="GOAWAY, 3 times""#) == true, "\(answer.head)")
      // One for each attempt, behind the first.
      #expect(try origin.tell().connections.count == 5)
    }
  }
}
