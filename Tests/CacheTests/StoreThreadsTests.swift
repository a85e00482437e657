import Synchronization
import Testing

@testable import Cache

// The thread sanitizer does not see Synchronization.Mutex, whose futex calls it does not instrument: under it, replace Mutex with one of
// pthread's. It sees the atomics, and so the bodies that one thread writes and others read.

private final class Tally: Sendable {
  private let number = Atomic<Int>(0)
  var value: Int { number.load(ordering: .sequentiallyConsistent) }
  @discardableResult
  func count() -> Int { number.add(1, ordering: .sequentiallyConsistent).newValue }
  func raise(to value: Int) { number.max(value, ordering: .sequentiallyConsistent) }
}

@Suite("The store, used by several threads,")
struct StoreThreadsTests {
  @Test("gives each reader whole bodies of the right partition, keeps its limit and frees everything")
  func hammer() async {
    let store = CacheStore(limit: 512 << 10)
    let wrong = Tally()
    let over = Tally()
    let hits = Tally()
    await withTaskGroup(of: Void.self) { group in
      for thread in 0..<4 {
        group.addTask {
          var random = Seeded(UInt64(thread) + 1)
          for _ in 0..<600 {
            let partition = random.next() % 2 == 0 ? us : them
            let number = Int(random.next() % 60)
            let seed = number * 2 + (partition === us ? 0 : 1)
            switch random.next() % 20 {
            case 0: store.invalidate(target("/\(number)"))
            case 1: if number == 0 { store.drop(.purged) { _, partition in partition === them } }
            case 2: store.set(limit: (256 << 10) + Int(random.next() % (256 << 10)))
            case 3: store.sweep(now: Int64(random.next() % 3) * second)
            default:
              if let answer = get(store, "/\(number)", partition) {
                answer.noteUse()
                if text(of: answer) != pattern(seed, 20_000) { wrong.count() }
                hits.count()
              } else {
                put(store, "/\(number)", pattern(seed, 20_000), partition)
              }
            }
            if store.bytes > 512 << 10 { over.count() }
          }
        }
      }
    }
    #expect(wrong.value == 0 && over.value == 0 && hits.value > 100)
    store.drop(.purged) { _ in true }
    #expect(store.bytes == 0 && store.count == 0 && store.heldBytes == 0)
  }

  @Test("gives nobody an answer from before an invalidation that has returned")
  func invalidations() async {
    let store = CacheStore(limit: 1 << 20)
    let keys = 3
    // What the origin has, and what was written and invalidated.
    let origin = (0..<keys).map { _ in Tally() }
    let settled = (0..<keys).map { _ in Tally() }
    let old = Tally()
    let hits = Tally()
    await withTaskGroup(of: Void.self) { group in
      for thread in 0..<4 {
        group.addTask {
          var random = Seeded(UInt64(thread) + 77)
          for _ in 0..<8000 {
            let key = Int(random.next() % UInt64(keys))
            switch random.next() % 8 {
            case 0:
              let version = origin[key].count()
              if random.next() % 8 == 0 {
                store.drop(.purged) { asked, _ in asked == target("/\(key)") }
              } else {
                store.invalidate(target("/\(key)"))
              }
              settled[key].raise(to: version)
            case 1, 2, 3:
              let began = store.begin()
              let version = origin[key].value
              if random.next() % 2 == 0 { await Task.yield() }
              put(store, "/\(key)", withUnsafeBytes(of: version) { Array($0) }, began: began)
            default:
              let least = settled[key].value
              guard let answer = get(store, "/\(key)") else { continue }
              hits.count()
              let version = text(of: answer).withUnsafeBytes { $0.loadUnaligned(as: Int.self) }
              if version < least { old.count() }
            }
          }
        }
      }
    }
    #expect(old.value == 0 && hits.value > 1000, "\(old.value) of \(hits.value)")
  }

  @Test("lets one of many fetch, and all read the body while it is written")
  func readers() async {
    let store = CacheStore(limit: 8 << 20)
    let leaders = Tally()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          for number in 0..<200 {
            let probe = store.probe(target("/\(number)"), us, now: 0)
            if probe.flight(needs: RequestNeeds(), now: 0, { _ in .none }) != nil { continue }
            if case .flight = store.lead(target("/\(number)"), us, vary: .none, variant: .none, after: probe, loop: 0) {
              leaders.count()
            }
          }
        }
      }
    }
    #expect(leaders.value == 200 && store.flightCount == 200)
  }

  @Test("frees nothing that a reader on another thread still reads")
  func streams() async throws {
    let store = CacheStore(limit: 8 << 20)
    let body = pattern(9, 500_000)
    for isStored in [true, false] {
      // The writer is not Sendable: it is made, used and released on its own task.
      let (readers, continuation) = AsyncStream<BodyReader>.makeStream()
      let all = Task.detached {
        guard let writer = BodyWriter(store, length: nil) else { return false }
        for _ in 0..<3 { if let reader = writer.reader() { continuation.yield(reader) } }
        continuation.finish()
        if !isStored { writer.release() }
        var start = 0
        while start < body.count {
          let taken = write(Array(body[start..<min(body.count, start + 7001)]), to: writer)
          start += taken
          if taken == 0 { await Task.yield() }
        }
        return (writer.finish() != nil) == isStored
      }
      let equal = await withTaskGroup(of: Bool.self) { group in
        for await reader in readers {
          group.addTask {
            var reader = reader
            var got: [UInt8] = []
            while true {
              let more = read(&reader)
              got += more.bytes
              if more.end != "later" { return more.end == "complete" && got == body }
              await Task.yield()
            }
          }
        }
        return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
      }
      #expect(equal == 3)
      #expect(await all.value)
    }
    #expect(store.bytes == 0)
  }
}
