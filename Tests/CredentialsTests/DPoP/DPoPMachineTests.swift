import Crypto
import Testing

@testable import Credentials

private let wall: Int64 = 1_800_000_000
private let loginGrant = OAuth2Policy.Grant.authorizationCode(.init())

private func login(_ token: String, _ key: DPoPKey?) throws -> CompletedLogin {
  CompletedLogin(
    accessToken: Secret(token), refreshToken: Secret("r-\(token)"), bearer: Secret(token), expiresAt: wall + 3_600,
    lifetime: 3_600, loggedInAt: wall, dpopKey: try key?.stored())
}

private func write(_ login: CompletedLogin, _ policy: OAuth2Policy, _ store: any TokenStore) throws {
  try LockedRecord(of: "api", policy: policy, in: store, within: 0).write(login)
}

extension Process {
  fileprivate init(_ policy: OAuth2Policy, _ store: any TokenStore, key: DPoPKey?) {
    self.init(policy, store: store)
    driver.machine = OAuth2Machine(name: "api", policy: policy, seed: 7, dpopKey: key)
  }

  fileprivate mutating func look() {
    run(driver.machine.seen(store.perform(.look(since: nil), for: "api"), now: driver.now, wall: driver.wall))
  }

  fileprivate var current: RenderedCredential? { driver.machine.published }
}

@Suite("The key that tokens are bound to")
struct DPoPMachineTests {
  @Test("a token is rendered with its scheme, and bound to the key and its own hash")
  func rendered() throws {
    let key = try DPoPKey.generated()
    var driver = Driver(dpopPolicy())
    driver.machine = OAuth2Machine(name: "api", policy: dpopPolicy(), seed: 7, dpopKey: key)
    driver.makeReady("one")
    let current = try #require(driver.machine.published)
    #expect(text(current.line) == "Authorization: DPoP one\r\n")
    #expect(current.proof?.key == key)
    #expect(current.proof?.tokenHash == DPoPKey.hash(of: Secret("one")))
    var bearer = Driver()
    bearer.makeReady("one")
    #expect(bearer.machine.published?.proof == nil)
  }

  @Test("a login's key comes from its record: the token of the record is proved with it, and so is the next one")
  func fromRecord() throws {
    let (store, policy, key) = (MemoryTokenStore(), dpopPolicy(grant: loginGrant), try DPoPKey.generated())
    try write(login("a1", key), policy, store)
    var process = Process(policy, store, key: policy.keyWithoutStore)
    #expect(process.driver.machine.dpopKey == nil)
    process.look()
    #expect(process.published == ["a1"])
    #expect(process.current?.proof?.key == key)
    process.driver.pass(3_500_000)
    process.need()
    process.answer(grant("a2", refreshToken: "r2"))
    #expect(process.published == ["a1", "a2"])
    #expect(process.current?.proof?.key == key)
    // A restart, and another process.
    var next = Process(policy, store, key: nil)
    next.driver.now = process.driver.now
    next.driver.wall = process.driver.wall
    next.look()
    #expect(next.published == ["a2"] && next.current?.proof?.key == key)
    // Another login brings another key.
    let other = try DPoPKey.generated()
    try write(login("b1", other), policy, store)
    next.driver.wall = wall
    next.look()
    #expect(next.published == ["a2", "b1"] && next.current?.proof?.key == other)
  }

  @Test("a record whose key is gone or damaged brings no token", arguments: [nil, Secret("nonsense")])
  func lostKey(key: Secret?) throws {
    let (store, policy) = (MemoryTokenStore(), dpopPolicy(grant: loginGrant))
    var lost = try login("a1", nil)
    lost.dpopKey = key
    try write(lost, policy, store)
    var process = Process(policy, store, key: nil)
    process.look()
    #expect(process.published == [])
  }

  @Test("nor does it after another key: nothing is sent, until the next login", arguments: [nil, Secret("nonsense")])
  func lostLaterKey(key: Secret?) throws {
    let (store, policy, first) = (MemoryTokenStore(), dpopPolicy(grant: loginGrant), try DPoPKey.generated())
    try write(login("a1", first), policy, store)
    var process = Process(policy, store, key: nil)
    process.look()
    #expect(process.published == ["a1"])
    var lost = try login("b1", nil)
    lost.dpopKey = key
    try write(lost, policy, store)
    process.look()
    process.driver.pass(3_700_000)
    process.need()
    #expect(process.published == ["a1"] && process.sent == [])
    #expect(process.failed == [.needsLogin] && process.driver.machine.needsLogin)
    let next = try DPoPKey.generated()
    try write(login("c1", next), policy, store)
    process.driver.wall = wall
    process.look()
    #expect(process.published == ["a1", "c1"] && process.current?.proof?.key == next)
  }

  @Test("a stored refresh token whose key is gone is not sent without proof", arguments: [nil, Secret("nonsense")])
  func lostConfidentialKey(key: Secret?) throws {
    let store = MemoryTokenStore()
    let policy = dpopPolicy(grant: .refreshToken(Secret("first")))
    let record = TokenRecord(
      binding: TokenBinding.digest(of: policy), generation: 3, refreshToken: Secret("r3"), dpopKey: key)
    _ = store.perform(.read, for: "api")
    _ = store.perform(.save(record), for: "api")
    _ = store.perform(.release, for: "api")
    var process = Process(policy, store, key: try .generated())
    process.need()
    #expect(process.sent == [] && process.failed.count == 1)
    guard case .needsOperator = process.driver.machine.state(now: process.driver.now) else {
      Issue.record("it goes on")
      return
    }
  }

  @Test("a downgraded answer's refresh token takes the place of the one that was sent, also for other processes")
  func downgradedRefresh() throws {
    let (store, policy, key) = (MemoryTokenStore(), dpopPolicy(grant: loginGrant), try DPoPKey.generated())
    try write(login("a1", key), policy, store)
    var (process, other) = (Process(policy, store, key: nil), Process(policy, store, key: nil))
    process.look()
    other.look()
    process.driver.pass(3_700_000)
    process.need()
    #expect(process.sent == ["r-a1"])
    let body = #"{"token_type": "Bearer", "access_token": "a2", "refresh_token": "r2"}"#
    process.answer(TokenResponse.parse(status: 200, body: bytes(body), as: .dpop))
    #expect(process.published == ["a1"] && process.failed.count == 1)
    // The first one's back-off is both's.
    other.driver.pass(3_702_000)
    other.need()
    #expect(other.sent == ["r2"])
    other.answer(grant("a3", refreshToken: "r3"))
    #expect(other.published.last == "a3" && other.current?.proof?.key == key)
  }

  @Test("a key of the configuration is in no record, and outlives each of them")
  func configured() throws {
    let key = try DPoPKey.generated()
    let (store, policy) = (MemoryTokenStore(), dpopPolicy(grant: loginGrant, dpop: .key(key)))
    try write(login("a1", nil), policy, store)
    var process = Process(policy, store, key: policy.keyWithoutStore)
    process.look()
    #expect(process.published == ["a1"] && process.current?.proof?.key == key)
    process.driver.pass(3_500_000)
    process.need()
    process.answer(grant("a2", refreshToken: "r2"))
    guard case .seen(let record?, _) = store.perform(.look(since: nil), for: "api") else {
      Issue.record("no record")
      return
    }
    #expect(record.dpopKey == nil && record.accessToken == Secret("a2"))
  }

  @Test("a confidential client's generated key is stored beside its refresh token, and a restart goes on with it")
  func confidential() throws {
    let store = MemoryTokenStore()
    let policy = dpopPolicy(grant: .refreshToken(Secret("first")))
    let key = try DPoPKey.generated()
    var process = Process(policy, store, key: key)
    process.need()
    process.answer(grant("a1", refreshToken: "r2"))
    #expect(process.current?.proof?.key == key)
    var next = Process(policy, store, key: try .generated())
    next.driver.now = process.driver.now
    next.driver.wall = process.driver.wall
    next.need()
    #expect(next.published == ["a1"] && next.current?.proof?.key == key)
  }

  @Test("another dpop is another binding; the same one is the same")
  func bindings() throws {
    let (one, other) = (try DPoPKey.generated(), try DPoPKey.generated())
    let kinds: [OAuth2Policy.DPoP?] = [nil, .generated, .key(one), .key(other)]
    let digests = kinds.map { TokenBinding.digest(of: dpopPolicy(grant: loginGrant, dpop: $0)) }
    #expect(Set(digests).count == 4)
    let again = try DPoPKey(stored: try one.stored())
    #expect(TokenBinding.digest(of: dpopPolicy(grant: loginGrant, dpop: .key(again))) == digests[2])
  }
}
