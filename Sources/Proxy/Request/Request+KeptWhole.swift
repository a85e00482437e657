import Cache
import EventIO
import HTTPWire
import Upstreams

/// An answer that is there as a whole when its head is read, as most small ones are: it is stored at once, and relayed as if there were
/// no store. So it needs no fetch that others could read.
extension Request {
  /// The body behind a head in the connection's block; nil: more of it is to come, or others wait for it, or it does not go to an app.
  func wholeBody(
    behind head: UnsafeRawBufferPointer, _ framing: BodyFraming, _ state: CacheState
  ) -> UnsafeRawBufferPointer? {
    let length: Int
    switch framing {
    case .none: length = 0
    case .length(let count): length = Int(clamping: count)
    case .chunked, .untilClose: return nil
    }
    guard length <= BodyBlock.size, attempt.upload.isSent, attempt.held == nil, !state.sharing.isOrphan,
      state.sharing.fetch?.hasOthers != true, let block = attempt.exchange?.connection?.inbound,
      head.baseAddress == UnsafeRawPointer(block.base + block.start), block.count - head.count >= length
    else { return nil }
    return UnsafeRawBufferPointer(start: block.base + block.start + head.count, count: length)
  }

  /// Stores an answer whose head is the outbound block's from `start`. Who asks for it from now on finds it.
  /// - Parameter received: the head as it came.
  /// - Returns: why it is not stored.
  func keep(
    _ body: UnsafeRawBufferPointer, _ state: CacheState, _ facts: ResponseFacts, _ times: StoredTimes,
    behind received: UnsafeRawBufferPointer, from start: Int
  ) -> StoreRefusal? {
    guard let key = state.key, let asked = state.asked, let began = state.sending.began, case .names(let vary) = facts.vary
    else { return .vary }
    guard let head = storedHead(received, isInflated: false, from: start) else { return .status }
    let store = services.cacheDesk.store
    guard let body = StoredBody(copying: body, in: store),
      let answer = StoredAnswer(
        store, target: key.target, partition: key.partition, vary: vary,
        variant: asked.variant(vary, recent: recentVariants), facts: facts, times: times, received: state.prepared.wall,
        head: head, origin: originHead(received, state), body: body)
    else { return .full }
    return link(answer, state, began)
  }

  /// The whole answer is there: the fetch ends with it.
  func link(_ answer: StoredAnswer, _ state: CacheState, _ began: CacheStore.Beginning) -> StoreRefusal? {
    let refusal: StoreRefusal?
    if let fetch = state.sharing.fetch {
      state.sharing.fetch = nil
      refusal = fetch.keep(answer, began)
    } else {
      let flight = state.sharing.flight
      state.sharing.flight = nil
      flight?.owner = nil
      refusal = services.shared.cache.link(answer, began: began, leaving: flight)
    }
    if refusal == nil { services.cacheDesk.noteStored() }
    return refusal
  }
}
