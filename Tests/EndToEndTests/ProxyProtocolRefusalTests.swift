import Foundation
import Testing

/// A PROXY header is expected by the peer's address, never by sight.
@Suite struct ProxyProtocolRefusalTests {
  private static let request = Array(ProxyProcess.request("GET", "http://api.test/").utf8)

  private func configuration(_ top: String = "") throws -> String { try ProxyProtocolTests.configuration("", top) }

  private func errors(_ proxy: ProxyProcess) throws -> Int {
    Int(try proxy.metric(#"authproxy_proxy_protocol_errors_total{listener="\#(proxy.addresses[0])"}"#) ?? -1)
  }

  /// What a listed peer sends, with a request behind it.
  private static let lies: [(name: String, bytes: [UInt8])] = [
    ("no header", []),
    ("TLS", [0x16, 0x03, 0x01, 0x00, 0x05, 0x01, 0x00, 0x00, 0x01, 0x00]),
    ("a bare LF", Array("PROXY TCP4 192.0.2.7 127.0.0.1 1 2\n".utf8)),
    ("the other family", Array("PROXY TCP6 192.0.2.7 127.0.0.1 1 2\r\n".utf8)),
    ("no address", Array("PROXY TCP4 shop 127.0.0.1 1 2\r\n".utf8)),
    ("no ports", Array("PROXY TCP4 192.0.2.7 127.0.0.1\r\n".utf8)),
    ("an endless line", Array("PROXY UNKNOWN ".utf8) + [UInt8](repeating: 120, count: 10_000)),
    ("version 3", BalancerHeader.block(command: 0x31, family: 0x11, BalancerHeader.addresses((192, 0, 2, 7)))),
    ("no such command", BalancerHeader.block(command: 0x2f, family: 0x11, BalancerHeader.addresses((192, 0, 2, 7)))),
    ("no such family", BalancerHeader.block(family: 0x51, BalancerHeader.addresses((192, 0, 2, 7)))),
    ("no room for IPv4", BalancerHeader.block(family: 0x11, [192, 0, 2, 7])),
    ("IPv6 with the length of IPv4", BalancerHeader.block(family: 0x21, BalancerHeader.addresses((192, 0, 2, 7)))),
    ("a length of nothing", BalancerHeader.block(family: 0x11, BalancerHeader.addresses((192, 0, 2, 7)), length: 0)),
    ("4,097 bytes", BalancerHeader.block((192, 0, 2, 7), tlvs: BalancerHeader.tlv(4066))),
    ("64 KiB", BalancerHeader.block(family: 0x11, BalancerHeader.addresses((192, 0, 2, 7)), length: 65_535)),
  ]

  @Test func `a listed peer without a valid header is closed without a byte, counted, and told of`() throws {
    try withProxy(try configuration()) { proxy throws in
      for (count, lie) in Self.lies.enumerated() {
        let client = try proxy.connect(from: ProxyProtocolTests.listed)
        client.trySend(lie.bytes + Self.request)
        #expect(try client.readToEnd().bytes.isEmpty, "\(lie.name)")
        #expect(try eventually { try errors(proxy) == count + 1 }, "\(lie.name)")
      }
      let line = proxy.process.awaitLine { $0.contains("without a valid PROXY header") }
      #expect(line?.contains("it begins otherwise") == true && line?.contains("127.0.0.2") == true, "\(line ?? "")")
      // Later ones of the same peer are counted in one line.
      #expect(proxy.process.lines.count { $0.contains("without a valid PROXY header") } == 1)
      #expect(!proxy.process.lines.contains { $0.contains(#""message":"request""#) })
    }
  }

  @Test func `a header that is cut is closed without a byte; a peer that says nothing at all may be a health check`() throws {
    try withProxy(try configuration()) { proxy throws in
      let headers = [BalancerHeader.line("192.0.2.7"), BalancerHeader.block((192, 0, 2, 7), tlvs: BalancerHeader.tlv(30))]
      var cuts = 0
      for header in headers {
        for count in 1..<header.count {
          let client = try proxy.connect(from: ProxyProtocolTests.listed)
          try client.send(Array(header[..<count]))
          client.halfClose()
          #expect(try client.readToEnd().bytes.isEmpty, "\(count) bytes")
          cuts += 1
        }
      }
      #expect(try eventually { try errors(proxy) == cuts })
      for _ in 0..<5 {
        let check = try proxy.connect(from: ProxyProtocolTests.listed)
        check.halfClose()
        #expect(try check.readToEnd().bytes.isEmpty)
        try proxy.connect(from: ProxyProtocolTests.listed).reset()
      }
      #expect(try errors(proxy) == cuts)
      // After the header, the end of the connection is no error either.
      let whole = try proxy.connect(from: ProxyProtocolTests.listed)
      try whole.send(headers[0])
      whole.halfClose()
      #expect(try whole.readToEnd().bytes.isEmpty)
      #expect(try errors(proxy) == cuts)
    }
  }

  @Test func `a header that is not whole within request_head is closed without a byte, however steadily it trickles`() throws {
    try withProxy(try configuration("timeouts: {request_head: 400ms}")) { proxy throws in
      let start = Date()
      let silent = try proxy.connect(from: ProxyProtocolTests.listed)
      let trickled = try proxy.connect(from: ProxyProtocolTests.listed)
      for byte in BalancerHeader.block((192, 0, 2, 7), tlvs: BalancerHeader.tlv(3000)) {
        if !trickled.staysSilent(for: 0.05) || Date().timeIntervalSince(start) > 5 { break }
        trickled.trySend([byte])
      }
      #expect(try trickled.readToEnd().bytes.isEmpty && silent.readToEnd().bytes.isEmpty)
      #expect((0.3...4).contains(Date().timeIntervalSince(start)))
      #expect(try eventually { try errors(proxy) == 2 })
      // The request's head has the same time again.
      let late = try proxy.connect(from: ProxyProtocolTests.listed)
      try late.send(BalancerHeader.line("192.0.2.7") + Array("GET http://api.test/".utf8))
      expectOwnAnswer(try late.readAnswer(), 408, "http_request_error")
      #expect(try errors(proxy) == 2)
    }
  }

  @Test func `the header of a peer that is not listed, and a second one, are bad requests`() throws {
    try withProxy(try configuration()) { proxy throws in
      let header = BalancerHeader.line("192.0.2.7")
      for bytes in [header, BalancerHeader.block((192, 0, 2, 7)), BalancerHeader.unknown, BalancerHeader.local] {
        let client = try proxy.connect()
        try client.send(bytes + Self.request)
        expectOwnAnswer(try client.readAnswer(), 400, "http_request_error")
        #expect(try client.readToEnd().bytes.isEmpty)
        let twice = try proxy.connect(from: ProxyProtocolTests.listed)
        try twice.send(header + bytes + Self.request)
        expectOwnAnswer(try twice.readAnswer(), 400, "http_request_error")
      }
      #expect(try errors(proxy) == 0)
    }
  }

  @Test func `a length that covers the request makes it part of the header`() throws {
    try withProxy(try configuration()) { proxy throws in
      let addresses = BalancerHeader.addresses((192, 0, 2, 7))
      let client = try proxy.connect(from: ProxyProtocolTests.listed)
      try client.send(
        BalancerHeader.block(family: 0x11, addresses, length: addresses.count + Self.request.count) + Self.request)
      client.halfClose()
      #expect(try client.readToEnd().bytes.isEmpty)
      #expect(!proxy.process.lines.contains { $0.contains(#""message":"request""#) })
    }
  }

  @Test func `a flood of bad and of half headers holds little, and disturbs nobody`() throws {
    try withProxy(try configuration("timeouts: {request_head: 60s}")) { proxy throws in
      #expect(try proxy.ask("http://api.test/").status == 200)
      let before = try Measures.resident(proxy.pid)
      let half = Array(BalancerHeader.block((192, 0, 2, 7), tlvs: BalancerHeader.tlv(4065)).dropLast())
      let held = try (0..<400).map { _ in
        let client = try proxy.connect(from: ProxyProtocolTests.listed)
        try client.send(half)
        return client
      }
      #expect(try proxy.ask("http://api.test/").status == 200)
      let grown = try Measures.resident(proxy.pid) - before
      #expect(grown < 400 * 16, "\(grown) KiB")
      for _ in 0..<400 {
        let client = try proxy.connect(from: ProxyProtocolTests.listed)
        client.trySend([UInt8](repeating: 0x50, count: 20_000))
        #expect(try client.readToEnd().bytes.isEmpty)
      }
      #expect(try proxy.ask("http://api.test/").status == 200)
      #expect(try errors(proxy) == 400)
      // Those that waited are whole now.
      for client in held { try client.send([0x78] + Self.request) }
      for client in held { #expect(try client.readAnswer().status == 200) }
    }
  }
}
