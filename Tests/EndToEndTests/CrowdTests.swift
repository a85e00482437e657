import Foundation
import Glibc
import Testing

/// Crowds of clients that do little. Memory per client is small, and the same for the next crowd. Nobody else waits.
@Suite(.serialized) struct CrowdTests {
  private func crowd(
    _ proxy: ProxyProcess, _ count: Int, perClient: Int, growth: Int = 4 << 10, options: [String],
    _ during: () throws -> Void = {}
  ) throws {
    // Repeated, as a later crowd shows whether the earlier ones left anything behind.
    var peaks: [Int] = []
    #expect(try LoadGenerator.load(proxy, "http://api.test/", "--clients", "32", "--requests", "500").good == 500)
    let before = try Measures(proxy.pid)
    for _ in 0..<3 {
      let held = try LoadGenerator.hold(proxy, connections: count, options)
      #expect(held.count == count)
      try during()
      let others = try LoadGenerator.load(proxy, "http://api.test/", "--clients", "4", "--requests", "400")
      #expect(others.good == 400)
      #expect(others.max_us < 1_000_000, "\(others)")
      peaks.append(try Measures(proxy.pid).resident)
      let outcome = try held.release()
      #expect(outcome.open == count, "\(outcome)")
      let settled = try eventually { try Measures(proxy.pid).descriptors < before.descriptors + 40 }
      #expect(settled)
    }
    let each = ((peaks.max() ?? 0) - before.resident) * 1024 / count
    print("\(count) clients: \(each) bytes each, \(before.resident) KiB before, then \(peaks) KiB")
    #expect(each <= perClient, "\(each) bytes a client")
    #expect(peaks[2] - peaks[0] < growth, "\(peaks)")
  }

  private func configuration(_ more: String = "", origin: Int? = nil) throws -> String {
    try Configuration.http(
      top:
        "log: {access: false}\nlimits: {connections: 15000, upstream_connections: 4000}\ntimeouts: {upstream_idle: 500ms}\n\(more)",
      port: origin)
  }

  @Test func `10,000 idle clients cost at most 2 KiB each`() throws {
    let (server, port) = try LoadGenerator.serve()
    defer { server.closeInput() }
    try withProxy(try configuration(origin: port)) { proxy in
      try crowd(
        proxy, 10_000, perClient: 2048,
        options: ["--answered", "--send", "GET http://api.test/ HTTP/1.1\\r\\nHost: api.test\\r\\n\\r\\n"])
    }
  }

  @Test func `1,000 clients with slow heads cost little`() throws {
    let (server, port) = try LoadGenerator.serve()
    defer { server.closeInput() }
    try withProxy(try configuration(origin: port)) { proxy in
      try crowd(
        proxy, 1_000, perClient: 24 << 10,
        options: [
          "--send", "GET http://api.test/ HTTP/1.1\\r\\nHost: api.test\\r\\nX-Slow: ", "--trickle", "x", "--every", "100",
        ])
    }
  }

  @Test func `1,000 stalled uploads cost little`() throws {
    let origin = try Origin()
    try withProxy(try configuration(origin: origin.ports.http)) { proxy in
      let name = Origin.newName()
      var expected = 0
      try crowd(
        proxy, 1_000, perClient: 8 << 10, growth: 4 << 10,
        options: [
          "--send",
          "POST http://api.test/upload?id=\(name) HTTP/1.1\\r\\nHost: api.test\\r\\nContent-Length: 1000000\\r\\n\\r\\nhello",
        ]
      ) {
        expected += 1_000
        try origin.await(name, count: expected, seconds: 30)
      }
    }
  }

  @Test func `200 stalled downloads cost little`() throws {
    var files = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &files)
    files.rlim_cur = files.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &files)
    let (server, port) = try LoadGenerator.serve(size: 4 << 20)
    defer { server.closeInput() }
    try withProxy(try configuration(origin: port)) { proxy throws in
      #expect(try proxy.ask("http://api.test/").body.count == 4 << 20)
      let before = try Measures(proxy.pid)
      // Small windows and large bodies, so that data waits in the proxy and not only in the kernel. Not more of them, as they
      // would use up the kernel's memory for TCP (net.ipv4.tcp_mem) and slow down every connection of the machine.
      var readers: [RawConnection] = []
      for _ in 0..<200 {
        let reader = try proxy.connect(receiveBuffer: 4096)
        try reader.send(ProxyProcess.request("GET", "http://api.test/"))
        try #require(try reader.readHead().status == 200)
        readers.append(reader)
      }
      Thread.sleep(forTimeInterval: 0.5)
      let each = (try Measures(proxy.pid).resident - before.resident) * 1024 / readers.count
      print("200 stalled downloads: \(each) bytes each")
      #expect(each <= 160 << 10, "\(each) bytes a client")
      // A client that reads on gets more.
      readers[100].timeout = 30
      #expect(try readers[100].read(64 << 10).count == 64 << 10)
    }
  }
}
