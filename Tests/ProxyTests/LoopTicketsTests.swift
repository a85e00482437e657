import Credentials
import Dispatch
import Foundation
import Kerberos
import Testing

@testable import Proxy

/// Tickets of a loop and of the credential's owner, without a KDC.
@Suite struct LoopTicketsTests {
  private static let missing = KerberosProblem(.needsOperator, "no keytab")
  private static let wrong = KerberosProblem(.keyRefused, "wrong key")

  /// A name for a file of the test's own.
  private func path() -> String {
    FileManager.default.temporaryDirectory.appendingPathComponent("authproxy-\(UUID().uuidString)").path
  }

  private func write(_ text: String, _ path: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
  }

  @Test func `a source that goes away and is the same when it comes back serves with the held ticket`() async throws {
    let (file, link) = (path(), path())
    let files = FileManager.default
    defer { for path in [file, link] { try? files.removeItem(atPath: path) } }
    try write("key", file)
    try files.createSymbolicLink(atPath: link, withDestinationPath: file)
    let tickets = StubTickets { _, _ throws(KerberosProblem) in
      guard FileManager.default.fileExists(atPath: link) else { throw Self.missing }
      return 3_600
    }
    let bench = try await TicketBench(.keytab(link), tickets)
    #expect(await bench.ask() == "1")
    for _ in 0..<3 {
      try files.removeItem(atPath: link)
      #expect(await bench.ask() == "1")
      try files.createSymbolicLink(atPath: link, withDestinationPath: file)
      #expect(await bench.ask() == "1")
    }
  }

  @Test func `a refused key is tried once for all services, and again when it is another one`() async throws {
    let file = path()
    defer { try? FileManager.default.removeItem(atPath: file) }
    try write("wrong", file)
    let tickets = StubTickets { _, _ throws(KerberosProblem) in
      guard FileManager.default.contents(atPath: file) == Data("right".utf8) else { throw Self.wrong }
      return 3_600
    }
    let bench = try await TicketBench(.keytab(file), tickets)
    await withTaskGroup(of: String.self) { group in
      for number in 0..<20 { group.addTask { await bench.ask("web\(number)") } }
      for await outcome in group { #expect(outcome == "502 wrong key") }
    }
    #expect(tickets.calls.count == 1)
    #expect(await bench.phase == .needsOperator)
    // Another size, as the file system's clock ticks slowly.
    try write("also wrong", file)
    #expect(await bench.ask("web0") == "502 wrong key")
    #expect(await bench.ask("web1") == "502 wrong key")
    #expect(tickets.calls.count == 2)
    try write("right", file)
    #expect(await bench.ask("web2") == "3")
    #expect(await bench.ask("web1") == "4")
    #expect(await bench.phase == .ready)
  }

  @Test func `a reload that leaves the key as it is keeps tickets, and a refused key stays refused`() async throws {
    let good = StubTickets { _, _ throws(KerberosProblem) in 3_600 }
    let bad = StubTickets { _, _ throws(KerberosProblem) in throw Self.wrong }
    for (tickets, outcome) in [(good, "1"), (bad, "502 wrong key")] {
      let bench = try await TicketBench(.password(Secret("x")), tickets)
      #expect(await bench.ask() == outcome)
      func reload(_ secret: String, _ mutual: NegotiatePolicy.Mutual, binds: Bool, _ hosts: [String]) async throws {
        try await bench.reload(
          NegotiatePolicy(source: .password(Secret(secret)), principal: "svc@R", bindsChannel: binds, mutual: mutual),
          hosts: hosts)
      }
      try await reload("x", .optional, binds: true, ["web"])
      #expect(await bench.ask() == outcome)
      try await reload("x", .required, binds: false, ["web", "other"])
      #expect(await bench.ask() == outcome)
      if outcome == "1" { #expect(await bench.ask(answers: ["200 OK"]) == "1 invalid", "mutual is required now") }
      try await reload("x", .optional, binds: false, [])
      #expect(await bench.ask(answers: outcome == "1" ? ["200 OK"] : []) == (outcome == "1" ? "1 other" : outcome))
      #expect(tickets.calls.count == 1)
      try await reload("y", .optional, binds: false, [])
      _ = await bench.ask()
      #expect(tickets.calls.count == 2)
    }
  }

  @Test func `an origin that refuses tickets and then answers without a proof has one fetched again, once, alone`()
    async throws
  {
    let tickets = StubTickets { _, _ throws(KerberosProblem) in 3_600 }
    let bench = try await TicketBench(.password(Secret("x")), tickets)
    let refusal = "401 Unauthorized\r\nWWW-Authenticate: Negotiate"
    #expect(await bench.ask(answers: [refusal, "200 OK"]) == "1 again 2 other")
    for _ in 0..<5 { #expect(await bench.ask(answers: [refusal, "200 OK"]) == "2 relayed") }
    #expect(tickets.calls.count == 2)
    // Another origin of the same service.
    #expect(await bench.ask(port: 8080, answers: [refusal, refusal]) == "2 again 3 relayed")
    #expect(await bench.ask(port: 8080, answers: [refusal]) == "3 relayed")
    #expect(tickets.calls.count == 3)
  }

  @Test func `a KDC that is silent about a changed source holds up requests with a ticket for a second, once`() async throws {
    let file = path()
    defer { try? FileManager.default.removeItem(atPath: file) }
    try write("1", file)
    let answers = DispatchSemaphore(value: 0)
    let tickets = StubTickets { _, number throws(KerberosProblem) in
      if number == 2 { answers.wait() }
      return 3_600
    }
    let bench = try await TicketBench(.keytab(file), tickets)
    #expect(await bench.ask() == "1")
    try write("22", file)
    let clock = ContinuousClock()
    let began = clock.now
    #expect(await bench.ask() == "1")
    #expect(clock.now - began < .seconds(5))
    let later = clock.now
    for _ in 0..<10 { #expect(await bench.ask() == "1") }
    // Held up, they would take ten seconds. A busy machine takes some of one.
    #expect(clock.now - later < .seconds(5))
    answers.signal()
    while clock.now - later < .seconds(30), await bench.ask() != "2" {}
    #expect(await bench.ask() == "2")
    #expect(tickets.calls.count == 2)
  }

  @Test func `tickets that expire at once are not fetched again before a pause`() async throws {
    let tickets = StubTickets { _, _ throws(KerberosProblem) in 1 }
    let bench = try await TicketBench(.password(Secret("x")), tickets)
    for _ in 0..<3 { #expect(await bench.ask().hasPrefix("503 its ticket for HTTP/web expires at once")) }
    // The pause is a second.
    #expect(tickets.calls.count <= 2)
  }

  @Test func `more services than a loop remembers are all served, and all get new tickets`() async throws {
    let file = path()
    defer { try? FileManager.default.removeItem(atPath: file) }
    try write("1", file)
    let tickets = StubTickets { _, _ throws(KerberosProblem) in 3_600 }
    let bench = try await TicketBench(.keytab(file), tickets)
    let count = 1_100
    for number in 0..<count { #expect(await bench.ask("web\(number)") == "\(number + 1)") }
    try write("22", file)
    var old = 0
    for number in 0..<count where await (Int(bench.ask("web\(number)")) ?? 0) <= count {
      old += 1
      if old > 3 { break }
    }
    #expect(old == 0)
  }

  @Test func `requests that left are no longer kept as waiting`() async throws {
    let answers = DispatchSemaphore(value: 0)
    let tickets = StubTickets { _, _ throws(KerberosProblem) in
      answers.wait()
      return 3_600
    }
    let bench = try await TicketBench(.password(Secret("x")), tickets)
    #expect(await bench.askAndLeave("web", times: 1_000) <= 64)
    answers.signal()
    #expect(await bench.ask() == "1")
  }

  @Test func `a service that the KDC does not know is no fault of the credential`() async throws {
    let tickets = StubTickets { service, _ throws(KerberosProblem) in
      guard service == "HTTP/web" else { throw KerberosProblem(.needsOperator, "unknown", isOfService: true) }
      return 3_600
    }
    let bench = try await TicketBench(.password(Secret("x")), tickets)
    #expect(await bench.ask("other") == "502 unknown")
    #expect(await bench.phase == .failed)
    #expect(await bench.ask("web") == "2")
    #expect(await bench.phase == .ready)
    #expect(await bench.ask("another") == "502 unknown")
    #expect(await bench.phase == .ready)
  }

  @Test(arguments: [(60_000, "1"), (65_536, "1"), (65_537, "the token is 65537 bytes long")])
  func `tokens of up to 64 KiB are sent`(_ size: Int, _ outcome: String) async throws {
    let tickets = StubTickets(tokenSize: size) { _, _ throws(KerberosProblem) in 3_600 }
    let bench = try await TicketBench(.password(Secret("x")), tickets)
    #expect(await bench.ask() == outcome)
  }
}
