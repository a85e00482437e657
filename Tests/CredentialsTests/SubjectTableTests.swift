import Testing

@testable import Credentials

/// A table with a clock and the exchanges that it asked for.
struct TableDriver {
  var table: SubjectTable
  var now: Int64 = 1_000_000
  /// Exchanges in the air, oldest first.
  var flights: [SubjectTable.Start] = []

  init(limit: Int = 10_000, window: OAuth2Policy.RefreshWindow = .init(), refreshBeforeExpiry: Int = 300_000) {
    let settings = ExchangeSettings(subject: .init(.client, type: TokenType.accessToken.uri))
    let policy = makePolicy(grant: .tokenExchange(settings), refreshBeforeExpiry: refreshBeforeExpiry, window: window)
    table = SubjectTable(name: "api", policy: policy, limit: limit, seed: 7)
  }

  static func key(_ user: String, client: String? = "billing") throws -> SubjectKey {
    try #require(SubjectKey(token: Secret(user), client: client))
  }

  mutating func need(_ user: String, client: String = "billing") throws -> SubjectTable.Need {
    let (need, start) = table.need(
      try Self.key(user, client: client), .name(client), token: Secret(user), now: now)
    if let start { flights.append(start) }
    return need
  }

  mutating func refused(_ user: String, version: UInt64, waits: Bool = true) throws -> SubjectTable.Refusal {
    let (decision, start) = table.refused(
      try Self.key(user), .name("billing"), version: version, token: Secret(user), waits: waits, now: now)
    if let start { flights.append(start) }
    return decision
  }

  var inFlight: [String] { flights.map { text($0.token.bytes) } }

  /// Ends the exchange of this user.
  mutating func answer(_ user: String, _ answer: TokenAnswer? = nil) throws -> SubjectTable.Ended {
    let index = try #require(flights.firstIndex { text($0.token.bytes) == user }, "\(user) is not in the air")
    let ended = table.answered(flights.remove(at: index).id, answer ?? grant("\(user)-exchanged"), now: now)
    flights += ended.starts
    return ended
  }

  mutating func makeReady(_ user: String, client: String = "billing", lifetime: Int64? = 3600) throws {
    _ = try need(user, client: client)
    _ = try answer(user, grant("\(user)-exchanged", lifetime: lifetime))
  }
}

extension SubjectTable.Need {
  var token: String? {
    if case .ready(let credential) = self { text(credential.line.dropFirst(22).dropLast(2).map { $0 }) } else { nil }
  }
  var version: UInt64? { if case .ready(let credential) = self { credential.version } else { nil } }
  var isWait: Bool { if case .wait = self { true } else { false } }
  var failure: SubjectTable.Failure? { if case .failed(let failure) = self { failure } else { nil } }
}

extension SubjectTable.Refusal {
  var isWait: Bool { if case .wait = self { true } else { false } }
  var version: UInt64? { if case .resend(let credential) = self { credential.version } else { nil } }
  var reason: RelayReason? { if case .relay(let reason) = self { reason } else { nil } }
}

extension SubjectTable.Ended {
  var failures: [SubjectTable.Failure] { settled.compactMap { if case .failure(let why) = $0.result { why } else { nil } } }
}

@Suite("A table of subjects: one machine for each")
struct SubjectTableTests {
  @Test("a key is of the token and the client's name together; an empty token has none")
  func keys() throws {
    #expect(SubjectKey(token: Secret(""), client: "a") == nil)
    #expect(SubjectKey(token: Secret(""), client: nil) == nil)
    let keys = [
      try TableDriver.key("t", client: "a"), try TableDriver.key("t", client: "b"), try TableDriver.key("t", client: nil),
      try TableDriver.key("t", client: ""), try TableDriver.key("at", client: ""), try TableDriver.key("u", client: "a"),
    ]
    #expect(Set(keys).count == keys.count)
    #expect(try TableDriver.key("t", client: "a") == keys[0])
    #expect("\(keys[0])" == "<subject>")
    #expect(Mirror(reflecting: keys[0]).children.isEmpty)
  }

  @Test("empty: the first need starts one exchange, all others wait for it; then each gets its own token")
  func singleFlight() throws {
    var driver = TableDriver()
    for _ in 0..<3 { #expect(try driver.need("ann").isWait) }
    #expect(try driver.need("bob").isWait)
    #expect(driver.inFlight == ["ann", "bob"])
    let ended = try driver.answer("bob")
    #expect(ended.settled.map(\.key) == [try TableDriver.key("bob")])
    #expect(try driver.need("bob").token == "bob-exchanged")
    #expect(try driver.need("ann").isWait, "bob's answer is not for ann")
    _ = try driver.answer("ann")
    #expect(try driver.need("ann").token == "ann-exchanged")
    #expect(driver.flights.isEmpty)
    #expect(driver.table.count == 2)
  }

  @Test("ready: an expired token is never given out, and the next request's token is exchanged")
  func expiry() throws {
    var driver = TableDriver()
    try driver.makeReady("ann", lifetime: 60)
    driver.now += 59_999
    #expect(try driver.need("ann").token == "ann-exchanged")
    driver.now += 1
    let isWait = try driver.need("ann").isWait
    #expect(isWait)
    #expect(driver.inFlight == ["ann"])
  }

  @Test("ready: a token that is due is exchanged ahead, while requests use the old one; nothing is exchanged without a request")
  func ahead() throws {
    var driver = TableDriver()
    try driver.makeReady("ann", lifetime: 1_000)
    driver.now += 900_000
    #expect(driver.flights.isEmpty)
    #expect(try driver.need("ann").version == 1)
    #expect(driver.inFlight == ["ann"])
    #expect(try driver.need("ann").version == 1)
    #expect(driver.inFlight == ["ann"])
    let ended = try driver.answer("ann", grant("new"))
    #expect(ended.settled.isEmpty, "nobody waits")
    #expect(try driver.need("ann").version == 2)
  }

  @Test("ready: an exchange ahead that is refused or fails leaves the token in use until it expires")
  func failsAhead() throws {
    for answer in [refusal(.invalidGrant), .failed(.timedOut)] {
      var driver = TableDriver()
      try driver.makeReady("ann", lifetime: 1_000)
      driver.now += 990_000
      _ = try driver.need("ann")
      _ = try driver.answer("ann", answer)
      #expect(try driver.need("ann").version == 1)
      #expect(driver.flights.isEmpty, "in its back-off")
      driver.now += 10_000
      #expect(try driver.need("ann").version == nil)
    }
  }

  @Test("refused: for 30 s no request asks the server again; then one does")
  func negative() throws {
    var driver = TableDriver()
    #expect(try driver.need("eve").isWait)
    let ended = try driver.answer("eve", refusal(.invalidGrant))
    #expect(ended.failures == [.refused])
    for _ in 0..<100 {
      driver.now += 299
      #expect(try driver.need("eve").failure == .refused)
    }
    #expect(driver.flights.isEmpty)
    driver.now += 100
    #expect(try driver.need("eve").isWait)
    #expect(driver.inFlight == ["eve"])
  }

  @Test("what refuses the subject, and what does not")
  func kinds() throws {
    for (answer, isSubject) in [
      (refusal(.invalidGrant), true), (refusal(.invalidRequest), true), (refusal(.other), false),
      (refusal(.accessDenied), true), (refusal(.invalidClient), false), (refusal(.unauthorizedClient), false),
      (refusal(.invalidTarget), false), (refusal(.invalidScope), false), (refusal(.serverError), false),
      (.failed(.status(503), retryAfter: 7_000), false), (.failed(.timedOut), false),
    ] {
      var driver = TableDriver()
      _ = try driver.need("ann")
      let failures = try driver.answer("ann", answer).failures
      #expect(failures.count == 1)
      #expect((failures == [.refused]) == isSubject, "\(answer)")
    }
  }

  @Test("failed: the back-off is the subject's own, doubles, and heeds Retry-After")
  func backOff() throws {
    var driver = TableDriver()
    var waits: [Int64] = []
    for _ in 0..<12 {
      _ = try driver.need("ann")
      _ = try driver.answer("ann", .failed(.timedOut))
      guard case .unavailable(.temporarily(_, let wait))? = try driver.need("ann").failure else {
        Issue.record("no back-off")
        return
      }
      waits.append(wait)
      #expect(try driver.need("bob\(waits.count)").isWait, "others are not in back-off")
      _ = try driver.answer("bob\(waits.count)")
      driver.now += wait
    }
    #expect(waits[0] <= 1_000 && waits[0] >= 500)
    #expect(waits[11] >= 150_000 && waits[11] <= 300_000)
    _ = try driver.need("ann")
    _ = try driver.answer("ann", .failed(.status(503), retryAfter: 299_000))
    driver.now += 298_000
    #expect(try driver.need("ann").failure != nil)
  }

  @Test("failed: an actor's credential that needs somebody to act is 502's business, and asked again after a second")
  func actor() throws {
    var driver = TableDriver()
    _ = try driver.need("ann")
    let why = SubjectTable.Failure.unavailable(
      .needsOperator("credential \"workload\" needs a login: run \"authproxy login workload\""))
    #expect(try driver.answer("ann", .failed(.source("workload", .needsLogin))).failures == [why])
    #expect(try driver.need("ann").failure == why)
    driver.now += 1_000
    #expect(try driver.need("ann").isWait)
  }

  @Test("a client has 8 exchanges in flight; the ninth waits, other clients' don't")
  func flightsOfClient() throws {
    var driver = TableDriver()
    for user in 0..<12 { _ = try driver.need("u\(user)") }
    #expect(driver.inFlight == (0..<8).map { "u\($0)" })
    _ = try driver.need("other", client: "shop")
    #expect(driver.inFlight.last == "other")
    _ = try driver.answer("u3", .failed(.timedOut))
    #expect(driver.inFlight.contains("u8"))
    #expect(!driver.inFlight.contains("u9"))
    for user in ["u0", "u1", "u2", "u4"] { _ = try driver.answer(user) }
    #expect(Set(driver.inFlight) == ["u5", "u6", "u7", "u8", "u9", "u10", "u11", "other"])
  }

  @Test("a client that was refused 20 subjects in a minute gets 429 for unknown ones, those in the queue included")
  func suspension() throws {
    var driver = TableDriver()
    try driver.makeReady("known")
    for user in 0..<40 { _ = try driver.need("e\(user)") }
    var reports: [SubjectTable.Report?] = []
    var dropped: [SubjectTable.Failure] = []
    for user in 0..<20 {
      let ended = try driver.answer("e\(user)", refusal(.invalidGrant))
      reports.append(ended.report)
      dropped += ended.failures.dropFirst()
    }
    let suspending = reports.compactMap { if case .refused(_, _, let suspends)? = $0 { suspends } else { nil } }
    #expect(suspending == Array(repeating: false, count: 19) + [true])
    #expect(dropped == Array(repeating: .tooManyRefused(retryAfter: 60_000), count: 13), "40 less 20, less 7 in the air")
    #expect(driver.flights.count == 7)
    driver.now += 1_000
    #expect(try driver.need("e0").failure == .refused, "known to be refused")
    #expect(try driver.need("new").failure == .tooManyRefused(retryAfter: 59_000))
    #expect(try driver.need("known").version == 1)
    #expect(try driver.need("new", client: "shop").isWait, "another client")
    driver.now += 59_000
    #expect(try driver.need("new").isWait)
  }

  @Test("users whom the server has accepted before are not counted when their tokens end")
  func ends() throws {
    var driver = TableDriver()
    for user in 0..<30 { try driver.makeReady("u\(user)", lifetime: 10) }
    driver.now += 10_000
    for user in 0..<30 {
      _ = try driver.need("u\(user)")
      #expect(try driver.answer("u\(user)", refusal(.invalidGrant)).failures == [.refused])
    }
    #expect(try driver.need("new").isWait)
  }

  @Test("the table evicts the least recently used; a client owns half of it at most")
  func eviction() throws {
    var driver = TableDriver(limit: 8)
    for user in 0..<4 { try driver.makeReady("a\(user)", client: "a") }
    for user in 0..<4 { try driver.makeReady("b\(user)", client: "b") }
    #expect(try driver.need("a0", client: "a").version == 1)
    // Its own half is full: a1 is its least recent one.
    try driver.makeReady("a4", client: "a")
    #expect(driver.table.count == 8)
    for (user, isKept) in [("a0", true), ("a2", true), ("a3", true), ("a4", true)] {
      #expect((try driver.need(user, client: "a").version != nil) == isKept, "\(user)")
    }
    // A third client takes the place of the least recent one of all: b0.
    try driver.makeReady("c0", client: "c")
    #expect(driver.table.count == 8)
    for user in ["b1", "b2", "b3"] { #expect(try driver.need(user, client: "b").version != nil, "\(user)") }
    let isGone = try driver.need("b0", client: "b").isWait
    #expect(isGone)
  }

  @Test("one with requests that wait is never evicted; if all wait, a new one is turned away")
  func fullOfWaiting() throws {
    var driver = TableDriver(limit: 4)
    for client in ["a", "b"] { for user in 0..<2 { #expect(try driver.need("\(client)\(user)", client: client).isWait) } }
    #expect(try driver.need("a9", client: "a").failure == .full)
    #expect(try driver.need("c0", client: "c").failure == .full)
    #expect(driver.table.count == 4)
    _ = try driver.answer("b1")
    #expect(try driver.need("c0", client: "c").isWait)
    #expect(try driver.need("a0", client: "a").isWait, "it is still there")
    #expect(driver.flights.count == 4)
  }

  @Test("versions grow across evictions: a number never comes back")
  func versions() throws {
    var driver = TableDriver(limit: 2)
    for round in 0..<5 {
      for (index, user) in ["ann", "bob"].enumerated() {
        _ = try driver.need(user)
        _ = try driver.answer(user)
        #expect(try driver.need(user).version == UInt64(2 * round + index + 1))
      }
    }
  }

  @Test("a refusal of an older version is answered with the newer one; of the current one with one more exchange")
  func refusals() throws {
    var driver = TableDriver()
    try driver.makeReady("ann")
    let first = try driver.refused("ann", version: 1)
    let second = try driver.refused("ann", version: 1)
    #expect(first.isWait && second.isWait)
    #expect(driver.inFlight == ["ann"])
    #expect(try driver.need("ann").version == 1, "a refusal is evidence, not proof")
    #expect(try driver.answer("ann", grant("new")).settled.count == 1)
    #expect(try driver.refused("ann", version: 1).version == 2)
    #expect(driver.flights.isEmpty)
  }

  @Test("refresh_window bounds exchanges after refusals for each subject alone")
  func window() throws {
    var driver = TableDriver(window: .init(interval: 30_000, attempts: 2))
    try driver.makeReady("ann")
    try driver.makeReady("bob")
    for round in 0..<2 {
      #expect(try driver.refused("ann", version: UInt64(round + 10)).isWait)
      _ = try driver.answer("ann", grant("ann-\(round)"))
    }
    #expect(try driver.refused("ann", version: 99).reason == .windowUsedUp)
    #expect(try driver.refused("bob", version: 99).isWait)
    driver.now += 30_000
    #expect(try driver.refused("ann", version: 99).isWait)
  }

  @Test("a refusal whose exchange the server refuses is relayed, and no exchange follows for 30 s")
  func refusedBoth() throws {
    var driver = TableDriver()
    try driver.makeReady("ann")
    _ = try driver.refused("ann", version: 1)
    #expect(try driver.answer("ann", refusal(.invalidGrant)).failures == [.refused])
    #expect(try driver.refused("ann", version: 1).reason == .backingOff)
    #expect(try driver.need("ann").failure == .refused)
  }

  @Test("a refusal of a subject that was evicted meanwhile is a need")
  func refusedEvicted() throws {
    var driver = TableDriver()
    let isWait = try driver.refused("ann", version: 1).isWait
    #expect(isWait)
    #expect(driver.inFlight == ["ann"])
    #expect(try driver.refused("bob", version: 1, waits: false).reason == .replaced)
  }

  @Test("a reload keeps tokens; another secret ends back-offs; a lower limit evicts")
  func reload() throws {
    var driver = TableDriver(limit: 10)
    for user in 0..<4 { try driver.makeReady("u\(user)") }
    _ = try driver.need("bad")
    _ = try driver.answer("bad", refusal(.invalidClient))
    #expect(try driver.need("bad").failure != nil)
    let other = makePolicy(grant: driver.table.policy.grant, authentication: .post(secret: Secret("another")))
    driver.table.reconfigure(other, limit: 4)
    #expect(driver.table.count == 4)
    #expect(try driver.need("u3").version == 4)
    #expect(try driver.need("bad").isWait)
  }

  @Test("answers of unknown exchanges change nothing; late tokens are not used")
  func strangers() throws {
    var driver = TableDriver()
    #expect(driver.table.answered(77, grant("x"), now: driver.now).settled.isEmpty)
    _ = try driver.need("ann")
    driver.now += 3_600_000
    guard case .unavailable? = try driver.answer("ann", grant("late", lifetime: 3_600)).failures.first else {
      Issue.record("used")
      return
    }
  }

  @Test("after the logout of the actor's credential no token is sent any more")
  func withdraw() throws {
    var driver = TableDriver()
    try driver.makeReady("ann")
    guard case .ready(let held) = try driver.need("ann") else {
      Issue.record("no token")
      return
    }
    driver.table.withdraw()
    #expect(!held.isUsable(at: driver.now))
    #expect(try driver.need("ann").isWait)
    _ = try driver.answer("ann", grant("new"))
    #expect(try driver.need("ann").version == 2)
  }

  @Test("random inputs: never another's token, never over a limit, every waiting subject is settled")
  func random() throws {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<20 {
      var driver = TableDriver(limit: 12, refreshBeforeExpiry: 5_000)
      var waiting: Set<SubjectKey> = []
      func note(_ ended: SubjectTable.Ended) { for settled in ended.settled { waiting.remove(settled.key) } }
      for _ in 0..<2_000 {
        driver.now += Int64.random(in: 0...2_000, using: &generator)
        let client = "c\(Int.random(in: 0..<4, using: &generator))"
        let user = "\(client)-u\(Int.random(in: 0..<9, using: &generator))"
        if Bool.random(using: &generator) {
          let need = try driver.need(user, client: client)
          if let token = need.token { #expect(token == "\(user)-exchanged") }
          if need.isWait { waiting.insert(try TableDriver.key(user, client: client)) }
        } else if let flight = driver.flights.randomElement(using: &generator) {
          let user = text(flight.token.bytes)
          let answers = [
            grant("\(user)-exchanged", lifetime: Int64.random(in: 1...60, using: &generator)), refusal(.invalidGrant),
            .failed(.timedOut), grant("\(user)-exchanged"),
          ]
          note(try driver.answer(user, answers.randomElement(using: &generator)))
        }
        #expect(driver.table.count <= 12)
        #expect(driver.flights.count <= 32)
        #expect(Set(driver.inFlight).count == driver.inFlight.count, "one exchange for each at a time")
      }
      while let flight = driver.flights.first { note(try driver.answer(text(flight.token.bytes))) }
      #expect(waiting.isEmpty)
    }
  }
}
