import Foundation
import Synchronization
import Testing

/// Credentials in the target while many requests are under way.
@Suite struct TargetReloadTests {
  @Test func `pipelined requests of two clients each carry their own entry's secret`() throws {
    let origin = try Origin()
    let entries = ["one", "two"].map {
      "  - {match: \($0).test, origin: \"http://127.0.0.1:\(origin.ports.http)\", credential: \($0)}"
    }
    let text = """
      threads: 1
      upstreams:
      \(entries.joined(separator: "\n"))
      credentials:
        one: {query: {name: key, value: one-5ecret}, allow_plaintext: true}
        two: {path: {segment: "{value}", value: two-longer-5ecret}, allow_plaintext: true}

      """
    try withProxy(text) { proxy throws in
      let clients = try (0..<2).map { _ in try proxy.connect() }
      let names = (0..<2).map { _ in Origin.newName() }
      for round in 0..<20 {
        for (client, name) in zip(clients, names) {
          let targets = [
            "http://one.test/\(round)/1?id=\(name)", "http://two.test/\(round)/2?id=\(name)",
            "http://one.test/\(round)/3?id=\(name)&key=x",
          ]
          try client.send(targets.map { ProxyProcess.request("GET", $0) }.joined())
        }
        for client in clients { for _ in 0..<3 { #expect(try client.readAnswer().status == 200) } }
      }
      for name in names {
        let seen = try origin.exchanges(name).map(\.target)
        let sent = (0..<20).flatMap { round in
          [
            "/\(round)/1?id=\(name)&key=one-5ecret", "/two-longer-5ecret/\(round)/2?id=\(name)",
            "/\(round)/3?id=\(name)&key=one-5ecret",
          ]
        }
        #expect(seen == sent)
      }
    }
  }

  @Test func `reloads under load leave no request with an old secret, or with two`() throws {
    func text(_ round: Int) throws -> String {
      try TargetCredential.query("v\(round)-5ecret\(String(repeating: "x", count: round * 7))", top: "threads: 2")
    }
    try withProxy(text(0)) { proxy throws in
      let listener = "listen: \(proxy.addresses[0])\n"
      let targets = Mutex<[String]>([])
      let isOver = Mutex(false)
      let group = DispatchGroup()
      for _ in 0..<4 {
        DispatchQueue.global().async(group: group) {
          while !isOver.withLock({ $0 }) {
            guard let received = try? proxy.ask("POST", "http://api.test/echo?a&key=own", body: "body").received() else {
              continue
            }
            targets.withLock { $0.append(received.target) }
          }
        }
      }
      for round in 1...6 {
        try proxy.reload(listener + text(round))
        let value = "v\(round)-5ecret\(String(repeating: "x", count: round * 7))"
        #expect(try proxy.ask("http://api.test/echo?a").received().target == "/echo?a&key=\(value)")
        let before = targets.withLock { $0.count }
        #expect(try eventually { targets.withLock { $0.count } >= before + 10 })
      }
      isOver.withLock { $0 = true }
      group.wait()
      let all = Set(targets.withLock { $0 })
      let known = (0...6).map { "/echo?a&key=v\($0)-5ecret\(String(repeating: "x", count: $0 * 7))" }
      #expect(all.isSubset(of: Set(known)) && all.count >= 6, "\(all)")
    }
  }
}
