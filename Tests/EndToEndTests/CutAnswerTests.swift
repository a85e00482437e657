import Foundation
import Glibc
import Testing

/// An origin that stops in the middle of anything, for any time, delays nobody else. A response that it breaks off never looks
/// complete.
@Suite(.serialized) struct CutAnswerTests {
  @Test(arguments: Wire.allCases) func `a relayed answer that is cut anywhere waits without work, and goes on or breaks`(
    wire: Wire
  ) throws {
    try Self.run(CutAnswers.relayed, wire)
  }

  @Test(arguments: Wire.allCases) func `a held refusal that is cut anywhere waits without work, and is replaced or relayed`(
    wire: Wire
  ) throws {
    try Self.run(CutAnswers.held, wire)
  }

  @Test(arguments: Wire.allCases) func `an answer to be repeated that is cut anywhere waits without work, and is repeated`(
    wire: Wire
  ) throws {
    try Self.run(CutAnswers.retried, wire)
  }

  @Test(arguments: Wire.allCases) func `an answer that is cut anywhere and never goes on ends in time, and never looks whole`(
    wire: Wire
  ) throws {
    try Self.runStalled(CutAnswers.relayed + CutAnswers.held + CutAnswers.retried, wire)
  }

  // MARK: The run

  /// All responses, cut everywhere, at the same time on one loop.
  private static func run(_ answers: [CutAnswer], _ wire: Wire) throws {
    let origin = try Origin.hostile()
    let servers = (refreshed: try TokenServer(origin: origin), refused: try TokenServer(origin: origin))
    let hosts = Set(answers.map(\.host)).sorted()
    let cuts = answers.flatMap { Cut.all(of: $0, wire, [.goesOn, .resets, .aborts]) }
    try withProxy(configuration(hosts, try wire.url(origin), servers)) { proxy in
      let clients = try begin(cuts, hosts, origin, servers, proxy)
      expectEarlyBytes(cuts, clients)
      try expectNoWork(proxy, hosts)
      try origin.release("cut")
      if hosts.contains("refreshed.test") { try servers.refreshed.openGate() }
      if hosts.contains("refused.test") { try servers.refused.openGate() }
      expectNoFaults(cuts, clients, seconds: 10)
      // The connections that remain in the pool are usable.
      try expectOwnAnswers(origin, wire, proxy, hosts)
    }
  }

  /// The same, and the origin sends nothing more. The refreshed tokens come, the others don't.
  private static func runStalled(_ answers: [CutAnswer], _ wire: Wire) throws {
    let origin = try Origin.hostile()
    let servers = (refreshed: try TokenServer(origin: origin), refused: try TokenServer(origin: origin))
    let hosts = Set(answers.map(\.host)).sorted()
    let cuts = answers.flatMap { Cut.all(of: $0, wire, [.stalls]) }
    let timeouts = "stall: 4s, response_head: 4s, tunnel: 4s, credential: 4s"
    try withProxy(configuration(hosts, try wire.url(origin), servers, timeouts: timeouts)) { proxy in
      let clients = try begin(cuts, hosts, origin, servers, proxy)
      if hosts.contains("refreshed.test") { try servers.refreshed.openGate() }
      // A head and a body can each take four seconds. Less would also end exchanges of an origin that has no processor.
      expectNoFaults(cuts, clients, seconds: 14)
      // The origin still counts those that the proxy has closed.
      try expectOwnAnswers(origin, wire, proxy, hosts, atMost: 40)
    }
  }

  /// Sends the requests, and waits until each response has come to its cut. Token requests are held.
  private static func begin(
    _ cuts: [Cut], _ hosts: [String], _ origin: Origin, _ servers: (refreshed: TokenServer, refused: TokenServer),
    _ proxy: ProxyProcess
  ) throws -> [RawConnection] {
    try origin.scripts(Dictionary(uniqueKeysWithValues: cuts.map { ($0.id, $0.script(standingAt: "cut")) }))
    // Fetch tokens, and hold the next fetches.
    for host in hosts { #expect(try proxy.ask("http://\(host)/").status == 200) }
    try servers.refreshed.holdNext()
    try servers.refused.set(#"{"queue": [{"gate": "on", "status": 500}]}"#)
    let clients = try cuts.map { _ in try proxy.connect() }
    for (cut, client) in zip(cuts, clients) { try client.send(cut.request) }
    let standing = try origin.standing("cut", count: cuts.count, seconds: 20)
    #expect(standing >= cuts.count, "some exchanges never came to their cut")
    return clients
  }

  private static func report(_ faults: [String], of count: Int) {
    if !faults.isEmpty { Issue.record("\(faults.count) of \(count):\n\(faults.prefix(20).joined(separator: "\n"))") }
  }

  /// What left the origin whole before the cut is at the app, and does not wait for the rest.
  private static func expectEarlyBytes(_ cuts: [Cut], _ clients: [RawConnection]) {
    let deadline = Date(timeIntervalSinceNow: 10)
    report(
      zip(cuts, clients).compactMap { cut, client in cut.faultOfEarlyBytes(client, before: deadline).map { "\(cut): \($0)" } },
      of: cuts.count)
  }

  private static func expectNoFaults(_ cuts: [Cut], _ clients: [RawConnection], seconds: Double) {
    let deadline = Date(timeIntervalSinceNow: seconds)
    report(
      zip(cuts, clients).compactMap { cut, client in
        client.timeout = max(0.02, deadline.timeIntervalSinceNow)
        return cut.fault(client).map { "\(cut): \($0)" }
      }, of: cuts.count)
  }

  /// Other requests of the same loop are served at once, and the process is almost idle.
  private static func expectNoWork(_ proxy: ProxyProcess, _ hosts: [String]) throws {
    for number in 0..<9 {
      func seconds() throws -> Double {
        let start = Date()
        try expectOwn("during-\(number)", proxy, hosts[number % hosts.count])
        return Date().timeIntervalSince(start)
      }
      let first = try seconds()
      // Any other process may use the machine for a moment.
      if first >= 0.3 { #expect(try seconds() < 0.3, "others wait twice, first \(first)") }
    }
    let before = try Measures(proxy.pid)
    usleep(500_000)
    let ticks = try Measures(proxy.pid).processorTicks - before.processorTicks
    let share = Double(ticks) / Double(sysconf(Int32(_SC_CLK_TCK))) / 0.5
    #expect(share < 0.1, "the stalled proxy uses \(share) of a core")
  }

  /// A request whose response says whose it is.
  private static func expectOwn(_ mark: String, _ proxy: ProxyProcess, _ host: String) throws {
    let client = try proxy.connect()
    client.timeout = 3
    try client.send(ProxyProcess.request("GET", "http://\(host)/echo?mark=\(mark)"))
    let answer = try client.readAnswer()
    #expect(answer.status == 200, "\(mark): \(answer.head)")
    #expect(try answer.received().target == "/echo?mark=\(mark)")
  }

  /// As many requests at the same time as there are connections in the pool: each gets its own answer.
  private static func expectOwnAnswers(
    _ origin: Origin, _ wire: Wire, _ proxy: ProxyProcess, _ hosts: [String], atMost limit: Int = .max
  ) throws {
    for host in hosts {
      let marks = (0..<min(limit, try origin.connections(wire.rawValue).open)).map { _ in Origin.newName() }
      #expect(!marks.isEmpty)
      let gate = "marked-\(host)"
      try origin.scripts(
        Dictionary(
          uniqueKeysWithValues: marks.map {
            ($0, [[.stand(gate), .send("HTTP/1.1 200 OK\r\nContent-Length: \($0.utf8.count)\r\n\r\n\($0)")]])
          }))
      let clients = try marks.map { _ in try proxy.connect() }
      for (mark, client) in zip(marks, clients) { try client.send(ProxyProcess.request("GET", "http://\(host)/?id=\(mark)")) }
      #expect(try origin.standing(gate, count: marks.count, seconds: 20) == marks.count)
      try origin.release(gate)
      let deadline = Date(timeIntervalSinceNow: 10)
      report(
        zip(marks, clients).compactMap { mark, client in
          client.timeout = max(0.02, deadline.timeIntervalSinceNow)
          do {
            let answer = try client.readAnswer()
            return answer.text == mark ? nil : "\(mark) for \(host) got \(answer.head)\(answer.text)"
          } catch { return "\(mark) for \(host): \(error)" }
        }, of: marks.count)
    }
  }

  private static func configuration(
    _ hosts: [String], _ origin: String, _ servers: (refreshed: TokenServer, refused: TokenServer),
    timeouts: String = "credential: 60s"
  ) -> String {
    func token(_ name: String, _ server: TokenServer) -> String {
      """
        \(name):
          allow_plaintext: true
          oauth2:
            grant: client_credentials
            token_url: \(server.tokenURL)
            client_id: me
            client_secret: shh-5ecret-client
            timeout: 60s
      """
    }
    return """
      threads: 1
      log: {access: false}
      limits: {upstream_connections: 4000}
      timeouts: {\(timeouts)}
      upstreams:
        - {match: api.test, origin: "\(origin)", credential: api, decompress: true}
        - {match: open.test, origin: "\(origin)"}
        - {match: retry.test, origin: "\(origin)", credential: api, retry: {attempts: 2, backoff: 10ms}, decompress: true}
        - {match: refreshed.test, origin: "\(origin)", credential: refreshed, decompress: true}
        - {match: refused.test, origin: "\(origin)", credential: refused, decompress: true}
      credentials:
        api: {bearer: {token: \(Configuration.token)}, allow_plaintext: true}
      \(token("refreshed", servers.refreshed))
      \(token("refused", servers.refused))
      """
  }
}
