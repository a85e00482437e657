import CSystem
import EventIO
import HTTPWire
import Trust

/// Waits for a revocation answer. It is called on its own loop, once the answer is in the cache or cannot be had.
protocol RevocationWaiter: AnyObject {
  func revocationAnswered()
}

/// One loop's part in fetching revocation answers. In the whole process, each question is asked once at a time, by the loop
/// that came first. All waiters, on any loop, are told by message. If a waiter leaves, the others still get the answer.
final class RevocationFetches: EventHandler {
  /// Parsing a large list takes too long for a loop.
  private static let lane = Lane(label: "lane.trust", width: 1, backlog: 1024)
  /// Milliseconds between two searches for answers that expire soon.
  private static let refreshInterval = 5_000

  private unowned let upstreams: Upstreams
  private var waiting: [[UInt8]: [any RevocationWaiter]] = [:]

  init(_ upstreams: Upstreams) {
    self.upstreams = upstreams
    super.init()
    // All loops share the cache. Loop 0 keeps it fresh.
    if upstreams.loop.executor.index == 0 { upstreams.loop.arm(self, afterMilliseconds: Self.refreshInterval) }
  }

  private var cache: RevocationCache { upstreams.shared.revocation }

  /// Asks the question, and tells `waiter` once, when it is answered or has failed.
  func ask(_ request: FetchRequest, for waiter: any RevocationWaiter) {
    // The waiter is added before the flight is checked: if that flight ends meanwhile, its message comes later.
    waiting[request.key, default: []].append(waiter)
    begin(request)
  }

  func leave(_ waiter: any RevocationWaiter) {
    for (key, waiters) in waiting where waiters.contains(where: { $0 === waiter }) {
      let rest = waiters.filter { $0 !== waiter }
      waiting[key] = rest.isEmpty ? nil : rest
    }
  }

  private func begin(_ request: FetchRequest) {
    guard case .lead = cache.begin(request) else { return }
    upstreams.ask(request) { [upstreams] body in
      let (cache, group) = (upstreams.shared.revocation, upstreams.shared.group)
      guard let body else { return Self.finish(request, .failed, cache, group) }
      let isQueued = Self.lane.run {
        let outcome = FetchOutcome.read(body, for: request, now: wallClockSeconds())
        Self.finish(request, outcome, cache, group)
      }
      if !isQueued { Self.finish(request, .failed, cache, group) }
    }
  }

  private static func finish(_ request: FetchRequest, _ outcome: FetchOutcome, _ cache: RevocationCache, _ group: LoopGroup) {
    cache.finish(request, outcome, now: wallClockSeconds())
    let key = request.key
    group.all { Upstreams.of($0).revocations.answered(key) }
  }

  private func answered(_ key: [UInt8]) {
    for waiter in waiting.removeValue(forKey: key) ?? [] { waiter.revocationAnswered() }
  }

  /// Fetches used answers again before they expire.
  override func expired(on loop: EventLoop) {
    for request in cache.due(now: wallClockSeconds()) { begin(request) }
    loop.arm(self, afterMilliseconds: Self.refreshInterval)
  }
}
