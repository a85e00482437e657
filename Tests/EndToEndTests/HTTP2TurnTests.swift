import Foundation
import Testing

/// A busy connection gives its place to requests of others, for which there is no connection.
@Suite struct HTTP2TurnTests {
  /// Two credentials, and one connection for both.
  private static func configuration(_ origin: HTTP2Origin) -> String {
    """
    threads: 1
    limits: {upstream_connections: 1}
    timeouts: {connect: 20s}
    upstreams:
      - {match: one.test, origin: "\(origin.url)", http_version: auto, credential: one}
      - {match: two.test, origin: "\(origin.url)", http_version: auto, credential: two}
    credentials:
      one: {bearer: {token: 5ecret-one}}
      two: {bearer: {token: 5ecret-two}}
    """
  }

  private static func send(_ id: String, to name: String, _ proxy: ProxyProcess) throws -> RawConnection {
    let client = try proxy.connect()
    client.timeout = 30
    try client.send(ProxyProcess.request("GET", "http://\(name).test/?id=\(id)"))
    return client
  }

  /// The same, once the origin has the request; its answer waits at a gate.
  private static func hold(_ id: String, _ proxy: ProxyProcess, _ origin: HTTP2Origin) throws -> RawConnection {
    try origin.script(id, [.awaitEnd, .gate(id)] + HTTP2Origin.Step.answer(id))
    let client = try send(id, to: "one", proxy)
    try origin.await(.standing, of: id)
    return client
  }

  /// Nanoseconds for which requests of a pool go first, and a little more, in microseconds.
  private static let turn: UInt32 = 150_000

  @Test func `a connection that is never idle ends when its turn is over`() throws {
    let origin = try HTTP2Origin()
    try withProxy(Self.configuration(origin)) { proxy throws in
      let first = try Self.hold("first", proxy, origin)
      let second = try Self.hold("second", proxy, origin)
      let other = try Self.send("other", to: "two", proxy)
      #expect(other.staysSilent(for: 0.2))
      try origin.open("first")
      #expect(try first.readAnswer().text == "first")
      let third = try Self.hold("third", proxy, origin)
      usleep(Self.turn)
      try origin.open("second")
      #expect(try second.readAnswer().text == "second")
      let late = try Self.send("late", to: "one", proxy)
      #expect(late.staysSilent(for: 0.2))
      try origin.open("third")
      #expect(try third.readAnswer().text == "third")
      let told = try other.readAnswer().told()
      #expect(told.connection == 2 && told["authorization"] == "Bearer 5ecret-two")
      #expect(try late.readAnswer().told().connection == 3)
    }
  }

  @Test func `one that does not become idle goes on`() throws {
    let origin = try HTTP2Origin()
    try withProxy(Self.configuration(origin)) { proxy throws in
      let long = try Self.hold("long", proxy, origin)
      let other = try Self.send("other", to: "two", proxy)
      #expect(other.staysSilent(for: 0.2))
      for _ in 0..<2 {
        #expect(try Self.send("short", to: "one", proxy).readAnswer().told().connection == 1)
        usleep(Self.turn)
      }
      let late = try Self.send("late", to: "one", proxy)
      #expect(late.staysSilent(for: 0.5))
      #expect(try late.readAnswer().told().connection == 1)
      try origin.open("long")
      #expect(try long.readAnswer().text == "long")
      #expect(try other.readAnswer().told().connection == 2)
    }
  }

  @Test func `a credential that is always busy lets another of the same client have its turn`() throws {
    let origin = try HTTP2Origin()
    // One request at once: the client's share, and the connection's.
    let configuration = Self.configuration(origin).replacing(
      "upstream_connections: 1", with: "upstream_connections: 1, upstream_streams: 1")
    try withProxy(configuration) { proxy throws in
      let isOver = Monitor(false)
      let left = Monitor(4)
      for _ in 0..<4 {
        let client = Monitor(try proxy.connect())
        let thread = Thread {
          while isOver.change({ !$0 }) {
            let answer = try? client.change { client in
              client.timeout = 20
              try client.send(ProxyProcess.request("GET", "http://one.test/"))
              return try client.readAnswer()
            }
            if answer?.status != 200 { break }
          }
          left.change { $0 -= 1 }
        }
        thread.start()
      }
      try origin.await(.requests, 8)
      for _ in 0..<2 {
        let answer = try Self.send("other", to: "two", proxy).readAnswer()
        #expect(try answer.told()["authorization"] == "Bearer 5ecret-two")
      }
      isOver.change { $0 = true }
      #expect(left.wait(60) { $0 == 0 ? true : nil } == true)
    }
  }

  @Test func `loops take turns`() throws {
    let origin = try HTTP2Origin()
    try origin.script("step", HTTP2Origin.Step.answer("ok"))
    let top = "threads: 2\nlimits: {upstream_connections: 1}\ntimeouts: {connect: 8s}"
    try withProxy(origin.configuration(top: top)) { proxy throws in
      // Loops differ by a few connections at most.
      let failures = Monitor<[String]>([])
      let left = Monitor(16)
      for _ in 0..<16 {
        let client = Monitor(try proxy.connect())
        let thread = Thread {
          do {
            for _ in 0..<20 {
              let answer = try client.change { client in
                client.timeout = 20
                try client.send(ProxyProcess.request("GET", "http://api.test/?id=step"))
                return try client.readAnswer()
              }
              if answer.status != 200 { failures.change { $0.append(answer.head) } }
            }
          } catch { failures.change { $0.append("\(error)") } }
          left.change { $0 -= 1 }
        }
        thread.start()
      }
      #expect(left.wait(60) { $0 == 0 ? true : nil } == true)
      let found = failures.change { $0 }
      #expect(found.isEmpty, "\(found.count): \(found.prefix(3))")
    }
  }
}
