import EventIO
import Foundation
import RedisClient
import RedisProtocol
import Testing

/// What happens to real servers.
@Suite(.enabled(if: RedisServerProcess.isInstalled, "redis-server is not installed"), .timeLimit(.minutes(3)))
struct RedisFaultTests {
  private static let one = Array("one".utf8)

  @Test func `a server that was killed is lost at once, and found again at once by who waits`() throws {
    let server = try RedisServerProcess([TestStore.user, "appendonly yes", "appendfsync always"])
    let store = TestStore(server.address)
    _ = try #require(store.connected())
    #expect(store.swap(nil, Self.one).isSwapped)
    server.kill()
    #expect(store.lost() == .closed)
    // Each asks for an attempt of its own, but no second has two.
    let failures = (0..<3).map { _ in store.read().failure }
    #expect(failures == Array(repeating: RedisOperationFailure(.unreachable("Connection refused")), count: 3))
    try server.start()
    let start = Date()
    #expect(try store.read().get().record == Self.one)
    #expect(Date().timeIntervalSince(start) < 3)
    #expect(store.events.change { $0.count { if case .connected = $0 { true } else { false } } } == 2)
    #expect(store.losses == 1)
  }

  @Test func `who has something unsaved comes back soon without a request`() throws {
    let server = try RedisServerProcess([TestStore.user])
    let store = TestStore(server.address)
    _ = try #require(store.connected())
    store.on { $0.hasUnsaved = true }
    server.kill()
    _ = try #require(store.lost())
    let before = store.count
    try server.start()
    let start = Date()
    #expect(store.connected(from: before) != nil)
    #expect(Date().timeIntervalSince(start) < 3)
  }

  @Test func `the process starts before its store`() throws {
    let server = try RedisServerProcess([TestStore.user])
    server.kill()
    let store = TestStore(server.address)
    #expect(store.lost() == .unreachable("Connection refused"))
    try server.start()
    #expect(store.connected() != nil)
    let nowhere = TestStore(.unix(path: server.folder + "/nothing"))
    #expect(nowhere.lost() == .unreachable("No such file or directory"))
    #expect(nowhere.read().failure?.reason == .unreachable("No such file or directory"))
  }

  @Test(arguments: [false, true])
  func `a reply that does not come ends the connection, and a write may have been done`(isFrozen: Bool) throws {
    let server = try RedisServerProcess([TestStore.user])
    let store = TestStore(server.address, timeout: 1_000)
    _ = try #require(store.connected())
    let connected = store.count
    if isFrozen { server.freeze() } else { _ = try server.command("CLIENT", "PAUSE", "5000") }
    let start = Date()
    #expect(store.swap(nil, Self.one).failure == RedisOperationFailure(.replyTimeout(milliseconds: 1_000), mayBeDone: true))
    #expect((0.9..<5).contains(Date().timeIntervalSince(start)))
    #expect(store.lost(from: connected) == .replyTimeout(milliseconds: 1_000))
    let before = store.count
    // A frozen machine accepts connections, and answers nothing.
    let reading = store.read()
    #expect(reading.failure?.reason == .connectTimeout(milliseconds: 1_000) || !isFrozen, "\(reading)")
    server.thaw()
    #expect(store.connected(from: before) != nil)
    #expect(try store.read().get().record ?? Self.one == Self.one)
  }

  @Test func `commands behind one that takes long have their whole time`() throws {
    let server = try RedisServerProcess([TestStore.user])
    let store = TestStore(server.address, timeout: 2_000)
    _ = try #require(store.connected())
    // WAIT takes half of the time-out, as there are no replicas.
    let results = Monitor<[Bool]>([])
    store.on { client in
      for index in 0..<4 {
        client.compareAndSet(Array("authproxy:\(index)".utf8), expected: nil, replacement: [1], replicas: 1) { result in
          results.change { $0.append(result.acknowledged == 0) }
        }
      }
    }
    #expect(results.wait { $0.count == 4 ? $0 : nil } == [true, true, true, true])
    #expect(store.losses == 0)
  }

  @Test func `a server that is full refuses writes, and the connection goes on`() throws {
    let server = try RedisServerProcess([TestStore.user, "maxmemory-policy noeviction"])
    let store = TestStore(server.address)
    #expect(store.swap(nil, Self.one).isSwapped)
    _ = try server.command("CONFIG", "SET", "maxmemory", "1")
    let failure = try #require(store.swap(Self.one, [2]).failure)
    #expect(failure == RedisOperationFailure(.refused(RedisRefusal(.outOfMemory, code: "OOM"))))
    #expect("\(failure)".hasPrefix("OOM: the server has reached `maxmemory`"))
    _ = try server.command("CONFIG", "SET", "maxmemory", "0")
    #expect(try store.read().get().record == Self.one)
    #expect(store.swap(Self.one, [2]).isSwapped)
    #expect(store.losses == 0)
  }

  @Test func `logins that are missing, wrong or off are told apart`() throws {
    let server = try RedisServerProcess([
      TestStore.user, "user off off >\(TestStore.password) \(TestStore.rules)", "user default resetpass off",
    ])
    let wrong = RedisRefusal(.passwordWrong, code: "WRONGPASS")
    let cases: [(RedisLogin?, RedisFailure)] = [
      (nil, .refused(RedisRefusal(.passwordMissing, code: "NOAUTH"))),
      (RedisLogin(user: "authproxy", password: Array("other 5ecret".utf8)), .refused(wrong)),
      (RedisLogin(user: "nobody", password: Array(TestStore.password.utf8)), .refused(wrong)),
      (RedisLogin(user: "off", password: Array(TestStore.password.utf8)), .refused(wrong)),
    ]
    for (login, failure) in cases {
      let store = TestStore(server.address, login: login)
      #expect(store.lost() == failure)
      #expect(store.read().failure?.reason == failure)
      #expect(!"\(failure)".contains("5ecret"))
    }
    #expect(TestStore(server.address).connected() != nil)
  }

  @Test func `a permission that is missing is named, and nothing is written without it`() throws {
    let rules = TestStore.rules
    let server = try RedisServerProcess([
      "user nopublish on >5ecret \(rules) -publish",
      "user nochannel on >5ecret \(rules.replacing("&authproxy:*", with: "resetchannels &other"))",
      "user nokeys on >5ecret \(rules.replacing("~authproxy:*", with: "~other:*"))", "user noeval on >5ecret \(rules) -eval",
      "user nowait on >5ecret \(rules) -wait",
    ])
    func store(_ user: String) -> TestStore {
      TestStore(server.address, login: RedisLogin(user: user, password: Array("5ecret".utf8)))
    }
    for user in ["nopublish", "nokeys", "noeval"] {
      let failure = try #require(store(user).swap(nil, Self.one).failure)
      guard case .refused(let refusal) = failure.reason else {
        Issue.record("\(user): \(failure)")
        continue
      }
      #expect(refusal.kind == .permissionMissing, "\(user): \(refusal)")
    }
    #expect(store("nochannel").lost() == .refused(RedisRefusal(.permissionMissing, code: "NOPERM")))
    #expect(try server.command("EXISTS", "authproxy:one") == "0\n")
    // It is written, but nobody knows how many have it.
    let swap = store("nowait").swap(nil, Self.one, replicas: 1)
    guard case .success(.swapped(_, acknowledged: 0, lacking: .refused(let refusal)?)) = swap else {
      Issue.record("\(swap)")
      return
    }
    #expect(refusal.kind == .permissionMissing)
  }

  @Test func `a user that is removed loses the connection`() throws {
    let server = try RedisServerProcess([TestStore.user])
    let store = TestStore(server.address)
    _ = try #require(store.connected())
    _ = try server.command("ACL", "DELUSER", "authproxy")
    _ = try #require(store.lost())
    #expect(store.read().failure?.reason == .refused(RedisRefusal(.passwordWrong, code: "WRONGPASS")))
    _ = try server.command(
      "ACL", "SETUSER", "authproxy", "on", ">\(TestStore.password)", "allkeys", "allchannels", "allcommands")
    #expect(store.connected(from: 1) != nil)
  }

  @Test func `a server without room for another client says so`() throws {
    let server = try RedisServerProcess([TestStore.user, "maxclients 1"])
    let first = TestStore(server.address)
    _ = try #require(first.connected())
    #expect(TestStore(server.address).lost() == .refused(RedisRefusal(.tooManyClients, code: "ERR")))
  }

  @Test func `a primary that becomes a replica is left, and is found again as a primary`() throws {
    let port = try RedisServerProcess.freePort()
    let other = try RedisServerProcess(["port \(port)", TestStore.user])
    let server = try RedisServerProcess([TestStore.user])
    let store = TestStore(server.address)
    #expect(store.swap(nil, Self.one).isSwapped)
    _ = try server.command("REPLICAOF", "127.0.0.1", "\(port)")
    let failure = try #require(store.swap(Self.one, [2]).failure)
    #expect([.refused(RedisRefusal(.readOnly, code: "READONLY")), .notPrimary, .closed].contains(failure.reason), "\(failure)")
    _ = try #require(store.lost())
    #expect(store.read().failure?.reason == .notPrimary)
    let before = store.count
    _ = try server.command("REPLICAOF", "NO", "ONE")
    #expect(store.connected(from: before) != nil)
    withExtendedLifetime(other) {}
  }

  @Test func `a server that is no primary, or no Redis, is not used`() throws {
    let port = try RedisServerProcess.freePort()
    let primary = try RedisServerProcess(["port \(port)"])
    let replica = try RedisServerProcess([TestStore.user, "replicaof 127.0.0.1 \(port)"])
    #expect(TestStore(replica.address).lost() == .notPrimary)
    let sentinelPort = try RedisServerProcess.freePort()
    let sentinel = try RedisServerProcess(
      ["port \(sentinelPort)", "sentinel monitor mymaster 127.0.0.1 \(port) 1"], isSentinel: true)
    #expect(TestStore(.tcp(host: "127.0.0.1", port: sentinelPort), login: nil).lost() == .wrongMode)
    withExtendedLifetime((primary, sentinel)) {}
  }
}
