import Foundation
import Testing

/// What a connection speaks is what ALPN has chosen on it.
@Suite struct HTTP2NegotiationTests {
  @Test func `auto speaks HTTP/2 with an origin that has it, and says so`() throws {
    let origin = try HTTP2Origin()
    try withProxy(origin.configuration()) { proxy throws in
      for _ in 0..<3 {
        let answer = try proxy.ask("http://api.test/a?b=c")
        #expect(answer.status == 200 && answer.head.hasPrefix("HTTP/1.1 200 OK\r\n"), "\(answer.head)")
        #expect(answer["Via"] == "2 authproxy", "\(answer.head)")
        #expect(try answer.told().protocol == "h2")
      }
      let log = try origin.tell()
      #expect(log.connections.count == 1 && log.requests.map(\.stream) == [1, 3, 5])
    }
  }

  @Test func `auto speaks 1.1 with an origin that has nothing else`() throws {
    let origin = try HTTP2Origin(alpn: ["http/1.1"])
    try withProxy(origin.configuration()) { proxy throws in
      for _ in 0..<3 {
        let answer = try proxy.ask("POST", "http://api.test/a", body: "x")
        #expect(answer.status == 200 && answer["Via"] == "1.1 authproxy", "\(answer.head)")
        #expect(try answer.told().protocol == "http/1.1")
      }
      #expect(try origin.tell().connections.map(\.protocol) == ["http/1.1"])
    }
  }

  @Test func `an origin without ALPN is asked over 1.1`() throws {
    let origin = try HTTP2Origin(alpn: ["none"])
    try withProxy(origin.configuration()) { proxy throws in
      #expect(try proxy.ask("http://api.test/a").told().protocol == "http/1.1")
    }
  }

  @Test(arguments: [["http/1.1"], ["none"]]) func `2 never falls back`(alpn: [String]) throws {
    let origin = try HTTP2Origin(alpn: alpn)
    try withProxy(origin.configuration(version: "2")) { proxy throws in
      let answer = try proxy.ask("http://api.test/a")
      expectOwnAnswer(answer, 502, "tls_protocol_error")
      #expect(
        answer["Proxy-Status"]?.contains(#"details="offers no HTTP/2: http_version auto or 1.1""#) == true, "\(answer.head)")
      #expect(try origin.tell().requests.isEmpty)
    }
  }

  @Test func `an origin that refuses what is offered is named with what helps`() throws {
    let world = try TrustWorld()
    let (old, new) = (
      try TLSServer(world, "good", options: ["-alpn", "http/1.1"]), try TLSServer(world, "good", options: ["-alpn", "h2"])
    )
    let cases = [
      TrustCase("old", "https://localhost:\(old.port)", [world.root], entry: ["http_version: 2"]),
      TrustCase("new", "https://localhost:\(new.port)", [world.root]),
    ]
    try withProxy(TrustCase.configuration(cases)) { proxy throws in
      let answer = try proxy.ask("http://old.test/")
      expectOwnAnswer(answer, 502, "tls_protocol_error")
      #expect(answer["Proxy-Status"]?.contains("offers no HTTP/2: http_version auto or 1.1") == true, "\(answer.head)")
      let other = try proxy.ask("http://new.test/")
      expectOwnAnswer(other, 502, "tls_protocol_error")
      #expect(other["Proxy-Status"]?.contains("http_version: auto") == true, "\(other.head)")
    }
  }

  @Test func `HTTP/2 over a cipher that it excludes is none`() throws {
    for version in ["auto", "2"] {
      let origin = try HTTP2Origin()
      try origin.set(cipher: "ECDHE-ECDSA-AES128-SHA")
      try withProxy(origin.configuration(version: version)) { proxy throws in
        let answer = try proxy.ask("http://api.test/")
        // Clients may offer no such cipher at all.
        if try origin.tell().connections.allSatisfy({ $0.protocol == nil }) {
          #expect(answer.status == 502)
        } else if version == "auto" {
          #expect(try answer.told().protocol == "http/1.1")
        } else {
          expectOwnAnswer(answer, 502, "tls_protocol_error")
          #expect(try origin.tell().connections.allSatisfy { $0.bytes == 0 })
        }
      }
    }
  }

  @Test func `a websocket gets a connection that offers only 1.1`() throws {
    let origin = try HTTP2Origin()
    try withProxy(origin.configuration()) { proxy throws in
      #expect(try proxy.ask("http://api.test/").told().protocol == "h2")
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/ws", ["Connection: Upgrade", "Upgrade: websocket"]))
      #expect(try client.readHead().status == 101)
      try client.send("ping")
      #expect(try client.read(4) == Array("ping".utf8))
      client.close()
      #expect(try proxy.ask("http://api.test/").told().protocol == "h2")
      #expect(try origin.tell().connections.map(\.protocol) == ["h2", "http/1.1"])
    }
  }

  @Test func `with 2 an Upgrade is dropped, and HTTP2-Settings never passes`() throws {
    let origin = try HTTP2Origin()
    try withProxy(origin.configuration(version: "2")) { proxy throws in
      for upgrade in ["websocket", "h2c"] {
        let told = try proxy.ask(
          "http://api.test/", ["Connection: Upgrade, HTTP2-Settings", "Upgrade: \(upgrade)", "HTTP2-Settings: AAMAAABkAAQ"]
        ).told()
        #expect(told["upgrade"] == nil && told["http2-settings"] == nil && told["connection"] == nil, "\(told.fields)")
      }
    }
  }

  @Test func `a burst on a cold origin waits for one handshake`() throws {
    let origin = try HTTP2Origin()
    try withProxy(origin.configuration()) { proxy throws in
      let clients = try (0..<40).map { _ in try proxy.connect() }
      for client in clients { try client.send(ProxyProcess.request("GET", "http://api.test/")) }
      for client in clients { #expect(try client.readAnswer().status == 200) }
      #expect(try origin.tell().connections.count == 1)
    }
  }
}
