import Foundation
import Testing

/// The store's limit holds for the process, whatever comes and whoever reads slowly.
@Suite struct PeerCacheLimitTests {
  private static let limit = 64 << 20
  /// The kernel takes over two of these mebibytes from the proxy, whatever the reader's buffer.
  private static let large = 8 << 20

  /// An app that has asked for a large answer, has read its head, and reads no more.
  private func slowReader(_ proxy: ProxyProcess, _ number: Int) throws -> RawConnection {
    let client = try proxy.connect(receiveBuffer: 4096)
    try client.send(ProxyProcess.request("GET", "http://large.test/\(number)"))
    _ = try client.read(through: "\r\n\r\n")
    return client
  }

  /// Asks for so many answers, each once, and looks meanwhile.
  private func scan(_ proxy: ProxyProcess, _ count: Int, _ meanwhile: () throws -> Void) throws {
    let options = ["--clients", "32", "--requests", "\(count)", "--distinct", "--verify"]
    let load = try LoadGenerator.start(proxy, "http://small.test/x?00000000", options, seconds: 300)
    while load.awaitEnd(seconds: 0.1) == nil { try meanwhile() }
    let result = try LoadGenerator.result(load)
    #expect(result.good == count && result.failed == 0 && result.mismatched == 0, "\(result)")
    print("\(count) answers in \(result.seconds) s")
  }

  @Test func `a hundred thousand answers, and slow readers of evicted ones, stay within it`() throws {
    let (small, smallPort) = try LoadGenerator.serve(size: 2000, fields: "Cache-Control: max-age=600")
    let (large, largePort) = try LoadGenerator.serve(size: Self.large, fields: "Cache-Control: max-age=600")
    defer {
      small.closeInput()
      large.closeInput()
    }
    let text = """
      admin: {address: 127.0.0.1:0, expose: [metrics, purge]}
      log: {access: false}
      limits: {cache: 64MiB}
      timeouts: {stall: 10m}
      upstreams:
        - {match: small.test, origin: "http://127.0.0.1:\(smallPort)", cache: {}}
        - {match: large.test, origin: "http://127.0.0.1:\(largePort)", cache: {max_object: 8MiB}}

      """
    try withProxy(text) { proxy throws in
      let start = try Measures(proxy.pid).resident
      var (mostBytes, mostResident) = (0.0, 0)
      func look() throws {
        mostBytes = max(mostBytes, try proxy.metric("authproxy_cache_bytes") ?? .infinity)
        mostResident = max(mostResident, try Measures(proxy.pid).resident)
      }
      var readers = try (0..<5).map { try slowReader(proxy, $0) }
      try scan(proxy, 100_000, look)
      print("KiB: \(start) at the start, at most \(mostResident); at most \(Int(mostBytes) >> 10) in the store")
      #expect(mostBytes <= Double(Self.limit))
      #expect(mostBytes > Double(Self.limit) * 0.9)
      #expect(mostResident - start < (64 + 12) << 10)
      #expect(try proxy.metric(#"authproxy_cache_evictions_total{reason="space"}"#) ?? 0 > 50_000)
      // They are evicted, as new answers of their kind are. Over half of the store is held now: nothing more is stored.
      readers += try (5..<10).map { try slowReader(proxy, $0) }
      try scan(proxy, 20_000, look)
      #expect(try proxy.ask("http://small.test/new").cacheStatus == "fwd=uri-miss; detail=full")
      #expect(mostBytes <= Double(Self.limit))
      // Answers of another size leave holes, which are given back before large ones come.
      print("KiB: at most \(mostResident) with answers of two sizes")
      #expect(mostResident - start < (64 + 12) << 10)
      let whole = try proxy.ask("http://large.test/whole").body
      for reader in readers { #expect(try reader.read(Self.large) == whole) }
      readers = []
      #expect(try eventually { try proxy.ask("http://small.test/new").cacheStatus?.contains("full") == false })
      let purge = try proxy.admin(
        "cache/purge", method: "POST", fields: [("Content-Type", "application/json")], body: "{}")
      #expect(purge.status == 200)
      #expect(try eventually { try proxy.metric("authproxy_cache_bytes") == 0 })
    }
  }
}
