import Foundation
import Testing

/// CAs rotate under load: append, move first, remove, and back again.
@Suite struct PeerRotationTests {
  private static let reloads = 200

  @Test func `200 reloads with rotating CAs: no failed request of a client that has both roots, nothing left behind`() throws {
    let folder = try Surroundings.newFolder()
    for name in ["one", "two"] { try Authority.create("\(folder)/\(name)", for: "api.test") }
    let (one, two) = (Authority.item(folder + "/one"), Authority.item(folder + "/two"))
    let (origin, port) = try LoadGenerator.serve(size: 500)
    defer { origin.closeInput() }
    let base = """
      upstreams: [{match: "https://api.test", origin: "http://127.0.0.1:\(port)", credential: api}]
      credentials: {api: {bearer: {token: \(Configuration.token)}, allow_plaintext: true}}
      log: {access: false}
      admin: 127.0.0.1:0
      timeouts: {upstream_idle: 2s}
      intercept:
        publish: \(folder)/published

      """
    func configuration(_ authorities: String...) -> String { base + "  ca: [\(authorities.joined(separator: ", "))]\n" }
    let rotation = [
      configuration(one), configuration(one, two), configuration(two, one), configuration(two), configuration(two, one),
      configuration(one, two),
    ]
    try withProxy(rotation[1]) { proxy throws in
      let bundle = folder + "/both.pem"
      try FileManager.default.copyItem(atPath: folder + "/published/bundle.pem", toPath: bundle)
      let common = ["--ca", bundle, "--connect", "--requests", "50000000"]
      func load(_ options: String...) throws -> ChildProcess {
        try LoadGenerator.start(proxy, "https://api.test/", common + options, seconds: 120)
      }
      func rotate(_ count: Int) throws { for round in 0..<count { try proxy.reload(rotation[round % rotation.count]) } }
      // Warm, under the same load: from then on the process should need no more memory.
      var loads: [ChildProcess] = []
      func begin() throws {
        loads = [
          try load("--clients", "32", "--rate", "600"),
          try load("--clients", "16", "--rate", "80", "--new-connections", "fin"),
          try load("--clients", "16", "--rate", "80", "--new-connections", "fin", "--resume"),
        ]
      }
      func end(atLeast least: Int) throws {
        for child in loads { child.signal(SIGTERM) }
        for (what, child) in zip(["kept alive", "new connections", "with tickets"], loads) {
          let result = try LoadGenerator.result(child)
          #expect(result.failed == 0, "\(what): \(result)")
          #expect(result.statuses.keys.sorted() == ["200"], "\(what): \(result.statuses)")
          #expect(result.finished > least, "\(what): \(result)")
          print("\(what): \(result.finished) requests, p99 \(result.p99_us) µs, at most \(result.max_us) µs")
        }
      }
      try begin()
      try rotate(12)
      try end(atLeast: 10)
      func descriptors() throws -> Double { try #require(try proxy.metric("process_open_fds")) }
      let (before, open) = (try Measures.resident(proxy.pid), try descriptors())
      try begin()
      try rotate(Self.reloads)
      try end(atLeast: 200)
      // Pooled connections that are idle now end after their time-out.
      let isSettled = try eventually { try descriptors() <= open + 6 }
      let (after, stillOpen) = (try Measures.resident(proxy.pid), try descriptors())
      #expect(isSettled, "\(open) descriptors became \(stillOpen)")
      // The heap settles: 1,200 reloads need as much as 200.
      #expect(after <= before + 12 << 10, "KiB: \(before) became \(after)")
      print("resident: \(before) KiB, then \(after); descriptors: \(open), then \(stillOpen)")
    }
  }
}
