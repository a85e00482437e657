import CSystem
import Synchronization
import Testing

@testable import EventIO

/// One loop's cache of names, with name servers and a clock of the test.
@Suite struct ResolverTests {
  private let names = HeldNames()
  private let time = Clock()
  private let executor = LoopExecutor()
  private static let second: Int64 = 1_000_000_000

  private final class Clock: Sendable {
    private let value = Atomic<Int64>(1_000_000_000_000)
    var now: Int64 { value.load(ordering: .relaxed) }
    func pass(_ seconds: Int64) { value.add(seconds * ResolverTests.second, ordering: .relaxed) }
  }

  init() {
    let (names, time) = (names, time)
    executor.start()
    executor.call { $0.resolver = Resolver(loop: $0, lanes: names.lanes()) { time.now } }
  }

  private enum Found: Equatable {
    case addresses([String])
    case failed(String)
    case pending
  }
  private static func found(_ answer: Resolver.Answer) -> Found {
    switch answer {
    case .success(let addresses): .addresses(addresses.map(\.host))
    case .failure(let failure): .failed("\(failure)")
    }
  }

  /// The immediate result.
  private func atOnce(_ host: String) async -> Found {
    await withCheckedContinuation { continuation in
      executor.call { loop in
        switch loop.resolver.lookUp(host, for: .client("a"), deliver: { _ in }) {
        case .known(let answer): continuation.resume(returning: Self.found(answer))
        case .pending: continuation.resume(returning: .pending)
        }
      }
    }
  }

  /// The final result.
  private func inTheEnd(_ host: String) async -> Found {
    await withCheckedContinuation { continuation in
      executor.call { loop in
        let lookup = loop.resolver.lookUp(host, for: .client("a")) { continuation.resume(returning: Self.found($0)) }
        if case .known(let answer) = lookup { continuation.resume(returning: Self.found(answer)) }
      }
    }
  }

  /// After the lanes' deliveries.
  private func settled(_ host: String, is wanted: Found) async -> Bool {
    for _ in 0..<2_000 {
      if await atOnce(host) == wanted { return true }
      usleep(1_000)
    }
    return false
  }

  @Test func `all addresses come, and literals at once`() async {
    names.answer("a.test", HeldNames.addresses("10.0.0.1", "fd00::1", "10.0.0.2"))
    #expect(await inTheEnd("a.test") == .addresses(["10.0.0.1", "fd00::1", "10.0.0.2"]))
    #expect(await atOnce("a.test") == .addresses(["10.0.0.1", "fd00::1", "10.0.0.2"]))
    #expect(await atOnce("10.0.0.9") == .addresses(["10.0.0.9"]))
    #expect(names.asked == ["a.test"])
  }

  @Test func `an answer is used for 5 minutes past its time while a new one is fetched`() async {
    names.answer("a.test", HeldNames.addresses("10.0.0.1"))
    _ = await inTheEnd("a.test")
    time.pass(30 + 299)
    #expect(await atOnce("a.test") == .addresses(["10.0.0.1"]))
    await names.begun(2)
    #expect(await atOnce("a.test") == .addresses(["10.0.0.1"]))
    names.answer("a.test", HeldNames.addresses("10.0.0.2"))
    #expect(await settled("a.test", is: .addresses(["10.0.0.2"])))
    #expect(names.asked.count == 2)
    time.pass(30 + 300)
    #expect(await atOnce("a.test") == .pending)
    names.answer("a.test")
  }

  @Test func `a name server that fails takes no answer away, a name that is gone does once its time is over`() async {
    names.answer("a.test", HeldNames.addresses("10.0.0.1"))
    _ = await inTheEnd("a.test")
    time.pass(60)
    #expect(await atOnce("a.test") == .addresses(["10.0.0.1"]))
    names.answer("a.test", .failure(.broken("try again")))
    await names.begun(2)
    // No new look-up so soon.
    names.answer("b.test", HeldNames.addresses("10.0.0.3"))
    _ = await inTheEnd("b.test")
    #expect(await atOnce("a.test") == .addresses(["10.0.0.1"]))
    // The failure may still be on its way to the loop: it counts from when it arrives.
    for _ in 0..<200 where names.asked.count(where: { $0 == "a.test" }) < 3 {
      time.pass(1)
      #expect(await atOnce("a.test") == .addresses(["10.0.0.1"]))
      usleep(1_000)
    }
    names.answer("a.test", .failure(.notFound))
    #expect(await settled("a.test", is: .failed("notFound")))
    #expect(names.asked.filter { $0 == "a.test" }.count == 3)
  }

  @Test func `failures are remembered for 5 s`() async {
    names.answer("a.test", .failure(.notFound))
    #expect(await inTheEnd("a.test") == .failed("notFound"))
    time.pass(4)
    #expect(await atOnce("a.test") == .failed("notFound"))
    time.pass(2)
    names.answer("a.test", HeldNames.addresses("10.0.0.1"))
    #expect(await inTheEnd("a.test") == .addresses(["10.0.0.1"]))
  }

  @Test func `a cancelled wait gets no answer, and others do`() async {
    let heard: Found = await withCheckedContinuation { continuation in
      executor.call { loop in
        let lookup = loop.resolver.lookUp("a.test", for: .client("a")) { _ in Issue.record("cancelled") }
        _ = loop.resolver.lookUp("a.test", for: .client("b")) { continuation.resume(returning: Self.found($0)) }
        if case .pending(let waiter) = lookup { waiter.cancel() } else { Issue.record("known") }
      }
      names.answer("a.test", HeldNames.addresses("10.0.0.1"))
    }
    #expect(heard == .addresses(["10.0.0.1"]))
  }

  @Test func `a name that nobody waits for any more gives its place back`() async {
    for host in ["a.zone1", "b.zone2"] { #expect(await atOnce(host) == .pending) }
    await names.begun(2)
    // Eight places, four of them for one client.
    for round in 0..<20 {
      let isPending = await withCheckedContinuation { continuation in
        executor.call { loop in
          if case .pending(let waiter) = loop.resolver.lookUp(
            "n\(round).zone3", for: .client("a"),
            deliver: { _ in
              Issue.record("cancelled")
            })
          {
            waiter.cancel()
            continuation.resume(returning: true)
          } else {
            continuation.resume(returning: false)
          }
        }
      }
      #expect(isPending)
    }
    #expect(names.asked.count == 2)
    for host in ["a.zone1", "b.zone2"] { names.answer(host) }
    names.answer("last.zone", HeldNames.addresses("10.0.0.1"))
    #expect(await inTheEnd("last.zone") == .addresses(["10.0.0.1"]))
  }
}
