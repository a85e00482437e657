import Foundation
import Testing

/// Very many handshakes, finished and not: what they cost in memory, and in the time of others.
@Suite(.serialized) struct PeerHandshakeCrowdTests {
  private func configuration(_ served: Int, match: String = "https://api.test") throws -> String {
    """
    limits: {connections: 4000}
    timeouts: {handshake: 60s}
    upstreams:
      - {match: "\(match)", origin: "http://localhost:\(served)"}
      - {match: clear.test, origin: "http://localhost:\(served)"}
    intercept: {ca: {generate: ca}}

    """
  }

  private func resident(_ proxy: ProxyProcess) throws -> Int { try Measures.resident(proxy.pid) }

  @Test func `10,000 names under a wildcard take no more memory than the cache`() throws {
    let served = try LoadGenerator.serve()
    defer { served.process.closeInput() }
    try withProxy(try configuration(served.port, match: "https://*.wild.test")) { proxy throws in
      func visit(_ count: Int) throws {
        let done = try LoadGenerator.load(
          proxy, "https://h00000.wild.test/", "--ca", proxy.root, "--connect", "--names", "--new-connections", "fin",
          "--requests", String(count))
        #expect(done.good == count, "\(done)")
      }
      // The cache is full.
      try visit(1_000)
      let before = try resident(proxy)
      try visit(10_000)
      let growth = try resident(proxy) - before
      print("10,000 names: \(growth) KiB more")
      #expect(growth < 16 << 10, "\(growth) KiB")
    }
  }

  @Test func `1,000 half handshakes hold nobody up`() throws {
    let served = try LoadGenerator.serve()
    defer { served.process.closeInput() }
    try withProxy(try configuration(served.port)) { proxy throws in
      let file = proxy.folder + "/hello"
      let made = try ChildProcess.run(
        Surroundings.python,
        [
          "-c",
          """
          import ssl
          hello = ssl.MemoryBIO()
          tls = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), hello, server_hostname="api.test")
          try: tls.do_handshake()
          except ssl.SSLWantReadError: pass
          data = hello.read()
          open("\(file)", "wb").write(data[:len(data) // 2])
          """,
        ])
      try #require(made.status == .exited(0), "\(made.errors)")
      let before = try resident(proxy)
      let held = try LoadGenerator.hold(
        proxy, connections: 1_000,
        ["--send", "CONNECT api.test:443 HTTP/1.1\\r\\nHost: api.test:443\\r\\n\\r\\n", "--behind", file, "--answered"])
      #expect(held.count == 1_000)
      let each = (try resident(proxy) - before) * 1024 / 1_000
      print("a half handshake: \(each) bytes")
      #expect(each < 64 << 10)
      let other = try LoadGenerator.load(
        proxy, "http://clear.test/", "--clients", "4", "--rate", "300", "--requests", "1500")
      print("p99 beside them: \(other.p99_us) us")
      #expect(other.good == 1_500 && other.p99_us < 50_000, "\(other)")
      #expect(try held.release().open == 1_000)
    }
  }

  @Test func `a flood of handshakes holds nobody up`() throws {
    let served = try LoadGenerator.serve()
    defer { served.process.closeInput() }
    try withProxy(try configuration(served.port)) { proxy throws in
      let flood = try LoadGenerator.start(
        proxy, "https://api.test/",
        ["--ca", proxy.root, "--connect", "--new-connections", "rst", "--clients", "200", "--requests", "6000"])
      let other = try LoadGenerator.load(
        proxy, "http://clear.test/", "--clients", "4", "--rate", "200", "--requests", "600")
      print("p99 beside 200 clients that only shake hands: \(other.p99_us) us")
      // The load generator and the flood share the machine with the proxy.
      #expect(other.good == 600 && other.p99_us < 250_000, "\(other)")
      #expect(try LoadGenerator.result(flood).good == 6_000)
    }
  }

  @Test func `an idle intercepted connection takes at most 48 KiB`() throws {
    let served = try LoadGenerator.serve()
    defer { served.process.closeInput() }
    try withProxy(try configuration(served.port)) { proxy throws in
      let arguments = ["--ca", proxy.root, "--connect", "--hold"]
      _ = try LoadGenerator.load(proxy, "https://api.test/", "--ca", proxy.root, "--connect", "--requests", "100")
      let before = try resident(proxy)
      let holder = try LoadGenerator.start(
        proxy, "https://api.test/", arguments + ["--clients", "500", "--requests", "500"])
      #expect(holder.awaitLine(seconds: 60) { $0.contains("\"good\": 500") } != nil, "\(holder.output)\(holder.errors)")
      let each = (try resident(proxy) - before) * 1024 / 500
      print("an idle intercepted connection: \(each) bytes")
      #expect(each <= 48 << 10)
      holder.closeInput()
      #expect(holder.awaitEnd(seconds: 20) == .exited(0))
    }
  }
}
