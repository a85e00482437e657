import CSystem
import Dispatch
import Testing

@testable import EventIO

@Suite struct LoopTests {
  @Test("a timer fires on the loop, after its time") func timer() async {
    final class Once: EventHandler {
      let done: () -> Void
      init(_ done: @escaping () -> Void) { self.done = done }
      override func expired(on loop: EventLoop) { done() }
    }
    let executor = LoopExecutor()
    executor.start()
    let elapsed = await withCheckedContinuation { continuation in
      executor.call { loop in
        let begin = loop.clock()
        loop.arm(Once { continuation.resume(returning: loop.clock() - begin) }, afterMilliseconds: 50)
      }
    }
    #expect(elapsed >= 49_000_000)
    #expect(elapsed < 2_000_000_000)
  }

  @Test("a race reaches the one address that answers, past those that refuse") func race() async throws {
    let listener = try ListeningSocket(binding: Address(literal: "127.0.0.1", port: 0)!)
    let dead = try ListeningSocket(binding: Address(literal: "127.0.0.1", port: 0)!)
    let refused = dead.address
    dead.close()
    let executor = LoopExecutor()
    executor.start()
    let reached: Address? = await withCheckedContinuation { continuation in
      executor.call { loop in
        let race = ConnectionRace(on: loop, to: [refused, listener.address]) { result in
          guard case .success(let winner) = result else { return continuation.resume(returning: nil) }
          loop.retire(winner.token)
          Socket.close(winner.descriptor)
          continuation.resume(returning: winner.address)
        }
        loop.install(race)
        race.start()
      }
    }
    #expect(reached == listener.address)
  }

  @Test("a name that cannot exist is answered as not found, and from the cache the second time") func resolver() async {
    let executor = LoopExecutor()
    executor.start()
    let first: Bool = await withCheckedContinuation { continuation in
      executor.call { loop in
        let lookup = loop.resolver.lookUp("localhost", for: .configuration) { answer in
          if case .success(let addresses) = answer, addresses.contains(where: \.isLoopbackOrUnix) {
            if case .known = loop.resolver.lookUp("localhost", for: .configuration, deliver: { _ in }) {
              continuation.resume(returning: true)
            }
          } else {
            continuation.resume(returning: false)
          }
        }
        if case .known = lookup { continuation.resume(returning: false) }
      }
    }
    #expect(first)
  }

  @Test("messages from many threads all arrive, each once") func mailbox() async {
    let executor = LoopExecutor()
    executor.start()
    final class Counter { var value = 0 }
    executor.call { $0.install(Counter()) }
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<1_000 { executor.call { $0.resident(Counter.self).value += 1 } }
        }
      }
    }
    let total = await withCheckedContinuation { continuation in
      executor.call { continuation.resume(returning: $0.resident(Counter.self).value) }
    }
    #expect(total == 8_000)
  }

  @Test("addresses read and print alike", arguments: ["127.0.0.1", "::1", "10.0.0.255", "fd00::8", "0.0.0.0"])
  func addresses(literal: String) {
    #expect(Address(literal: literal, port: 80)?.host == literal)
  }

  @Test(
    "a text that is not a literal address is refused", arguments: ["127.1", "0x7f.0.0.1", "1.2.3.4.5", "::g", "", "2130706433"])
  func noAddress(text: String) { #expect(Address(literal: text, port: 80) == nil) }
}
