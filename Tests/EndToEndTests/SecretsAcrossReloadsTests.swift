import Foundation
import Testing

/// A secret goes only to the origin that its own configuration gives it to, however both change, and in whatever state a
/// request is then.
@Suite struct SecretsAcrossReloadsTests {
  /// Where a request waits when the configuration changes.
  private enum Place: CaseIterable { case forToken, withRefusal, forConnection, forRepeat }

  private struct Sides {
    let one: SecretSide
    let two: SecretSide
    init() throws {
      let name = Origin.newName()
      one = try SecretSide("O1", name: name)
      two = try SecretSide("O2", name: name)
    }
    func url(_ path: String) -> String { one.server.url(path) }

    func expectNoForeignSecret(_ names: [String] = [], _ comment: String = "") throws {
      for side in [one, two] {
        let foreign = Dictionary(grouping: try side.foreignSecrets(exchanges: names)) { $0 }
        guard !foreign.isEmpty else { continue }
        let kinds = foreign.map { "\($0.value.count) times \($0.key)" }.sorted().prefix(5)
        Issue.record("\(comment): \(side.label) got \(kinds.joined(separator: ", "))")
      }
    }
  }

  private static let top = "log: {access: false}\nadmin: 127.0.0.1:0\ntimeouts: {credential: 30s, connect: 30s}"

  private func top(_ proxy: ProxyProcess) -> String {
    Self.top.replacingOccurrences(of: "admin: 127.0.0.1:0", with: "admin: 127.0.0.1:\(proxy.adminPort)")
      + "\nlisten: \(proxy.addresses[0])"
  }

  private static var changes: [(from: SecretSide.Kind, to: SecretSide.Kind)] {
    SecretSide.Kind.allCases.flatMap { from in SecretSide.Kind.allCases.map { (from, $0) } }
  }

  @Test func `requests after a reload carry the new credential only, to the new origin`() throws {
    each(Self.changes) { (from, to) in
      let sides = try Sides()
      try withProxy(sides.one.configuration(from, top: Self.top + "\nthreads: 2")) { proxy in
        let open = try (0..<8).map { _ in try proxy.connect() }
        func askAll() throws {
          for client in try open + (0..<8).map({ _ in try proxy.connect() }) {
            try client.send(ProxyProcess.request("GET", sides.url("x")))
            #expect(try client.readAnswer().status == 200, "\(from) to \(to)")
          }
        }
        try askAll()
        try proxy.reload(sides.two.configuration(to, top: top(proxy) + "\nthreads: 2"))
        try askAll()
        #expect(try sides.one.served == 16 && sides.two.served == 16, "\(from) to \(to)")
        try sides.expectNoForeignSecret([], "\(from) to \(to)")
      }
    }
  }

  @Test func `a request that waits at a reload takes no new secret to its old origin`() throws {
    var cases: [(place: Place, from: SecretSide.Kind, to: SecretSide.Kind)] = []
    for place in Place.allCases {
      for (from, to) in Self.changes where from == .oauth2 || place == .forConnection || place == .forRepeat {
        cases.append((place, from, to))
      }
    }
    each(cases) { (place, from, to) in try expectBound(place, from, to) }
  }

  private func expectBound(_ place: Place, _ from: SecretSide.Kind, _ to: SecretSide.Kind) throws {
    let sides = try Sides()
    let (server, origin) = (sides.one.server, sides.one.origin)
    let limit = "\nthreads: 1\nlimits: {upstream_connections: 1}"
    let entry = ", retry: {attempts: 1, backoff: 2s}"
    let what = "\(place), \(from) to \(to)"
    try withProxy(sides.one.configuration(from, entry: entry, top: Self.top + limit)) { proxy in
      let (client, other) = (try proxy.connect(), try proxy.connect())
      let (name, busy) = (Origin.newName(), Origin.newName())
      if place != .forToken { #expect(try proxy.ask(sides.url("first")).status == 200) }
      var target = sides.url("x")
      switch place {
      case .forToken: try server.holdNext()
      case .withRefusal:
        try sides.one.revoke()
        try server.holdNext()
      case .forConnection:
        try origin.script(busy, [.gate("on"), .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")])
        try other.send(ProxyProcess.request("GET", "http://api.test/?id=\(busy)"))
        try origin.await(busy, gate: "on")
      case .forRepeat:
        try origin.script(
          name, [.send("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n")],
          [.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")])
        target = "http://api.test/?id=\(name)"
      }
      try client.send(ProxyProcess.request("GET", target))
      switch place {
      case .forToken, .withRefusal:
        let gauge = #"authproxy_credential_waiting_requests{credential="api"}"#
        #expect(try eventually { try proxy.metric(gauge) == 1 }, "\(what)")
      // The only loop answers the next one itself, after it has read that.
      case .forConnection: #expect(try proxy.ask("http://unlisted.test/").status == 403)
      case .forRepeat: try origin.await(name, state: "complete")
      }

      try proxy.reload(sides.two.configuration(to, entry: entry, top: top(proxy) + limit))
      // The loop knows the new credential.
      #expect(try proxy.ask(sides.url("new")).status == 200, "\(what)")
      if place == .forToken || place == .withRefusal { try server.openGate() }
      if place == .forConnection {
        try origin.open("on", of: busy)
        #expect(try other.readAnswer().text == "ok")
      }
      let status = try client.readAnswer().status
      switch place {
      // The proxy no longer asks for a token of the old configuration, so there may be none.
      case .forToken: #expect([200, 503].contains(status), "\(what): \(status)")
      case .withRefusal: #expect([200, 401].contains(status), "\(what): \(status)")
      case .forConnection, .forRepeat: #expect(status == 200, "\(what): \(status)")
      }
      try sides.expectNoForeignSecret([name, busy], what)
    }
  }

  @Test(.timeLimit(.minutes(2))) func `fifty reloads under load show no secret to the wrong side`() throws {
    let sides = try Sides()
    for side in [sides.one, sides.two] { try side.server.set(#"{"delay": 0.03}"#) }
    // Each kind follows each. The side changes every time, so an odd number covers each change in both directions.
    let kinds: [SecretSide.Kind] = [.fixed, .fixed, .oauth2, .oauth2, .oauth2]
    try withProxy(sides.one.configuration(.fixed, top: Self.top + "\nthreads: 2")) { proxy in
      let load = try LoadGenerator.start(proxy, sides.url("x"), ["--clients", "24", "--requests", "10000000"])
      for number in 1...50 {
        let (next, present) = number.isMultiple(of: 2) ? (sides.one, sides.two) : (sides.two, sides.one)
        // When the configuration changes, refusals are held and requests wait for a token.
        if number.isMultiple(of: 3) { try present.revoke() }
        try next.acceptFixed()
        try proxy.reload(next.configuration(kinds[number % kinds.count], top: top(proxy) + "\nthreads: 2"))
        usleep(UInt32([0, 10, 40, 90][number % 4]) * 1000)
      }
      load.signal(SIGTERM)
      let result = try LoadGenerator.result(load)
      #expect(result.failed == 0, "\(result)")
      #expect(result.good > 500, "\(result)")
      for side in [sides.one, sides.two] { #expect(try side.served > 100, "\(side.label)") }
      try sides.expectNoForeignSecret([], "\(result)")
      // Everything works again afterwards.
      for side in [sides.one, sides.two] { try side.acceptFixed() }
      #expect(try proxy.ask(sides.url("last")).status == 200)
    }
  }
}
