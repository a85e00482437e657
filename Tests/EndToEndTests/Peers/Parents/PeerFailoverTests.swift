import Foundation
import Testing

/// Two parents under load, one of which dies and comes back. Takes a minute.
@Suite(.serialized) struct PeerFailoverTests {
  private static let rate = 200
  private static let kills = 10
  /// Longest first pause of a parent that is down, jitter included, in seconds.
  private static let longestPause = 6.25

  private struct Pair {
    let parents: [ParentServer]
    let relays: [Relay]
    let folder: String

    init(logins: [String] = [ParentServer.login, ParentServer.login]) throws {
      parents = try logins.map { login in
        let parent = try ParentServer()
        try parent.set(#"{"login": "\#(login)"}"#)
        return parent
      }
      relays = try parents.map { try Relay(to: $0.ports.http) }
      folder = try Surroundings.newFolder()
      try write("pw-5ecret-parent")
    }

    func write(_ password: String) throws { try Authority.replace(folder + "/password", with: password, mode: 0o600) }

    func configuration(_ port: Int, via: String = "[one, two]") -> String {
      let logins = ["one", "two"].map { "  \($0): {basic: {username: proxyuser, password: {file: \"\(folder)/password\"}}}" }
      return """
        via: \(via)
        parents:
          one: {url: "http://127.0.0.1:\(relays[0].port)", credential: one, tunnel_http: true}
          two: {url: "http://127.0.0.1:\(relays[1].port)", credential: two, tunnel_http: true}
        upstreams: [{match: api.test, origin: "http://localhost:\(port)"}]
        admin: 127.0.0.1:0
        watch_files: off
        threads: 2
        credentials:
        \(logins.joined(separator: "\n"))

        """
    }
  }

  private func isUp(_ proxy: ProxyProcess) throws -> Bool { try proxy.metric(#"authproxy_parent_up{parent="one"}"#) == 1 }

  @Test func `a parent that dies ten times costs what was in flight on it, and is preferred again within its pause`() throws {
    let (pair, served) = (try Pair(), try LoadGenerator.serve())
    defer { served.process.closeInput() }
    let (one, two) = (pair.relays[0], pair.relays[1])
    let configuration = pair.configuration(served.port)
    try withProxy(configuration) { proxy throws in
      let load = try LoadGenerator.start(
        proxy, "http://api.test/", ["--clients", "200", "--rate", "\(Self.rate)", "--requests", "1000000"], seconds: 110)
      #expect(try eventually { try one.state().opened.count > 0 })
      var inFlight = 0
      for round in 0..<Self.kills {
        let before = try one.state()
        // By turns: its connections are refused, or accepted and reset.
        let dead = round % 2 == 0 ? try one.refuse() : try one.reset()
        inFlight += dead.inFlight
        #expect(try eventually { try !isUp(proxy) }, "\(round)")
        if round == 4 { try changePassword(of: pair, proxy, configuration) }
        usleep(700_000)
        let back = try one.serve()
        // Several find it dead at once; from then on nobody asks for 5 s.
        let asked = back.opened.dropFirst(before.opened.count).filter { $0 > before.now + 0.5 }
        #expect(asked.isEmpty, "round \(round): \(asked.map { $0 - before.now })")
        #expect(try eventually(seconds: Self.longestPause + 1) { try isUp(proxy) }, "round \(round)")
        let preferred = try #require(try one.state().opened.dropFirst(back.opened.count).first)
        let pause = preferred - dead.now
        #expect(pause > 4.5 && pause < Self.longestPause + 1, "round \(round): \(pause) s")
        // And by all.
        usleep(200_000)
        let others = try two.state().opened.count
        usleep(300_000)
        #expect(try two.state().opened.count == others, "round \(round)")
      }
      load.signal(SIGTERM)
      let done = try LoadGenerator.result(load)
      let refused = done.finished - done.good
      print(
        "failover: \(done.finished) requests, \(refused) failed, \(inFlight) in flight when their parent died: \(done.statuses)"
      )
      #expect(done.finished > 5_000 && refused <= inFlight)
    }
  }

  /// While one parent is dead: a reload brings what both want from now on.
  private func changePassword(of pair: Pair, _ proxy: ProxyProcess, _ configuration: String) throws {
    try pair.write("new-5ecret-parent")
    for parent in pair.parents { try parent.set(#"{"login": "proxyuser:new-5ecret-parent"}"#) }
    try proxy.reload(configuration)
  }

  @Test(arguments: ["[one, two]", "[one, direct]"])
  func `a 403 leads 200 clients nowhere else`(_ via: String) throws {
    let (pair, served) = (try Pair(), try LoadGenerator.serve())
    defer { served.process.closeInput() }
    try pair.parents[0].set(#"{"answer": "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n"}"#)
    try withProxy(pair.configuration(served.port, via: via)) { proxy throws in
      let done = try LoadGenerator.load(proxy, "http://api.test/", "--clients", "200", "--requests", "1000")
      #expect(done.statuses == ["502": 1000], "\(done)")
      #expect(try pair.parents[1].asked().isEmpty)
      // One answer is for all that wait for a connection.
      #expect(try (1...1000).contains(pair.parents[0].asked().count))
    }
  }

  @Test(arguments: ["[one, two]", "[one, direct]"])
  func `a wrong password is sent once for 200 clients, and leads nowhere else`(_ via: String) throws {
    let (pair, served) = (try Pair(), try LoadGenerator.serve())
    defer { served.process.closeInput() }
    try pair.parents[0].set(#"{"login": "proxyuser:other"}"#)
    try withProxy(pair.configuration(served.port, via: via)) { proxy throws in
      let done = try LoadGenerator.load(proxy, "http://api.test/", "--clients", "200", "--requests", "1000")
      #expect(done.statuses == ["502": 1000], "\(done)")
      #expect(try pair.parents[0].asked().count == 1 && pair.parents[1].asked().isEmpty)
    }
  }
}
