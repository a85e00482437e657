import Foundation
import Testing

/// Who shares a connection: requests of one origin, one trust policy, one authority and one credential.
@Suite struct HTTP2SharingTests {
  @Test func `two credentials never meet on a connection`() throws {
    let origin = try HTTP2Origin()
    let configuration = """
      threads: 1
      upstreams:
        - {match: one.test, origin: "\(origin.url)", http_version: auto, credential: one}
        - {match: two.test, origin: "\(origin.url)", http_version: auto, credential: two}
        - {match: none.test, origin: "\(origin.url)", http_version: auto}
        - {match: also.test, origin: "\(origin.url)", http_version: auto, credential: one}
      credentials:
        one: {bearer: {token: 5ecret-one}}
        two: {bearer: {token: 5ecret-two}}
      """
    try withProxy(configuration) { proxy throws in
      var seen: [Int: Set<String>] = [:]
      for _ in 0..<3 {
        for name in ["one", "two", "none", "also"] {
          let told = try proxy.ask("http://\(name).test/").told()
          seen[told.connection, default: []].insert(told["authorization"] ?? "")
        }
      }
      #expect(seen.count == 3 && seen.values.allSatisfy { $0.count == 1 }, "\(seen)")
    }
  }

  @Test func `two authorities never meet on a connection`() throws {
    let origin = try HTTP2Origin()
    let configuration = """
      threads: 1
      upstreams:
        - {match: ["one.test", "two.test"], origin: "\(origin.url)", http_version: auto, host_header: app}
      """
    try withProxy(configuration) { proxy throws in
      var seen: [Int: Set<String>] = [:]
      for _ in 0..<3 {
        for name in ["one", "two"] {
          let told = try proxy.ask("http://\(name).test/").told()
          seen[told.connection, default: []].insert(told[":authority"] ?? "")
        }
      }
      #expect(seen.count == 2 && seen.values.allSatisfy { $0.count == 1 }, "\(seen)")
    }
  }

  @Test func `two trust policies never meet on a connection, and two names of one host neither`() throws {
    let origin = try HTTP2Origin()
    let ca = "\(try Surroundings.pki())/ca.pem"
    let configuration = """
      threads: 1
      upstreams:
        - {match: one.test, origin: "\(origin.url)", http_version: auto, trust: one}
        - {match: two.test, origin: "\(origin.url)", http_version: auto, trust: two}
        - {match: three.test, origin: "https://127.0.0.1:\(origin.port)", http_version: auto, trust: one}
      trust:
        one: [{default: {ca_file: \(ca), system_roots: false}}]
        two: [{default: {ca_file: \(ca), system_roots: false, min_version: tls1.3}}]
      """
    try withProxy(configuration) { proxy throws in
      let connections = try ["one", "two", "three", "one", "two", "three"].map {
        try proxy.ask("http://\($0).test/").told().connection
      }
      #expect(connections == [1, 2, 3, 1, 2, 3])
    }
  }

  @Test func `a reload that changes the trust ends the connection behind its streams`() throws {
    let origin = try HTTP2Origin()
    let ca = "\(try Surroundings.pki())/ca.pem"
    try origin.script("long", [.head([[":status", "200"]]), .data("a"), .gate("on"), .last("b")])
    func configuration(_ more: String) -> String {
      origin.configuration() + "\ntrust:\n  default:\n    - default: {ca_file: \(ca), system_roots: false\(more)}\n"
    }
    try withProxy(configuration("")) { proxy throws in
      let long = try proxy.connect()
      try long.send(ProxyProcess.request("GET", "http://api.test/?id=long"))
      try origin.await(.requests, of: "long")
      try proxy.reload(configuration(", min_version: tls1.3"))
      #expect(try proxy.ask("http://api.test/").told().connection == 2)
      #expect(try origin.tell().connections[0].closed == false)
      try origin.open("on")
      #expect(try long.readAnswer().text == "ab")
      try origin.await(.closed)
      #expect(try origin.tell().connections[0].goaways == [0])
    }
  }

  @Test func `a reload to 1_1 moves the next request`() throws {
    let origin = try HTTP2Origin()
    try withProxy(origin.configuration()) { proxy throws in
      #expect(try proxy.ask("http://api.test/").told().protocol == "h2")
      try proxy.reload(origin.configuration(version: "1.1"))
      #expect(try proxy.ask("http://api.test/").told().protocol == "http/1.1")
      try proxy.reload(origin.configuration(version: "2"))
      #expect(try proxy.ask("http://api.test/").told().protocol == "h2")
    }
  }

  @Test func `a connection with a hundred cancelled requests takes no more`() throws {
    let origin = try HTTP2Origin()
    try origin.script("slow", [.gate("never")])
    try withProxy(origin.configuration()) { proxy throws in
      for round in 1...10 {
        let clients = try (0..<10).map { _ in try proxy.connect() }
        for client in clients { try client.send(ProxyProcess.request("GET", "http://api.test/?id=slow")) }
        try origin.await(.requests, round * 10, of: "slow")
        for client in clients { client.close() }
        try origin.await(.resets, round * 10, of: "slow")
      }
      #expect(try proxy.ask("http://api.test/").told().connection == 2)
      try origin.await(.closed)
      #expect(try origin.tell().connections[0].goaways == [0])
    }
  }
}
