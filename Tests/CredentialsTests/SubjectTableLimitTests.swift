import Testing

@testable import Credentials

@Suite("A table of subjects: bounds, and what ends a token")
struct SubjectTableLimitTests {
  /// Longer than any request waits.
  private static let long: Int64 = 600_000

  @Test("an exchange in the queue whose requests have left is not begun; one that was asked for again is")
  func left() throws {
    var driver = TableDriver()
    for user in 0..<12 { _ = try driver.need("u\(user)") }
    driver.now += Self.long
    #expect(try driver.need("u9").isWait)
    let ended = try driver.answer("u0")
    #expect(ended.starts.map { text($0.token.bytes) } == ["u9"])
    #expect(driver.table.count == 11, "u8 was dropped")
    #expect(try ended.settled.contains { $0.key == (try TableDriver.key("u8")) }, "loops forget who waited")
    _ = try driver.answer("u1")
    #expect(driver.table.count == 9, "and then the others")
    #expect(!driver.inFlight.contains("u10") && !driver.inFlight.contains("u11"))
  }

  @Test("a client whose users have left is not turned away: their places are free")
  func placesOfThoseWhoLeft() throws {
    var driver = TableDriver(limit: 24)
    for user in 0..<12 { _ = try driver.need("u\(user)") }
    #expect(try driver.need("new").failure == .full)
    driver.now += Self.long
    #expect(try driver.need("new").isWait)
    // The next exchange that ends tells the loops who was dropped.
    let dropped = try driver.answer("u0").settled.map(\.key)
    for user in 8..<12 { #expect(try dropped.contains(TableDriver.key("u\(user)"))) }
  }

  @Test("all clients together have 256 exchanges in flight; who waits for them is served by turns")
  func flightsOfAll() throws {
    var driver = TableDriver()
    for client in 0..<40 { for user in 0..<9 { _ = try driver.need("c\(client)-u\(user)", client: "c\(client)") } }
    #expect(driver.flights.count == 256)
    #expect(try driver.need("late", client: "late").isWait)
    // Each of the 40 clients has something in the queue, the new one last: it waits for one turn of each at most.
    var ends = 0
    while !driver.inFlight.contains("late"), let first = driver.inFlight.first {
      _ = try driver.answer(first)
      #expect(driver.flights.count <= 256)
      ends += 1
    }
    #expect(ends <= 41)
    while let first = driver.inFlight.first { _ = try driver.answer(first) }
    for client in 0..<40 {
      for user in 0..<9 { #expect(try driver.need("c\(client)-u\(user)", client: "c\(client)").version != nil) }
    }
  }

  @Test(
    "what refuses the subject: a list; an unknown code is the configuration's fault",
    arguments: [
      ("invalid_grant", true), ("invalid_request", true), ("access_denied", true), ("expired_token", true),
      ("interaction_required", true), ("consent_required", true), ("login_required", true),
      ("account_selection_required", true), ("insufficient_user_authentication", true), ("invalid_token", true),
      ("unsupported_token_type", false), ("invalid_resource", false), ("use_dpop_nonce", false), ("quota_exceeded", false),
    ])
  func codes(_ code: String, isSubject: Bool) throws {
    var driver = TableDriver()
    _ = try driver.need("ann")
    let error = OAuthError(code: OAuthError.Code(rawValue: code) ?? .other, text: "\(code) (no ann@example.com here)")
    let ended = try driver.answer("ann", .refused(error))
    #expect((ended.failures == [.refused]) == isSubject)
    // A description may name the user.
    let report = String(describing: ended.report)
    #expect(report.contains(code))
    #expect(!report.contains("ann@example.com"))
    #expect(!String(describing: ended.failures).contains("ann@example.com"))
  }

  @Test("after an API refused the token and the server the user, the token is not used any more")
  func refusedByBoth() throws {
    var driver = TableDriver()
    try driver.makeReady("ann")
    _ = try driver.refused("ann", version: 1)
    #expect(try driver.answer("ann", refusal(.invalidGrant)).failures == [.refused])
    #expect(try driver.need("ann").failure == .refused)
    // The same if the exchange was in the air already.
    try driver.makeReady("bob", lifetime: 1_000)
    driver.now += 900_000
    let needed = try driver.need("bob")
    let version = try #require(needed.version)
    #expect(try driver.refused("bob", version: version).isWait)
    _ = try driver.answer("bob", refusal(.invalidGrant))
    #expect(try driver.need("bob").failure == .refused)
    // A server's fault proves nothing.
    try driver.makeReady("cid")
    let other = try driver.need("cid").version ?? 0
    _ = try driver.refused("cid", version: other)
    _ = try driver.answer("cid", .failed(.timedOut))
    #expect(try driver.need("cid").version == other)
  }

  private static func withActor(limit: Int = 10_000) -> TableDriver {
    var driver = TableDriver(limit: limit)
    let settings = ExchangeSettings(
      subject: .init(.client, type: TokenType.accessToken.uri),
      actor: .init(.credential("workload"), type: TokenType.accessToken.uri))
    driver.table.reconfigure(makePolicy(grant: .tokenExchange(settings)), limit: limit)
    return driver
  }

  private func held(_ user: String, _ driver: inout TableDriver) throws -> RenderedCredential {
    try driver.makeReady(user)
    guard case .ready(let credential) = try driver.need(user) else { throw OAuthError(code: .other, text: "no token") }
    return credential
  }

  @Test("the actor's logout reaches tokens that requests still have, replaced and evicted ones too")
  func withdrawsAll() throws {
    var driver = Self.withActor(limit: 4)
    let evicted = try held("ann", &driver)
    for user in ["bob", "cid", "dan", "eve"] { try driver.makeReady(user) }
    let replaced = try held("fay", &driver)
    _ = try driver.refused("fay", version: replaced.version)
    _ = try driver.answer("fay", grant("another"))
    guard case .ready(let last) = try driver.need("fay") else { throw OAuthError(code: .other, text: "no token") }
    let refused = try held("gil", &driver)
    _ = try driver.refused("gil", version: refused.version)
    _ = try driver.answer("gil", refusal(.invalidGrant))
    driver.table.withdraw()
    for credential in [evicted, replaced, last, refused] { #expect(!credential.isUsable(at: driver.now)) }
  }

  @Test("what an exchange of an earlier configuration says is no fault of anybody's: it is begun again")
  func outdated() throws {
    for answer in [refusal(.invalidClient), refusal(.invalidGrant), .failed(.timedOut)] {
      var driver = TableDriver()
      try driver.makeReady("ready", lifetime: 1_000)
      driver.now += 900_000
      _ = try driver.need("ready")
      _ = try driver.need("ann")
      #expect(driver.inFlight == ["ready", "ann"])
      let other = makePolicy(grant: driver.table.policy.grant, authentication: .post(secret: Secret("another")))
      driver.table.reconfigure(other, limit: 10)
      let ended = try driver.answer("ann", answer)
      #expect(ended.settled.isEmpty)
      #expect(driver.inFlight == ["ready", "ann"])
      // Nobody waits for this one.
      #expect(try driver.answer("ready", answer).starts.isEmpty)
      #expect(try driver.need("ready").version == 1)
      #expect(driver.inFlight == ["ann", "ready"], "in no back-off")
      // Under the new configuration a failure counts.
      #expect(try driver.answer("ann", answer).failures.count == 1)
    }
  }

  @Test("a retired table relays refusals: another exchange may be meant for others")
  func retired() throws {
    var driver = TableDriver()
    try driver.makeReady("ann")
    driver.table.retire()
    #expect(try driver.refused("ann", version: 1).reason == .replaced)
    #expect(try driver.refused("new", version: 1).reason == .replaced)
    #expect(driver.flights.isEmpty)
    #expect(try driver.need("ann").version == 1)
  }
}
