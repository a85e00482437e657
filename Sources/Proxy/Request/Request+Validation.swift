import Cache
import EventIO
import HTTPWire
import Upstreams

/// The store's part in a request that goes to the origin.
extension Request {
  func validationSize(_ state: CacheState) -> Int {
    guard state.stale.validates, let stored = state.stale.answer else { return 0 }
    return ByteWriter.validationSize(of: stored.facts)
  }

  /// The request is about to be sent: adds the conditions of what is stored to its head.
  func noteSending(_ state: CacheState, _ block: EventIO.Block) {
    state.sending.time = loop.now
    // What it gets may be older than an unsafe request that is answered while it is under way.
    if state.key != nil { state.sending.began = services.shared.cache.begin() }
    if let stored = state.stale.answer, isOutdated(stored, state) {
      // While the request waited. Nothing is asked about what counts for nothing, and nobody is served with it.
      state.stale.answer = nil
      state.stale.validates = false
    }
    guard state.stale.validates, let stored = state.stale.answer else { return }
    var writer = ByteWriter(block.base, capacity: block.capacity, count: block.end)
    writer.append(validationOf: stored.facts)
    block.end = writer.count
  }

  /// It was dropped since it was looked up, or would have been, had it not made room or been replaced before.
  func isOutdated(_ stored: StoredAnswer, _ state: CacheState) -> Bool {
    guard let seen = state.stale.seen else { return true }
    return stored.isDropped || services.shared.cache.isOutdated(seen, stored.target, stored.partition)
  }

  /// The answer that takes the place of the stored one is not stored.
  /// - Parameter isAnswered: whatever the origin has said, it was no word on the stored one.
  func supersede(_ state: CacheState, isAnswered: Bool = false) {
    guard state.stale.isReplaced || isAnswered, let stored = state.stale.answer else { return }
    services.shared.cache.remove(stored, .replaced)
    state.stale.answer = nil
  }

  /// A redirect is followed: the next target has a state of its own.
  func leaveTarget(_ state: CacheState) {
    release(state)
    endJoining(state)
  }

  /// A stale answer in place of an error; nil: there is none, or the error must be seen.
  func staleReply(insteadOf reply: Reply) -> Reply? {
    guard let cache, case .error(let error) = reply, error.permitsStale else { return nil }
    defer { cache.stale.answer = nil }
    return staleOnError(cache, status: 0).flatMap { settled($0) }.map { .stored($0) }
  }
}
