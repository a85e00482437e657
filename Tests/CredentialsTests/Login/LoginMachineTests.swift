import JSON
import Testing

@testable import Credentials

private let needsLogin = "needs a login: run \"authproxy login api\""

private let wall: Int64 = 1_800_000_000

private func login(
  _ token: String = "a1", refreshToken: String? = "r1", bearer: String? = nil, at time: Int64 = wall, lifetime: Int64 = 3_600,
  subject: String? = "alice-17"
) -> CompletedLogin {
  CompletedLogin(
    accessToken: Secret(token), refreshToken: refreshToken.map { Secret($0) }, bearer: Secret(bearer ?? token),
    expiresAt: time + lifetime, lifetime: lifetime, loggedInAt: time, loginExpiresAt: time + 7_776_000, scope: "mail.read",
    subject: subject, person: "alice@example.com")
}

private func idToken(_ changes: [String: JSONValue?] = [:]) -> Secret { Secret(jwt(claims(changes))) }

extension Process {
  fileprivate init(login policy: OAuth2Policy = loginPolicy(), _ store: any TokenStore, at later: Int64 = 0) {
    self.init(policy, store: store)
    driver.pass(later)
  }

  fileprivate mutating func look() {
    let answer = store.perform(.look(since: nil), for: "api")
    run(driver.note(driver.machine.seen(answer, now: driver.now, wall: driver.wall)))
  }

  fileprivate var state: OAuth2Machine.State { driver.machine.state(now: driver.now) }
}

/// What the commands do.
private func lock(_ store: any TokenStore, _ policy: OAuth2Policy = loginPolicy()) throws -> LockedRecord {
  try LockedRecord(of: "api", policy: policy, in: store, within: 0)
}

private func logOut(_ store: any TokenStore, _ policy: OAuth2Policy = loginPolicy(), at time: Int64 = wall + 1) throws {
  let locked = try lock(store, policy)
  try locked.writeTombstone(at: time, unrevoked: locked.revocableTokens)
}

private func record(_ store: any TokenStore) -> TokenRecord? {
  if case .seen(let record, _) = store.perform(.look(since: nil), for: "api") { record } else { nil }
}

/// What another process's refresh leaves.
private func writeRefresh(_ store: any TokenStore, _ token: String, refreshToken: String) throws {
  let current = try #require(record(store))
  var next = current
  next.generation += 1
  next.accessToken = Secret(token)
  next.refreshToken = Secret(refreshToken)
  for request in [TokenStoreRequest.read, .claim(current), .save(next), .release] { _ = store.perform(request, for: "api") }
}

@Suite("Logins and logouts by other processes")
struct LoginMachineTests {
  // MARK: Before a login

  @Test("before a login, a look says so once, and a request fails at once", arguments: [true, false])
  func never(looksFirst: Bool) {
    var process = Process(login: loginPolicy(), MemoryTokenStore())
    if looksFirst {
      process.look()
      process.look()
      #expect(process.driver.need().need.unavailable == .needsLogin)
    } else {
      process.need()
      #expect(process.failed == [.needsLogin])
    }
    process.look()
    #expect(process.state == .needsOperator(reason: needsLogin, old: nil))
    #expect(process.reports == [.needsLogin(needsLogin, refused: false)])
    #expect(process.driver.machine.needsLogin && process.sent.isEmpty)
    #expect(process.driver.refused(0).decision.reason == .needsOperator)
  }

  @Test("another configuration's login, damage and other times do not help", arguments: [true, false])
  func foreign(looksFirst: Bool) throws {
    let store = MemoryTokenStore()
    try lock(store, loginPolicy(issuer: "https://other.example")).write(login())
    var process = Process(login: loginPolicy(), store)
    if looksFirst { process.look() } else { process.need() }
    #expect(process.state == .needsOperator(reason: needsLogin, old: nil))
    let changed = loginPolicy(authentication: .post(secret: Secret("new")))
    process.run(process.driver.machine.reconfigure(changed, now: process.driver.now))
    #expect(process.state == .needsOperator(reason: needsLogin, old: nil))
  }

  @Test("a record with another key needs an operator, until a readable one comes")
  func wrongKey() throws {
    let store = MemoryTokenStore()
    var process = Process(login: loginPolicy(), store)
    for _ in 1...2 {
      process.run(process.driver.machine.seen(.wrongKey, now: process.driver.now, wall: process.driver.wall))
    }
    let why = "the token store failed: its record is encrypted with another key: run \"authproxy tokens --clear api\""
    #expect(process.reports == [.needsOperator(why)])
    #expect(process.driver.need().need.unavailable == .needsOperator(why))
    try lock(store).write(login())
    process.look()
    #expect(process.state == .ready(version: 1))
  }

  // MARK: log in

  @Test("log in: a running process publishes the record's token without a request, and a restart too")
  func logIn() throws {
    let store = MemoryTokenStore()
    var process = Process(login: loginPolicy(), store)
    process.look()
    try lock(store).write(login())
    process.look()
    #expect(process.published == ["a1"] && process.sent.isEmpty)
    #expect(process.reports.contains(.loggedIn))
    #expect(process.state == .ready(version: 1))
    #expect(process.driver.machine.login?.loggedInAt == wall && !process.driver.machine.needsLogin)
    let count = process.reports.count
    process.look()
    #expect(process.reports.count == count, "the same record is no news")
    for looksFirst in [true, false] {
      var restart = Process(login: loginPolicy(), store, at: 60_000)
      if looksFirst { restart.look() } else { restart.need() }
      #expect(restart.published == ["a1"] && restart.sent.isEmpty && !restart.reports.contains(.loggedIn))
      #expect(restart.driver.machine.published?.expiry == restart.driver.now + 3_540_000)
    }
  }

  @Test("log in: a request that waits for another process's lock goes on with the login, and the late lock is given back")
  func logInWhileWaiting() throws {
    let store = MemoryTokenStore()
    var process = Process(login: loginPolicy(), store)
    let locked = try lock(store)
    process.need()
    #expect(process.state == .refreshing(old: nil))
    try locked.write(login())
    process.look()
    #expect(process.published == ["a1"] && process.state == .ready(version: 1))
    // The same while the answer to `lock` is on its way.
    var other = Process(login: loginPolicy(), store)
    let asked = other.driver.need().actions
    #expect(asked.stored == [.read])
    other.look()
    #expect(other.published == ["a1"])
    let late = other.driver.machine.storeAnswered(id: 1, store.perform(.read, for: "api"), now: 1, wall: wall)
    #expect(late.stored == [.release])
  }

  @Test("log in: another person's login takes the place of the old one, whose token nobody sends again")
  func otherLogin() throws {
    let store = MemoryTokenStore()
    try lock(store).write(login())
    for (name, next, published, withdrawn) in [
      ("usable", login("b1", refreshToken: "s1", at: wall + 60, subject: "bob"), ["a1", "b1"], 1),
      ("expired", login("b1", refreshToken: "s1", at: wall - 7_200, subject: "bob"), ["a1"], 1),
    ] {
      let store = MemoryTokenStore()
      try lock(store).write(login())
      var process = Process(login: loginPolicy(), store)
      process.look()
      try lock(store).write(next)
      process.look()
      #expect(process.published == published, "\(name)")
      #expect(process.withdrawals == withdrawn, "\(name)")
      process.refused(UInt64(published.count))
      #expect(process.sent == ["s1"], "\(name)")
    }
  }

  @Test("log in: two logins in one second are two, also if nobody says whose they are")
  func loginsInOneSecond() throws {
    let store = MemoryTokenStore()
    try lock(store).write(login(subject: nil))
    var process = Process(login: loginPolicy(), store)
    process.look()
    try lock(store).write(login("b1", refreshToken: "s1", subject: nil))
    process.look()
    #expect(process.published == ["a1", "b1"] && process.withdrawals == 1)
    // A refresh is none, whoever makes it.
    try writeRefresh(store, "b2", refreshToken: "s2")
    process.look()
    #expect(process.published == ["a1", "b1", "b2"] && process.withdrawals == 1)
  }

  @Test("log in: a process with an older configuration overwrites no login of a newer one")
  func foreignLogin() throws {
    let store = MemoryTokenStore()
    try lock(store).write(login())
    var process = Process(login: loginPolicy(), store)
    process.look()
    let other = loginPolicy(issuer: "https://other.example")
    try lock(store, other).write(login("b1", refreshToken: "s1", at: wall + 60))
    let written = record(store)
    process.look()
    process.refused(1)
    #expect(process.sent.isEmpty && process.released == [.needsOperator])
    #expect(record(store) == written)
    #expect(process.state == .needsOperator(reason: process.driver.machine.failureReason, old: 1))
    // A login with its own configuration repairs it.
    try lock(store).write(login("c1", refreshToken: "t1", at: wall + 120))
    process.look()
    #expect(process.published.last == "c1" && process.state == .ready(version: 2))
  }

  @Test(
    "a retired machine follows a logout and another person's login, and nothing else",
    arguments: [("refresh", 0), ("logout", 1), ("other", 1), ("foreign", 0)])
  func retired(change: String, withdrawals: Int) throws {
    let store = MemoryTokenStore()
    try lock(store).write(login())
    var process = Process(login: loginPolicy(), store)
    process.look()
    process.run(process.driver.note(process.driver.machine.retire(now: process.driver.now)))
    switch change {
    case "refresh": try writeRefresh(store, "a2", refreshToken: "r2")
    case "logout": try logOut(store)
    case "other": try lock(store).write(login("b1", refreshToken: "s1", at: wall + 60, subject: "bob"))
    default: try lock(store, loginPolicy(issuer: "https://other.example")).write(login("b1", at: wall + 60))
    }
    for _ in 0..<2 { process.look() }
    #expect(process.withdrawals == withdrawals && process.published == ["a1"])
    #expect(process.driver.need().need.version == (withdrawals == 0 ? 1 : nil))
    #expect(process.reports.count == 1, "the machine that took its place reports")
  }

  @Test("log in: a login is newer than what a process remembers, even after the file was deleted")
  func afterDeletion() throws {
    let store = KillableStore()
    try lock(store).write(login())
    var process = Process(login: loginPolicy(), store)
    process.look()
    for number in 2...5 {
      process.refused(UInt64(number - 1))
      process.answer(grant("a\(number)", refreshToken: "r\(number)"))
    }
    store.records.removeAll()
    process.look()
    #expect(process.state == .ready(version: 5), "a deleted file is no logout")
    try lock(store).write(login("b1", refreshToken: "s1", at: wall + 60))
    process.look()
    #expect(process.published.last == "b1")
  }

  // MARK: log out

  @Test("log out: no version is sent any more, and requests fail at once", arguments: [true, false])
  func logOutSeen(byLook: Bool) throws {
    let store = MemoryTokenStore()
    try lock(store).write(login())
    var process = Process(login: loginPolicy(), store)
    process.look()
    try logOut(store)
    if byLook { process.look() } else { process.refused(1) }
    #expect(process.withdrawals == 1)
    #expect(process.reports.last == .loggedOut)
    #expect(process.state == .needsOperator(reason: needsLogin, old: nil))
    #expect(process.driver.need().need.unavailable == .needsLogin)
    #expect(process.released == (byLook ? [] : [.needsOperator]))
    #expect(process.sent.isEmpty && process.driver.machine.login == nil && process.driver.machine.needsLogin)
    guard case .record = store.perform(.read, for: "api") else {
      Issue.record("the lock is not free")
      return
    }
  }

  @Test("log out: what a process wrote before brings no login back; a new login does")
  func noReturn() throws {
    let store = KillableStore()
    try lock(store).write(login())
    let backup = store.records["api"]
    var process = Process(login: loginPolicy(), store)
    process.look()
    try logOut(store)
    process.look()
    store.records["api"] = backup
    process.look()
    process.need()
    process.refused(1)
    #expect(process.state == .needsOperator(reason: needsLogin, old: nil))
    #expect(process.sent.isEmpty && process.published == ["a1"])
    try lock(store).write(login("b1", at: wall + 60))
    process.look()
    #expect(process.published == ["a1", "b1"] && process.reports.contains(.loggedIn))
  }

  @Test("log out during a refresh waits for it; the refreshed token is revoked, too")
  func logOutDuringRefresh() throws {
    let store = MemoryTokenStore()
    try lock(store).write(login())
    var process = Process(login: loginPolicy(), store)
    process.look()
    process.refused(1)
    #expect(process.sent == ["r1"])
    #expect(throws: TokenStoreFailure.self) { try logOut(store) }
    process.answer(grant("a2", refreshToken: "r2"))
    try logOut(store)
    process.look()
    #expect(process.withdrawals == 1)
    #expect(record(store)?.tombstone?.unrevoked.map { text($0.token.bytes) } == ["r2", "a2"])
    #expect(record(store)?.refreshToken == nil)
  }

  @Test("log out of the grant refresh_token: the configured token is not used again, not even after a restart")
  func logOutRefreshToken() throws {
    let policy = makePolicy(grant: .refreshToken(Secret("first")))
    let store = MemoryTokenStore()
    var process = Process(policy, store: store)
    process.need()
    process.answer(grant("a1", refreshToken: "r1"))
    process.look()
    try logOut(store, policy)
    process.look()
    let why = "is logged out; configure another refresh_token"
    #expect(process.withdrawals == 1 && process.reports.last == .loggedOut)
    #expect(process.driver.need().need.unavailable == .needsOperator(why))
    for looksFirst in [true, false] {
      var restart = Process(policy, store: store)
      if looksFirst { restart.look() }
      restart.need()
      #expect(restart.sent.isEmpty)
      #expect(restart.state == .needsOperator(reason: why, old: nil))
      let changed = makePolicy(grant: .refreshToken(Secret("first")), authentication: .none)
      restart.run(restart.driver.machine.reconfigure(changed, now: restart.driver.now))
      #expect(restart.state == .needsOperator(reason: why, old: nil))
    }
    var other = Process(makePolicy(grant: .refreshToken(Secret("second"))), store: store)
    other.look()
    other.need()
    #expect(other.sent == ["second"])
  }

  @Test("reset: a tombstone without tokens ends a login in the same way")
  func reset() throws {
    let store = MemoryTokenStore()
    try lock(store).write(login())
    var process = Process(login: loginPolicy(), store)
    process.look()
    try lock(store).writeTombstone(at: wall + 1, unrevoked: [])
    process.look()
    #expect(process.withdrawals == 1 && process.reports.last == .loggedOut)
    #expect(process.driver.need().need.unavailable == .needsLogin)
  }

  @Test("a withdrawn version is not usable for anybody who has it")
  func withdrawn() {
    var driver = Driver()
    driver.makeReady()
    let version = driver.machine.published
    #expect(version?.isUsable(at: driver.now) == true)
    version?.withdraw()
    #expect(version?.isUsable(at: driver.now) == false && version?.isUsable(at: 0) == false)
  }

  // MARK: Refreshes of a login

  @Test("a refresh uses and rotates the login's refresh token, and the record keeps who logged in")
  func refresh() throws {
    let store = MemoryTokenStore()
    try lock(store).write(login())
    var process = Process(login: loginPolicy(), store)
    process.look()
    process.driver.pass(3_400_000)
    process.run(process.driver.timer())
    #expect(process.sent == ["r1"])
    var answer = TokenGrant(accessToken: Secret("a2"), lifetime: 3_600, refreshToken: Secret("r2"))
    answer.scope = "mail.read mail.send"
    answer.refreshLifetime = 86_400
    process.answer(.token(answer))
    #expect(process.published == ["a1", "a2"])
    let saved = record(store)
    #expect(saved?.generation == UInt64(wall) + 1 && saved?.refreshToken == Secret("r2"))
    #expect(saved?.login?.subject == "alice-17" && saved?.login?.loggedInAt == wall)
    #expect(saved?.login?.scope == "mail.read mail.send" && saved?.login?.expiresAt == wall + 3_400 + 86_400)
    // A server that does not rotate.
    process.refused(2)
    process.answer(grant("a3"))
    #expect(record(store)?.refreshToken == Secret("r2") && process.published.last == "a3")
  }

  @Test("a refused refresh token: a valid token stays in use, then a login is needed; nobody asks the server again")
  func refused() throws {
    let store = MemoryTokenStore()
    try lock(store).write(login())
    var process = Process(login: loginPolicy(), store)
    var other = Process(login: loginPolicy(), store)
    process.look()
    other.look()
    process.refused(1)
    process.answer(refusal(.invalidGrant))
    let why = needsLogin + "; the token server refused: invalid_grant"
    #expect(process.state == .needsOperator(reason: why, old: 1))
    #expect(process.reports.last == .needsLogin(why, refused: true))
    #expect(process.released == [.needsOperator])
    #expect(record(store)?.lastError == .init("the token server refused: invalid_grant", at: wall, isFinal: true))
    #expect(record(store)?.inFlight == false)
    other.look()
    other.look()
    #expect(other.state == .needsOperator(reason: why, old: 1))
    #expect(other.reports.filter { $0 == .needsLogin(why, refused: false) }.count == 1)
    for looksFirst in [true, false] {
      var restart = Process(login: loginPolicy(), store, at: 4_000_000)
      if looksFirst { restart.look() }
      restart.need()
      #expect(restart.sent.isEmpty && restart.driver.need().need.unavailable == .needsLogin)
    }
    process.driver.pass(3_600_000)
    #expect(process.driver.need().need.unavailable == .needsLogin)
    #expect(process.sent == ["r1"])
    try lock(store).write(login("b1", at: wall + 3_600))
    process.look()
    #expect(process.state == .ready(version: 2) && record(store)?.lastError == nil)
  }

  @Test("a failure stays in the record until a refresh succeeds; a time-out leaves the mark, too")
  func lastError() throws {
    let store = MemoryTokenStore()
    try lock(store).write(login())
    var process = Process(login: loginPolicy(), store)
    process.look()
    process.refused(1)
    process.answer(.failed(.status(503)))
    #expect(record(store)?.lastError == .init("the token server answered with status 503", at: wall, isFinal: false))
    #expect(record(store)?.inFlight == true)
    process.driver.pass(2_000)
    process.refused(1)
    process.answer(refusal(.invalidClient))
    #expect(record(store)?.lastError?.isFinal == false && record(store)?.inFlight == false)
    process.driver.pass(5_000)
    process.refused(1)
    process.answer(grant("a2"))
    #expect(process.published.last == "a2" && record(store)?.lastError == nil)
  }

  @Test("a login without refresh token: no refresh, refusals are relayed, and its end needs a login")
  func noRefreshToken() throws {
    let store = MemoryTokenStore()
    try lock(store).write(login(refreshToken: nil))
    var process = Process(login: loginPolicy(), store)
    process.look()
    #expect(process.driver.refused(1).decision.reason == .refreshFailed)
    #expect(process.state == .ready(version: 1))
    process.wake()
    #expect(process.driver.wall == wall + 3_600)
    let why = needsLogin + "; the login has expired"
    #expect(process.state == .needsOperator(reason: why, old: nil))
    #expect(process.reports.filter { $0 == .needsLogin(why, refused: false) }.count == 1 && process.sent.isEmpty)
    process.run(process.driver.timer())
    #expect(process.reports.filter { $0 == .needsLogin(why, refused: false) }.count == 1)
    for looksFirst in [true, false] {
      var restart = Process(login: loginPolicy(), store, at: 3_600_000)
      if looksFirst { restart.look() }
      restart.need()
      #expect(restart.state == .needsOperator(reason: why, old: nil) && restart.sent.isEmpty)
    }
  }

  // MARK: id_token

  @Test("a refresh may bring no id_token; one of another person or server ends the login")
  func foreignIDToken() throws {
    for (name, token, works) in [
      ("none", nil, true), ("the same", idToken(), true), ("another sub", idToken(["sub": "bob"]), false),
      ("another iss", idToken(["iss": "https://other.example"]), false), ("broken", Secret("x"), false),
    ] as [(String, Secret?, Bool)] {
      let store = MemoryTokenStore()
      try lock(store).write(login())
      var process = Process(login: loginPolicy(), store)
      process.look()
      process.refused(1)
      var answer = TokenGrant(accessToken: Secret("a2"), lifetime: 3_600, refreshToken: Secret("r2"))
      answer.idToken = token
      process.answer(.token(answer))
      #expect(process.published == (works ? ["a1", "a2"] : ["a1"]), "\(name)")
      #expect(record(store)?.refreshToken == Secret("r2"), "a logout revokes it: \(name)")
      #expect(record(store)?.lastError?.isFinal == (works ? nil : true), "\(name)")
      #expect(process.driver.machine.needsLogin == !works, "\(name)")
      process.driver.pass(3_600_000)
      process.need()
      #expect(process.sent == (works ? ["r1", "r2"] : ["r1"]), "\(name)")
    }
  }

  @Test("use: id_token: the id_token is sent and kept, the access token only for a logout")
  func usesIDToken() throws {
    let policy = loginPolicy(settings: LoginSettings(use: .idToken))
    let store = MemoryTokenStore()
    let (first, second) = (jwt(claims()), jwt(claims(["exp": .integer(wall + 7_200)])))
    try lock(store, policy).write(login(bearer: first))
    var process = Process(login: policy, store)
    process.look()
    #expect(process.published == [first])
    process.refused(1)
    var answer = TokenGrant(accessToken: Secret("a2"), lifetime: 60, refreshToken: Secret("r2"))
    answer.idToken = Secret(second)
    process.answer(.token(answer))
    #expect(process.published == [first, second])
    #expect(record(store)?.accessToken == Secret(second) && record(store)?.issuedAccessToken == Secret("a2"))
    #expect(record(store)?.expiresAt == wall + 7_200)
    process.refused(2)
    answer.idToken = nil
    process.answer(.token(answer))
    #expect(record(store)?.lastError?.text.contains("no id_token") == true)
    // After the configuration says that requests send the access token, the record's id_token is not sent.
    var changed = Process(login: loginPolicy(), store)
    changed.driver.pass(2_000)
    changed.look()
    changed.need()
    #expect(changed.published.isEmpty && changed.sent == ["r2"])
  }
}
