import CSystem
import EventIO
import HTTPWire
import Trust

/// Who waits for an answer about revocation: told on its own loop, once the answer is in the cache or is not to be had.
protocol RevocationWaiter: AnyObject {
  func revocationAnswered()
}

/// One loop's part in asking about revocation. Each question is asked once at a time in the whole process, by the loop that came
/// first; everybody who waits for it, on whichever loop, is told by message. Nobody who leaves takes the answer from the others.
final class RevocationFetches: EventHandler {
  /// Large lists take their time to be read: not a loop's.
  private static let lane = Lane(label: "lane.trust", width: 1, backlog: 1024)
  /// How often answers that near their end are looked for, in milliseconds.
  private static let refreshInterval = 5_000

  private unowned let upstreams: Upstreams
  private var waiting: [[UInt8]: [any RevocationWaiter]] = [:]

  init(_ upstreams: Upstreams) {
    self.upstreams = upstreams
    super.init()
    // The cache is everybody's: one loop looks after it.
    if upstreams.loop.executor.index == 0 { upstreams.loop.arm(self, afterMilliseconds: Self.refreshInterval) }
  }

  private var cache: RevocationCache { upstreams.shared.revocation }

  /// `waiter` will be told, once, when the question has been asked.
  func ask(_ request: FetchRequest, for waiter: any RevocationWaiter) {
    // In line before the flight is looked at: a flight that ends meanwhile tells its end by a message, which comes later.
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

  /// Answers that were used and near their end are asked for again before anybody misses them.
  override func expired(on loop: EventLoop) {
    for request in cache.due(now: wallClockSeconds()) { begin(request) }
    loop.arm(self, afterMilliseconds: Self.refreshInterval)
  }
}
