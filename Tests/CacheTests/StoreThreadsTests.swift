import Synchronization
import Testing

@testable import Cache

// The thread sanitizer does not see Synchronization.Mutex, whose futex calls it does not instrument: under it, replace Mutex with one of
// pthread's. It sees the atomics, and so the bodies that one thread writes and others read.

private final class Tally: Sendable {
  private let number = Atomic<Int>(0)
  var value: Int { number.load(ordering: .relaxed) }
  func count() { number.add(1, ordering: .relaxed) }
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
            case 1: if number == 0 { store.drop(.purged) { $0.partition === them } }
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
