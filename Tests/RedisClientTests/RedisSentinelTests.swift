import EventIO
import Foundation
import RedisClient
import RedisProtocol
import Testing

/// Sentinels, a primary and a replica.
@Suite(.enabled(if: RedisServerProcess.isInstalled, "redis-server is not installed"), .timeLimit(.minutes(3)))
struct RedisSentinelTests {
  private let primary: RedisServerProcess
  private let replica: RedisServerProcess
  private let sentinel: RedisServerProcess
  private let ports: (primary: UInt16, replica: UInt16, sentinel: UInt16)

  init() throws {
    ports = (try RedisServerProcess.freePort(), try RedisServerProcess.freePort(), try RedisServerProcess.freePort())
    primary = try RedisServerProcess(["port \(ports.primary)", TestStore.user])
    replica = try RedisServerProcess([
      "port \(ports.replica)", TestStore.user, "replicaof 127.0.0.1 \(ports.primary)", "repl-diskless-sync-delay 0",
    ])
    sentinel = try RedisServerProcess(
      [
        "port \(ports.sentinel)", "sentinel monitor mymaster 127.0.0.1 \(ports.primary) 1",
        "sentinel down-after-milliseconds mymaster 500", "sentinel failover-timeout mymaster 3000",
        "user watcher on >sentinel5ecret -@all +sentinel|get-master-addr-by-name +@connection allchannels",
      ], isSentinel: true)
  }

  private func address(_ port: UInt16) -> RedisAddress { .tcp(host: "127.0.0.1", port: port) }

  private func settings(_ ports: UInt16..., name: String = "mymaster", login: RedisLogin? = nil) -> RedisSettings {
    var settings = RedisSettings(.sentinels(ports.map(address), name: name, login: login))
    settings.login = TestStore.login
    settings.database = 5
    settings.timeout = 5_000
    return settings
  }

  private var isReplicated: Bool { get throws { try primary.command("INFO", "replication").contains("state=online") } }

  @Test func `a fail-over is followed, with its database, and acknowledgements are counted`() throws {
    #expect(try eventually { try isReplicated })
    // Behind a Sentinel that is not there.
    let login = RedisLogin(user: "watcher", password: Array("sentinel5ecret".utf8))
    let store = TestStore(settings(try RedisServerProcess.freePort(), ports.sentinel, login: login))
    _ = try #require(store.connected())
    #expect(store.swap(nil, [1], replicas: 1).acknowledged == 1)
    #expect(store.swap([1], [2], replicas: 2).acknowledged == 1)
    #expect(try eventually { try sentinel.command("SENTINEL", "replicas", "mymaster").contains("\(ports.replica)") })
    primary.kill()
    _ = try #require(store.lost())
    // Until then the Sentinel names a server that is gone.
    let old = store.read().failure
    let next = try #require(store.connected(from: 1))
    #expect(next.isPrimary)
    #expect(try replica.command("ROLE").hasPrefix("master"))
    #expect(try store.read().get().record == [2], "\(String(describing: old))")
    #expect(try replica.command("-n", "5", "EXISTS", "authproxy:one") == "1\n")
    // It has no replica any more.
    #expect(store.swap([2], [3], replicas: 1).acknowledged == 0)
    // The old primary comes back as a replica, and nobody goes there.
    try primary.start()
    #expect(try eventually(seconds: 30) { try primary.command("ROLE").hasPrefix("slave") })
    #expect(store.swap([3], [4]).isSwapped)
  }

  @Test func `what a Sentinel says is verified`() throws {
    #expect(try eventually { try isReplicated })
    let port = try RedisServerProcess.freePort()
    let liar = try RedisServerProcess(
      ["port \(port)", "sentinel monitor mymaster 127.0.0.1 \(ports.replica) 1"], isSentinel: true)
    let store = TestStore(settings(port))
    guard case .noSentinel(let reason)? = store.lost() else {
      Issue.record("it was believed")
      return
    }
    // Sentinel itself finds out soon whose replica that is.
    #expect(
      reason.contains("the server is a replica") || reason.contains("names redis://127.0.0.1:\(ports.replica)"), "\(reason)")
    let both = TestStore(settings(port, ports.sentinel))
    #expect(both.connected() != nil)
    withExtendedLifetime(liar) {}
  }

  @Test func `a name that no Sentinel knows, and a server that is none, are named`() throws {
    guard case .noSentinel(let unknown)? = TestStore(settings(ports.sentinel, name: "other")).lost() else {
      Issue.record("it was found")
      return
    }
    #expect(unknown.contains("redis://127.0.0.1:\(ports.sentinel)") && unknown.contains("does not know a primary named other"))
    var settings = settings(ports.primary)
    if case .sentinels(let addresses, let name, _) = settings.location {
      settings.location = .sentinels(addresses, name: name, login: TestStore.login)
    }
    guard case .noSentinel(let none)? = TestStore(settings).lost() else {
      Issue.record("it was found")
      return
    }
    #expect(none.contains("is a Sentinel, or is none"), "\(none)")
  }
}
