import Foundation
import Testing

/// Everything at once, while the configuration changes: no client may notice.
@Suite struct MixedLoadTests {
  private static let seconds = ProcessInfo.processInfo.environment["AUTHPROXY_LOAD_SECONDS"].flatMap { Double($0) } ?? 60

  /// One configuration, from the parts that reloads change.
  private struct Parts {
    var port: Int
    var secondPort: Int?
    var isWide = false
    var token = "tok-5ecret-0"
    var minimum = "tls1.2"
    var others: [String] = []
    let origins: (fast: Int, bulk: Int, https: Int)
    let ca: String

    var text: String {
      var lines = ["listen:"]
      lines.append("  - {address: \"\(isWide ? "0.0.0.0" : "127.0.0.1"):\(port)\", clients: optional}")
      if let secondPort { lines.append("  - 127.0.0.1:\(secondPort)") }
      lines += [
        "admin: 127.0.0.1:0", "log: {access: false}", "timeouts: {upstream_idle: 2s}", "upstreams:",
        "  - {match: fast.test, origin: \"http://127.0.0.1:\(origins.fast)\", credential: api}",
        "  - {match: bulk.test, origin: \"http://127.0.0.1:\(origins.bulk)\", credential: api}",
        "  - {match: tls.test, origin: \"https://localhost:\(origins.https)\", credential: api, trust: own}",
      ]
      lines += others.map { "  - {match: \($0), origin: \"http://127.0.0.1:1\"}" }
      lines += [
        "credentials:", "  api:", "    bearer: {token: \(token)}", "    allow_plaintext: true", "trust:", "  own:",
        "    - default: {ca_file: \(ca), system_roots: false, min_version: \(minimum)}",
      ]
      return lines.joined(separator: "\n") + "\n"
    }
  }

  @Test func `100 reloads of every kind under mixed load: no failed request, no lost byte, nothing left behind`() throws {
    let (fast, bulk) = (try LoadGenerator.serve(size: 2000), try LoadGenerator.serve(size: 400_000))
    defer { for process in [fast.process, bulk.process] { process.closeInput() } }
    let origin = try Origin()
    let reserved = (try ReservedPort(), try ReservedPort())
    var parts = Parts(
      port: reserved.0.port, origins: (fast.port, bulk.port, origin.ports.https), ca: try Surroundings.pki() + "/ca.pem")
    try withProxy(parts.text) { proxy in
      let endless = ["--requests", "50000000", "--verify"]
      func load(_ host: String, _ options: [String], path: String = "/") throws -> ChildProcess {
        try LoadGenerator.start(proxy, "http://\(host)\(path)", endless + options, seconds: Int(Self.seconds) + 60)
      }
      // Warm: from now on the process should need no more memory.
      _ = try LoadGenerator.load(proxy, "http://fast.test/", "--clients", "16", "--requests", "2000")
      _ = try proxy.ask("http://tls.test/")
      let before = try Measures(proxy.pid)

      let loads: [(String, ChildProcess)] = [
        ("kept-alive", try load("fast.test", ["--clients", "8", "--rate", "800"])),
        ("new connections", try load("fast.test", ["--clients", "32", "--rate", "150", "--new-connections", "fin"])),
        ("uploads", try load("fast.test", ["--clients", "4", "--rate", "60", "--upload", "300000"])),
        ("slow readers", try load("bulk.test", ["--clients", "4", "--slow", "4000"])),
        ("TLS", try load("tls.test", ["--clients", "4", "--rate", "60"], path: "/bytes/20000")),
      ]
      let reloads = 100
      let pause = UInt32(Self.seconds / Double(reloads) * 1_000_000)
      let second = reserved.1.port
      for round in 0..<reloads {
        var mark = "configuration reloaded"
        var text: String?
        switch round % 10 {
        case 0: mark = #""changed":"false""#
        case 1: parts.others.append("new\(round).test")
        case 2: parts.token = "tok-5ecret-\(round)"
        case 3, 7: parts.minimum = parts.minimum == "tls1.2" ? "tls1.3" : "tls1.2"
        case 4:
          text = parts.text + "nonsense: [\n"
          mark = "reload failed"
        case 5: parts.secondPort = second
        case 6: parts.isWide.toggle()
        case 8: parts.secondPort = nil
        default: parts.others = []
        }
        try proxy.reload(text ?? parts.text, expecting: mark)
        usleep(pause)
      }
      for (_, child) in loads { child.signal(SIGTERM) }
      for (what, child) in loads {
        let result = try LoadGenerator.result(child)
        #expect(result.failed == 0 && result.mismatched == 0, "\(what): \(result)")
        #expect(result.statuses.keys.sorted() == ["200"], "\(what): \(result.statuses)")
        #expect(result.finished > Int(Self.seconds), "\(what): \(result)")
        print("\(what): \(result.finished) requests, p99 \(result.p99_us) µs, at most \(result.max_us) µs")
      }
      // Pooled connections that are now idle end after their time-out.
      let after = try #require(try settled(proxy, descriptors: before.descriptors + 6))
      #expect(after.descriptors <= before.descriptors + 6, "\(before.descriptors) became \(after.descriptors)")
      #expect(after.resident <= before.resident + 12 << 10, "KiB: \(before.resident) became \(after.resident)")
    }
  }

  private func settled(_ proxy: ProxyProcess, descriptors: Int) throws -> Measures? {
    var last: Measures?
    _ = try eventually(seconds: 10) {
      last = try Measures(proxy.pid)
      return last.map { $0.descriptors <= descriptors } ?? false
    }
    return last
  }
}
