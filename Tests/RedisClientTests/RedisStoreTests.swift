import EventIO
import Foundation
import RedisClient
import RedisProtocol
import Testing

/// Against a real server that has only the ACL user of the documentation.
@Suite(.enabled(if: RedisServerProcess.isInstalled, "redis-server is not installed"), .timeLimit(.minutes(2)))
struct RedisStoreTests {
  private let server: RedisServerProcess

  init() throws { server = try RedisServerProcess([TestStore.user]) }

  private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

  @Test func `the documented ACL suffices for all that is done, and HELLO says who answers`() throws {
    let store = TestStore(server.address) { $0.database = 3 }
    let found = try #require(store.connected())
    #expect(found.mode == .standalone && found.isPrimary && found.subscribers == 1)
    #expect(try server.command("INFO", "server").contains("redis_version:\(found.version)"))
    #expect(try store.read().get().record == nil)
    #expect(store.swap(nil, Self.bytes("one")).isSwapped)
    #expect(store.swap(Self.bytes("one"), Self.bytes("two"), life: 60_000, replicas: 1).acknowledged == 0)
    #expect(try store.read().get().record == Self.bytes("two"))
    #expect(store.swap(Self.bytes("two"), nil).isSwapped)
    #expect(try store.read().get().record == nil)
    #expect(try server.command("ACL", "LOG").trimmingCharacters(in: .whitespacesAndNewlines).isEmpty)
    #expect(try server.command("CLIENT", "LIST").contains("name=authproxy"))
    #expect(try server.command("CLIENT", "LIST").contains(" db=3 "))
  }

  @Test func `the time is the server's`() throws {
    let store = TestStore(server.address)
    let words = try server.command("TIME").split(separator: "\n").compactMap { Int64($0) }
    let before = words[0] * 1_000_000 + words[1]
    let first = try store.read().get().time.microseconds
    guard case .success(.swapped(let second, _, _)) = store.swap(nil, [1]) else {
      Issue.record("not swapped")
      return
    }
    #expect(before < first && first < second.microseconds && second.microseconds < before + 60_000_000)
  }

  @Test func `a record is compared whole, byte by byte, and absence is no empty record`() throws {
    let store = TestStore(server.address)
    let records: [[UInt8]] = [[], [0], [0, 0], Self.bytes("\r\n"), Self.bytes("$-1\r\n"), (0...255).map { UInt8($0) }, [0xff]]
    for (index, record) in records.enumerated() {
      let key = "authproxy:\(index)"
      #expect(store.swap(nil, record, key: key).isSwapped)
      #expect(try store.read(key).get().record == record)
      for other in [nil] + records.filter({ $0 != record }).map(Optional.some) {
        guard case .success(.differs(let reading)) = store.swap(other, [7, 7], key: key) else {
          Issue.record("\(record) was taken for \(String(describing: other))")
          continue
        }
        #expect(reading.record == record)
      }
      #expect(store.swap(record, nil, key: key).isSwapped)
    }
  }

  @Test func `a record with a life is forgotten by the server, one without is kept`() throws {
    let store = TestStore(server.address)
    #expect(store.swap(nil, [1], life: 60_000).isSwapped)
    let left = try #require(Int(try server.command("PTTL", "authproxy:one").trimmingCharacters(in: .whitespacesAndNewlines)))
    #expect((1...60_000).contains(left))
    #expect(store.swap([1], [2]).isSwapped)
    #expect(try server.command("PTTL", "authproxy:one").hasPrefix("-1"))
    #expect(store.swap([2], [3], life: 0).isSwapped)
    #expect(try eventually { try store.read().get().record == nil })
  }

  @Test func `a large record goes through in both directions`() throws {
    let store = TestStore(server.address)
    let record = (0..<700_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) }
    #expect(store.swap(nil, record).isSwapped)
    #expect(try store.read().get().record == record)
    // A reply over the limit ends the connection, and others go on.
    _ = try server.command("SETRANGE", "authproxy:big", "2000000", "x")
    #expect(store.read("authproxy:big").failure?.reason == .malformed(.tooLarge))
    #expect(try store.read().get().record == record)
  }

  @Test func `of many writers at one record each success counts once`() throws {
    let stores = (0..<4).map { _ in TestStore(server.address) }
    let (successes, losses) = (Monitor(0), Monitor(0))
    let done = Monitor(0)
    for store in stores {
      Thread {
        for _ in 0..<50 {
          var won = false
          while !won {
            guard let reading = try? store.read("authproxy:count").get() else { return }
            let value = reading.record.flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0
            won = store.swap(reading.record, Self.bytes("\(value + 1)"), key: "authproxy:count").isSwapped
            if won { successes.change { $0 += 1 } } else { losses.change { $0 += 1 } }
          }
        }
        done.change { $0 += 1 }
      }.start()
    }
    #expect(done.wait(60) { $0 == 4 ? true : nil } ?? false)
    #expect(try server.command("GET", "authproxy:count") == "200\n")
    #expect(successes.change { $0 } == 200)
    #expect(losses.change { $0 } > 0, "they never met")
  }

  @Test func `a change reaches the others, and the writer, within a second`() throws {
    let stores = (0..<3).map { _ in TestStore(server.address) }
    for store in stores { _ = try #require(store.connected()) }
    var slowest = 0.0
    for round in 0..<20 {
      let key = "authproxy:\(round)"
      let start = Date()
      #expect(stores[round % 3].swap(nil, [1], key: key).isSwapped)
      for store in stores {
        #expect(store.await(seconds: 1) { $0 == .changed(key: Self.bytes(key)) } != nil)
      }
      slowest = max(slowest, Date().timeIntervalSince(start))
    }
    #expect(slowest < 1)
    // What was not written is not announced.
    let before = stores[1].count
    #expect(!stores[0].swap(nil, [2], key: "authproxy:0").isSwapped)
    #expect(stores[0].swap([1], [2], key: "authproxy:1").isSwapped)
    #expect(stores[1].await(from: before) { $0 == .changed(key: Self.bytes("authproxy:1")) } != nil)
    #expect(!stores[1].events.change { $0.dropFirst(before).contains(.changed(key: Self.bytes("authproxy:0"))) })
  }

  @Test func `each connection counts the subscribers`() throws {
    let stores = (1...4).map { number in
      let store = TestStore(server.address)
      #expect(store.connected()?.subscribers == number)
      return store
    }
    #expect(stores.count == 4)
  }

  @Test func `many commands at once are all answered`() throws {
    let store = TestStore(server.address)
    let answered = Monitor<[Int: [UInt8]]>([:])
    store.on { client in
      for index in 0..<2_000 {
        client.compareAndSet(Array("authproxy:\(index)".utf8), expected: nil, replacement: Array("\(index)".utf8)) { _ in }
        client.read(Array("authproxy:\(index)".utf8)) { result in
          answered.change { $0[index] = (try? result.get())?.record ?? nil }
        }
      }
    }
    let all = try #require(answered.wait(30) { $0.count == 2_000 ? $0 : nil })
    #expect(all.allSatisfy { $0.value == Array("\($0.key)".utf8) })
  }

  @Test func `an idle connection wakes nothing, and is one`() throws {
    let store = TestStore(server.address, timeout: 500)
    _ = try #require(store.connected())
    _ = try store.read().get()
    let thread = Handover<String>()
    store.executor.call { _ in
      thread.put((try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")) ?? "")
    }
    let status = "/proc/\(thread.take())/status"
    func wakeUps() throws -> Int {
      let text = try String(contentsOfFile: status, encoding: .utf8)
      let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches") })
      let count = try #require(line.split(separator: "\t").last)
      return try #require(Int(count))
    }
    // The timer of the last reply is looked at once more, and then gone.
    var before = -1
    while case let now = try wakeUps(), now != before {
      before = now
      Thread.sleep(forTimeInterval: 2)
    }
    #expect(try wakeUps() == before)
    let clients = try server.command("CLIENT", "LIST").split(separator: "\n").count { $0.contains("name=authproxy") }
    #expect(clients == 1)
  }

  @Test func `after it was stopped everything fails, and the connection is gone`() throws {
    let store = TestStore(server.address)
    _ = try #require(store.connected())
    let failures = Monitor<[RedisOperationFailure?]>([])
    store.on { client in
      client.compareAndSet([1], expected: nil, replacement: [1]) { result in failures.change { $0.append(result.failure) } }
      client.stop()
      client.read([1]) { result in failures.change { $0.append(result.failure) } }
      client.stop()
    }
    let found = try #require(failures.wait { $0.count == 2 ? $0 : nil })
    #expect(found[0] == RedisOperationFailure(.stopped, mayBeDone: true))
    #expect(found[1] == RedisOperationFailure(.stopped))
    #expect(store.read().failure?.reason == .stopped)
    #expect(try eventually { try !server.command("CLIENT", "LIST").contains("name=authproxy") })
  }
}
