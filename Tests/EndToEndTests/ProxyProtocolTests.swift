import Foundation
import Testing

/// `listen[].proxy_protocol`: what a listed peer says of a connection is believed.
@Suite struct ProxyProtocolTests {
  /// The peer 127.0.0.2 is listed, and nobody else.
  static func configuration(_ listen: String = "", _ top: String = "") throws -> String {
    """
    listen: {address: 127.0.0.1:0, proxy_protocol: [127.0.0.2]\(listen)}
    admin: 127.0.0.1:0
    threads: 1
    clients:
      - {name: shop, from: [192.0.2.0/24, "2001:db8::/32"]}
      - {name: own, from: [127.0.0.1]}

    """ + (try Configuration.http(top: top))
  }

  static let listed = "127.0.0.2"

  /// What the log says of the request for this path.
  private func logged(_ proxy: ProxyProcess, _ path: String) throws -> [String: Any] {
    let line = try #require(proxy.process.awaitLine { $0.contains(#""path":"\#(path)""#) }, "\(path):\n\(proxy.tail)")
    return try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
  }

  /// - Parameter peer: as the log has it; nil: the peer's own address.
  private static let believed: [(header: [UInt8], status: Int, client: String?, peer: String?)] = [
    (BalancerHeader.line("192.0.2.7"), 200, "shop", "192.0.2.7:40000"),
    (BalancerHeader.line("2001:db8::7"), 200, "shop", "[2001:db8::7]:40000"),
    (BalancerHeader.line("::ffff:192.0.2.7"), 200, "shop", "192.0.2.7:40000"),
    (BalancerHeader.line("198.51.100.7"), 407, nil, "198.51.100.7:40000"),
    (BalancerHeader.block((192, 0, 2, 9)), 200, "shop", "192.0.2.9:40000"),
    (BalancerHeader.block((192, 0, 2, 9), tlvs: BalancerHeader.tlv(3000)), 200, "shop", "192.0.2.9:40000"),
    (BalancerHeader.block((192, 0, 2, 9), tlvs: BalancerHeader.tlv(4065)), 200, "shop", "192.0.2.9:40000"),
    (BalancerHeader.block((127, 0, 0, 1)), 200, "own", "127.0.0.1:40000"),
    (BalancerHeader.six, 200, "shop", "[2001:db8::7]:40000"),
    (BalancerHeader.unix, 407, nil, "unix:"),
    (BalancerHeader.unknown, 407, nil, nil),
    (BalancerHeader.local, 407, nil, nil),
    (BalancerHeader.block(command: 0x20, family: 0x11, BalancerHeader.addresses((192, 0, 2, 9))), 407, nil, nil),
    (BalancerHeader.block(command: 0x20, family: 0xff, [], tlvs: BalancerHeader.tlv(100)), 407, nil, nil),
    (BalancerHeader.block(family: 0x00, [], tlvs: BalancerHeader.tlv(100)), 407, nil, nil),
  ]

  @Test func `the address of either version decides who the client is, and stands in the log beside the sender's`() throws {
    try withProxy(try Self.configuration()) { proxy throws in
      each(Array(Self.believed.enumerated())) { number, it throws in
        let client = try proxy.connect(from: Self.listed)
        // The request is right behind the header.
        try client.send(it.header + Array(ProxyProcess.request("GET", "http://api.test/case-\(number)").utf8))
        #expect(try client.readAnswer().status == it.status, "\(number)")
        let seen = try logged(proxy, "/case-\(number)")
        #expect(seen["client"] as? String == it.client, "\(number)")
        let (peer, sender) = (seen["peer"] as? String ?? "", seen["sender"] as? String)
        if let wanted = it.peer {
          #expect(peer == wanted && sender?.hasPrefix("127.0.0.2:") == true, "\(number): \(seen)")
        } else {
          #expect(peer.hasPrefix("127.0.0.2:") && sender == nil, "\(number): \(seen)")
        }
        // The header is for the whole connection.
        if it.status == 200 {
          try client.send(ProxyProcess.request("GET", "http://api.test/again-\(number)"))
          #expect(try client.readAnswer().status == 200)
          #expect(try logged(proxy, "/again-\(number)")["peer"] as? String == it.peer)
        }
      }
      #expect(try proxy.ask("http://api.test/not-listed").status == 200)
      #expect(try logged(proxy, "/not-listed")["sender"] == nil)
    }
  }

  @Test(arguments: [
    BalancerHeader.line("192.0.2.7"), BalancerHeader.line("2001:db8::7"),
    BalancerHeader.block((192, 0, 2, 9), tlvs: BalancerHeader.tlv(20)), BalancerHeader.unknown + [],
  ])
  func `header and request may be cut anywhere`(_ header: [UInt8]) throws {
    let text = try Self.configuration(", clients: optional", "anonymous: {allow: [api.test]}")
    try withProxy(text) { proxy throws in
      /// The only loop answers this after it has read what was sent before.
      func awaitReading() throws { #expect(try proxy.ask("http://api.test/").status == 200) }
      let bytes = header + Array(ProxyProcess.request("GET", "http://api.test/").utf8)
      let clients = try (1..<bytes.count).map { place in
        let client = try proxy.connect(from: Self.listed)
        try client.send(Array(bytes[..<place]))
        return (place, client)
      }
      try awaitReading()
      for (place, client) in clients { try client.send(Array(bytes[place...])) }
      for (place, client) in clients { #expect(try client.readAnswer().status == 200, "cut at \(place)") }
      // Each byte alone.
      let client = try proxy.connect(from: Self.listed)
      for byte in bytes {
        try client.send([byte])
        try awaitReading()
      }
      #expect(try client.readAnswer().status == 200)
    }
  }

  @Test func `a header of 4 KiB may be cut anywhere, too`() throws {
    try withProxy(try Self.configuration()) { proxy throws in
      let bytes =
        BalancerHeader.block((192, 0, 2, 9), tlvs: BalancerHeader.tlv(4065))
        + Array(ProxyProcess.request("GET", "http://api.test/").utf8)
      let places = Array(stride(from: 1, to: bytes.count, by: 61)) + [4095, 4096, 4097]
      let clients = try places.map { place in
        let client = try proxy.connect(from: Self.listed)
        try client.send(Array(bytes[..<place]))
        return (place, client)
      }
      #expect(try proxy.ask("http://api.test/").status == 200)
      for (place, client) in clients { try client.send(Array(bytes[place...])) }
      for (place, client) in clients { #expect(try client.readAnswer().status == 200, "cut at \(place)") }
    }
  }

  @Test func `pipelined requests, a body and a tunnel behind the header are served`() throws {
    let origin = try Origin.shared()
    let text = try Self.configuration("", "connect: {allow: [\"127.0.0.1:\(origin.ports.http)\"]}\nforbidden_addresses: []")
    try withProxy(text) { proxy throws in
      let pipeline = try proxy.connect(from: Self.listed)
      let requests = ProxyProcess.request("GET", "http://api.test/") + ProxyProcess.request("GET", "http://api.test/status/201")
      try pipeline.send(BalancerHeader.line("192.0.2.7") + Array(requests.utf8))
      #expect(try pipeline.readAnswer().status == 200 && pipeline.readAnswer().status == 201)
      let upload = try proxy.connect(from: Self.listed)
      let body = String(repeating: "b", count: 100_000)
      try upload.send(
        BalancerHeader.block((192, 0, 2, 9)) + Array(ProxyProcess.request("POST", "http://api.test/echo", body: body).utf8))
      #expect(try upload.readAnswer().received().body_length == 100_000)
      let tunnel = try proxy.connect(from: Self.listed)
      let target = "127.0.0.1:\(origin.ports.http)"
      try tunnel.send(BalancerHeader.six + Array(ProxyProcess.request("CONNECT", target).utf8))
      #expect(try tunnel.readAnswer(to: "CONNECT").status == 200)
      try tunnel.send("GET /echo HTTP/1.1\r\nHost: x\r\n\r\n")
      #expect(try tunnel.readAnswer().status == 200)
    }
  }

  @Test func `max_requests counts the addresses that headers name, not the sender's`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(name, [.gate("on"), .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")])
    let text = """
      listen: {address: 127.0.0.1:0, proxy_protocol: [127.0.0.0/8]}
      anonymous: {max_requests: 1}

      """
    try withProxy(try text + Configuration.http()) { proxy throws in
      func ask(_ source: [UInt8], _ path: String) throws -> RawConnection {
        let client = try proxy.connect()
        try client.send(source + Array(ProxyProcess.request("GET", "http://api.test\(path)").utf8))
        return client
      }
      let (first, second) = (BalancerHeader.line("192.0.2.1"), BalancerHeader.block((192, 0, 2, 2)))
      let busy = try ask(first, "/?id=\(name)")
      try origin.await(name, count: 1, gate: "on")
      #expect(try ask(first, "/").readAnswer().status == 429)
      #expect(try ask(second, "/").readAnswer().status == 200)
      #expect(try ask(BalancerHeader.line("::ffff:192.0.2.1"), "/").readAnswer().status == 429)
      try origin.open("on", of: name, count: 1)
      #expect(try busy.readAnswer().status == 200)
    }
  }

  @Test func `peers of a unix socket are listed by the word unix`() throws {
    let folder = try Surroundings.newFolder()
    let text = try Self.configuration().replacing(
      "{address: 127.0.0.1:0, proxy_protocol: [127.0.0.2]}",
      with: "[{address: 127.0.0.1:0}, {address: \"unix:\(folder)/a\", proxy_protocol: [unix]}]")
    try withProxy(text) { proxy throws in
      let client = try RawConnection(unixPath: folder + "/a")
      try client.send(BalancerHeader.line("192.0.2.7") + Array(ProxyProcess.request("GET", "http://api.test/a").utf8))
      #expect(try client.readAnswer().status == 200)
      #expect(try logged(proxy, "/a")["sender"] as? String == "unix:")
      let without = try RawConnection(unixPath: folder + "/a")
      try without.send(ProxyProcess.request("GET", "http://api.test/b"))
      #expect(try without.readToEnd().bytes.isEmpty)
      #expect(try proxy.metric(#"authproxy_proxy_protocol_errors_total{listener="unix:\#(folder)/a"}"#) == 1)
    }
  }
}
