import Foundation
import Testing

/// The pools of one origin share its places: each gets its turn, however few there are.
@Suite struct HTTP2PlacesTests {
  private static let entries = 8

  /// Entries `0.test`, `1.test` and so on, each with a credential of its own, and so with connections of its own.
  private static func configuration(_ origin: HTTP2Origin, threads: Int, places: Int, streams: Int = 100) -> String {
    let numbers = 0..<entries
    let upstreams = numbers.map {
      #"  - {match: \#($0).test, origin: "\#(origin.url)", http_version: auto, credential: c\#($0)}"#
    }
    let credentials = numbers.map { "  c\($0): {bearer: {token: 5ecret-\($0)}}" }
    return """
      threads: \(threads)
      limits: {upstream_connections: \(places), upstream_streams: \(streams)}
      timeouts: {connect: 8s}
      upstreams:
      \(upstreams.joined(separator: "\n"))
      credentials:
      \(credentials.joined(separator: "\n"))
      """
  }

  @Test(arguments: ["h2", "http/1.1"], [(1, 1), (1, 2), (2, 2)])
  func `more credentials than connections are served in turn`(_ chosen: String, _ place: (threads: Int, places: Int)) throws {
    let origin = try HTTP2Origin(alpn: [chosen])
    let configuration = Self.configuration(origin, threads: place.threads, places: place.places)
    try withProxy(configuration) { proxy throws in
      let clients = try (0..<Self.entries).map { _ in try proxy.connect() }
      for (number, client) in clients.enumerated() {
        client.timeout = 20
        try client.send(ProxyProcess.request("GET", "http://\(number).test/"))
      }
      for (number, client) in clients.enumerated() {
        let told = try client.readAnswer().told()
        #expect(told.protocol == chosen && told["authorization"] == "Bearer 5ecret-\(number)")
      }
    }
  }

  @Test(arguments: [(1, 1), (1, 2), (2, 2)])
  func `requests beyond a client's share go on, whichever pool they wait in`(_ place: (threads: Int, places: Int)) throws {
    let origin = try HTTP2Origin()
    try origin.script("held", [.awaitEnd, .gate("on")] + HTTP2Origin.Step.answer("ok"))
    // A client's share is one request a connection.
    let configuration = Self.configuration(origin, threads: place.threads, places: place.places, streams: 1)
    try withProxy(configuration) { proxy throws in
      let clients = try (0..<Self.entries).map { _ in try proxy.connect() }
      for (number, client) in clients.enumerated() {
        client.timeout = 20
        try client.send(ProxyProcess.request("GET", "http://\(number).test/?id=held"))
        if number + 1 == place.places { try origin.await(.standing, place.places, of: "on") }
      }
      #expect(clients[Self.entries - 1].staysSilent(for: 0.2))
      try origin.open("on")
      for client in clients { #expect(try client.readAnswer().text == "ok") }
    }
  }

  @Test func `requests whose connection was lost go over a few new ones, one after another`() throws {
    let origin = try HTTP2Origin()
    try origin.script("held", [.awaitEnd, .gate("on")] + HTTP2Origin.Step.answer("ok"))
    let top = "threads: 1\nlimits: {upstream_connections: 3}\ntimeouts: {connect: 8s}"
    try withProxy(origin.configuration(top: top)) { proxy throws in
      let clients = try (0..<40).map { _ in try proxy.connect() }
      for client in clients { try client.send(ProxyProcess.request("GET", "http://api.test/?id=held")) }
      try origin.await(.standing, 40, of: "on")
      try origin.play([.abort], on: 1)
      try origin.await(.standing, 43, of: "on")
      try origin.open("on")
      for client in clients {
        client.timeout = 20
        #expect(try client.readAnswer().text == "ok")
      }
      #expect(try origin.tell().connections.count == 4)
    }
  }
}
