import Foundation
import Testing

/// A reload that changes `proxy_protocol`.
@Suite struct ProxyProtocolReloadTests {
  private func configuration(_ listen: String, _ peers: String) throws -> String {
    "listen: {address: \(listen)\(peers)}\nadmin: 127.0.0.1:0\nthreads: 2\n" + (try Configuration.http())
  }

  /// - Returns: the status; nil: closed without a byte.
  private static func status(_ proxy: ProxyProcess, from source: String, _ header: [UInt8]) throws -> Int? {
    let client = try proxy.connect(from: source)
    client.trySend(header + Array(ProxyProcess.request("GET", "http://api.test/").utf8))
    if try client.staysOpen() { return try client.readAnswer().status }
    return nil
  }

  @Test func `new connections obey the new list, and none is lost under load`() throws {
    let header = BalancerHeader.block((192, 0, 2, 7), tlvs: BalancerHeader.tlv(300))
    let proxy = try ProxyProcess(try configuration("127.0.0.1:0", ", proxy_protocol: [127.0.0.2]"))
    defer { proxy.stop() }
    let state = Monitor((stops: false, running: 6, good: 0, faults: [String]()))
    for number in 0..<6 {
      Thread {
        // Half of them through the balancer that is always listed, half from an address that never is.
        let (source, header) = number % 2 == 0 ? ("127.0.0.2", header) : ("127.0.0.1", [])
        while !state.change({ $0.stops }) {
          do {
            let status = try Self.status(proxy, from: source, header)
            state.change {
              if status == 200 { $0.good += 1 } else { $0.faults.append("\(source): \(status.map { "\($0)" } ?? "closed")") }
            }
          } catch { state.change { $0.faults.append("\(source): \(error)") } }
        }
        state.change { $0.running -= 1 }
      }.start()
    }
    defer {
      state.change { $0.stops = true }
      #expect(state.wait(20) { $0.running == 0 ? true : nil } == true)
    }
    let kept = try proxy.connect(from: "127.0.0.3")
    for round in 0..<10 {
      let isListed = round % 2 == 0
      let before = state.change { $0.good }
      try proxy.reload(
        try configuration(proxy.addresses[0], ", proxy_protocol: [127.0.0.2\(isListed ? ", 127.0.0.3" : "")]"))
      #expect(try Self.status(proxy, from: "127.0.0.3", header) == (isListed ? 200 : 400))
      #expect(try Self.status(proxy, from: "127.0.0.3", []) == (isListed ? nil : 200))
      // One that was there before is what it was.
      try kept.send(ProxyProcess.request("GET", "http://api.test/"))
      #expect(try kept.readAnswer().status == 200)
      #expect(state.wait(10) { $0.good > before + 20 ? true : nil } == true)
    }
    state.change { $0.stops = true }
    #expect(state.wait(20) { $0.running == 0 ? true : nil } == true)
    #expect(state.change { $0.faults.prefix(5) }.isEmpty, "\(state.change { $0.faults.prefix(5) })")
  }

  @Test func `the list may come and go, with its metric, and an address is believed as long as its sender is listed`() throws {
    let header = BalancerHeader.line("192.0.2.7")
    let proxy = try ProxyProcess(try configuration("127.0.0.1:0", ""))
    defer { proxy.stop() }
    let metric = #"authproxy_proxy_protocol_errors_total{listener="\#(proxy.addresses[0])"}"#
    #expect(try Self.status(proxy, from: "127.0.0.2", header) == 400)
    #expect(try proxy.metric(metric) == nil)
    let admin = "admin: 127.0.0.1:\(proxy.adminPort)"
    func reload(_ peers: String) throws {
      try proxy.reload(try configuration(proxy.addresses[0], peers).replacing("admin: 127.0.0.1:0", with: admin))
    }
    try reload(", proxy_protocol: [127.0.0.2]")
    let believed = try proxy.connect(from: "127.0.0.2")
    try believed.send(header + Array(ProxyProcess.request("GET", "http://api.test/first").utf8))
    #expect(try believed.readAnswer().status == 200)
    let waiting = try proxy.connect(from: "127.0.0.2")
    try waiting.send(Array(header.prefix(20)))
    #expect(try Self.status(proxy, from: "127.0.0.2", []) == nil)
    #expect(try proxy.metric(metric) == 1)
    try reload("")
    #expect(try Self.status(proxy, from: "127.0.0.2", []) == 200)
    #expect(try proxy.metric(metric) == nil)
    #expect(try believed.readToEnd().bytes.isEmpty)
    // A header that had begun is still one, for one request.
    try waiting.send(Array(header.dropFirst(20)) + Array(ProxyProcess.request("GET", "http://api.test/").utf8))
    let last = try waiting.readAnswer()
    #expect(last.status == 200 && last["Connection"] == "close")
    #expect(try waiting.readToEnd().bytes.isEmpty)
  }

  @Test func `who is taken out of the list has claimed its access for the last time`() throws {
    func text(_ listen: String, _ peers: String) throws -> String {
      """
      listen: {address: \(listen), proxy_protocol: [\(peers)]}
      threads: 1
      clients: [{name: shop, from: [192.0.2.0/24]}]

      """ + (try Configuration.http())
    }
    let proxy = try ProxyProcess(try text("127.0.0.1:0", "127.0.0.2, 127.0.0.3"))
    defer { proxy.stop() }
    let header = BalancerHeader.line("192.0.2.7")
    let request = Array(ProxyProcess.request("GET", "http://api.test/").utf8)
    let (kept, removed) = (try proxy.connect(from: "127.0.0.2"), try proxy.connect(from: "127.0.0.3"))
    for client in [kept, removed] {
      try client.send(header + request)
      #expect(try client.readAnswer().status == 200)
    }
    // A head has begun on one, a header on the other.
    let (begun, late) = (try proxy.connect(from: "127.0.0.3"), try proxy.connect(from: "127.0.0.3"))
    try begun.send(header + request.prefix(10))
    try late.send(Array(header.prefix(20)))
    // The only loop answers this after it has read what was sent before.
    try kept.send(request)
    #expect(try kept.readAnswer().status == 200)
    try proxy.reload(try text(proxy.addresses[0], "127.0.0.2"))
    #expect(try removed.readToEnd().bytes.isEmpty)
    try begun.send(Array(request.dropFirst(10)))
    try late.send(header.dropFirst(20) + request)
    for client in [begun, late] {
      #expect(try client.readAnswer().status == 407)
      _ = try client.readToEnd()
    }
    try kept.send(request)
    #expect(try kept.readAnswer().status == 200)
  }
}

extension RawConnection {
  /// Waits for the first byte; false: the connection ended without one.
  fileprivate func staysOpen() throws -> Bool { try receive(before: Date(timeIntervalSinceNow: timeout)) }
}
