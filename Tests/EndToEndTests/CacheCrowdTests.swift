import Foundation
import Testing

/// A thousand identical requests at once, on four loops.
@Suite struct CacheCrowdTests {
  private static let count = 1000
  private static let size = 64 << 10

  private let origin: Origin
  init() throws { origin = try Origin.shared() }

  private func configuration() throws -> String {
    let top = "threads: 4\nadmin: 127.0.0.1:0\nlog: {access: false}\nlimits: {upstream_connections: 4000}"
    return try Configuration.http("cache: {}", "timeouts: {collapse: 2m, connect: 1m, response_head: 2m}", top: top)
  }

  private func begin(_ proxy: ProxyProcess, _ name: String, _ options: String...) throws -> ChildProcess {
    let load = ["--clients", "\(Self.count)", "--requests", "\(Self.count)", "--verify"]
    return try LoadGenerator.start(proxy, "http://api.test/?id=\(name)", load + options)
  }

  private func isWaiting(_ count: Int, _ proxy: ProxyProcess) throws -> Bool {
    try eventually(seconds: 60) { try proxy.metric("authproxy_cache_waiting_requests") == Double(count) }
  }

  @Test func `they are one request to the origin, and the body is kept once`() throws {
    let name = Origin.newName()
    let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: \(Self.size)\r\n\r\n"
    try origin.script(name, [.gate("head"), .send(head), .pattern(Self.size)])
    try withProxy(try configuration()) { proxy throws in
      let before = try Measures(proxy.pid, resettingPeak: true)
      let load = try begin(proxy, name)
      try origin.await(name, gate: "head", seconds: 60)
      #expect(try isWaiting(Self.count - 1, proxy))
      let waiting = try Measures(proxy.pid)
      try origin.open("head", of: name)
      let result = try LoadGenerator.result(load)
      #expect(result.good == Self.count && result.mismatched == 0 && result.failed == 0, "\(result)")
      #expect(result.bytes == Self.count * Self.size)
      #expect(try origin.exchanges(name).count == 1)
      #expect(try proxy.metric("authproxy_cache_waiting_requests") == 0)
      let after = try Measures(proxy.pid)
      print("KiB: before \(before.resident), waiting \(waiting.resident), at most \(after.residentPeak)")
      // A copy for each of them would be 64,000.
      #expect(after.residentPeak - before.resident < 24_000)
    }
  }

  @Test func `what must not be stored is fetched by all of the others at once, and the next ones do not wait`() throws {
    let name = Origin.newName()
    let answer = "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 1000\r\n\r\n"
    try origin.script(name, [.gate("head"), .send(answer), .pattern(1000)])
    try withProxy(try configuration()) { proxy throws in
      let load = try begin(proxy, name)
      try origin.await(name, gate: "head", seconds: 60)
      #expect(try isWaiting(Self.count - 1, proxy))
      try origin.open("head", of: name)
      // None of these has an answer yet.
      try origin.await(name, count: Self.count - 1, gate: "head", seconds: 30)
      #expect(try proxy.metric("authproxy_cache_waiting_requests") == 0)
      try origin.open("head", of: name, count: Self.count - 1)
      let result = try LoadGenerator.result(load)
      #expect(result.good == Self.count && result.mismatched == 0 && result.failed == 0, "\(result)")
      let late = try (0..<3).map { _ in try proxy.connect() }
      for client in late { try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)")) }
      try origin.await(name, count: late.count, gate: "head")
      try origin.open("head", of: name, count: late.count)
      for client in late { #expect(try client.readAnswer().status == 200) }
      #expect(try origin.exchanges(name).count == Self.count + late.count)
    }
  }
}
