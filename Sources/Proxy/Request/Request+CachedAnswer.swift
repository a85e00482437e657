import Cache
import EventIO
import Forwarding
import HTTPWire
import Upstreams

/// What the store makes of the origin's answer.
extension Request {
  /// Reads a final head before anything changes it. Apart from other requests, which have no space for what it says.
  /// - Returns: as `settleStored`.
  @inline(never)
  func settle(_ state: CacheState, _ head: borrowing ResponseHead, _ bytes: UnsafeRawBufferPointer) -> AnswerPlan? {
    let wall = wallClockSeconds()
    let facts = ResponseFacts(head, in: bytes, wall: wall, recent: services.cacheDesk.heads)
    state.prepared.facts = facts
    state.prepared.wall = wall
    guard let stored = state.stale.answer else { return nil }
    return settle(state, stored, facts, bytes, wall: wall)
  }

  /// - Returns: what follows, if the app gets a stored answer in its place, or the origin is asked again; nil: it is relayed.
  private func settle(
    _ state: CacheState, _ stored: StoredAnswer, _ facts: ResponseFacts, _ bytes: UnsafeRawBufferPointer, wall: Int64
  ) -> AnswerPlan? {
    let store = services.shared.cache
    if state.plan.isHead {
      if facts.status == 200 { settleHead(stored, facts, bytes, state, wall: wall) }
      return nil
    }
    switch OriginVerdict(status: facts.status) {
    case .notModified:
      guard state.stale.validates else { return nil }
      guard case .renewed(let newer) = stored.facts.validated(by: facts) else {
        // It is about another representation than the stored one.
        store.remove(stored, .invalidated)
        state.stale.answer = nil
        state.stale.validates = false
        return .repeatUnconditionally
      }
      return renew(stored, newer, by: bytes, state, wall: wall).map { .stored($0) }
    case .fault:
      guard let reply = staleOnError(state, status: facts.status) else { break }
      failFetch(state, .status(facts.status))
      return .stored(reply)
    case .replaces:
      state.stale.isReplaced = true
      // Nothing may stand in for a refusal.
      if facts.status >= 400 { supersede(state) }
    case .other: break
    }
    return nil
  }

  /// What is stored, in place of a failure; nil: nothing may serve so. Who has been logged out meanwhile gets nothing from before.
  /// - Parameter status: of the origin; 0: it gave none.
  func staleOnError(_ state: CacheState, status: Int) -> StoredReply? {
    guard let stored = state.stale.answer, !isOutdated(stored, state),
      stored.times.mayServeOnError(now: loop.now, needs: state.plan.needs), state.key?.isOfPresentEpoch == true
    else { return nil }
    return StoredReply(stored, .staleIfError(status: status), for: state.plan)
  }

  /// A 200 to HEAD renews what is stored for GET, or shows that it is another representation (RFC 9111 section 4.3.5).
  private func settleHead(
    _ stored: StoredAnswer, _ facts: ResponseFacts, _ bytes: UnsafeRawBufferPointer, _ state: CacheState, wall: Int64
  ) {
    let store = services.shared.cache
    let newer = stored.facts.renewed(by: facts)
    let times = times(of: newer, state, wall: wall)
    guard stored.facts.isRenewed(byHead: facts, size: stored.body.size),
      storeRefusal(newer, state, times, renewsGet: true) == nil, case .names(let vary) = newer.vary,
      let asked = state.asked, let began = state.stale.seen, let renewed = renewedHead(stored, by: bytes, state)
    else {
      store.remove(stored, .invalidated)
      return
    }
    let draft = AnswerDraft(
      CacheKey(
        target: stored.target, partition: stored.partition, epoch: state.key?.epoch, standing: state.key?.standing), newer,
      times, vary: vary, variant: asked.variant(vary), received: wall, head: renewed.head, origin: renewed.origin,
      began: began, length: stored.body.size)
    if let answer = draft.answer(stored.body, in: store) { _ = store.link(answer, began: began, replacing: stored) }
  }

  /// A 304 to the store's own conditions.
  /// - Returns: nil: the stored head cannot be renewed.
  private func renew(
    _ stored: StoredAnswer, _ newer: ResponseFacts, by bytes: UnsafeRawBufferPointer, _ state: CacheState, wall: Int64
  ) -> StoredReply? {
    guard let key = state.key, let began = state.stale.seen, let renewed = renewedHead(stored, by: bytes, state) else {
      return nil
    }
    let store = services.shared.cache
    let times = times(of: newer, state, wall: wall)
    var refusal = storeRefusal(newer, state, times)
    var outlook = Renewal.forOne
    if refusal == nil, case .names(let vary) = newer.vary, let asked = state.asked {
      let draft = AnswerDraft(
        key, newer, times, vary: vary, variant: asked.variant(vary), received: wall, head: renewed.head,
        origin: renewed.origin, began: began, length: stored.body.size)
      // Without room for the new head the old one goes on, and is validated the next time.
      if let answer = draft.answer(stored.body, in: store) {
        refusal = store.link(answer, began: began, replacing: stored)
        outlook = refusal == .invalidated ? .outdated : .answer(answer)
      } else {
        refusal = .full
        outlook = isOutdated(stored, state) ? .outdated : .answer(stored)
      }
    } else {
      // Others who have it may go on to validate it for themselves.
      store.remove(stored, .invalidated, isDrop: false)
    }
    leaveFlight(state)
    state.sharing.fetch?.renew(outlook)
    let outcome = CacheOutcome.forwarded(.stale, status: 304, isStored: refusal == nil, refusal: refusal)
    return StoredReply(stored, outcome, for: state.plan, renewed: (renewed.head, renewed.origin, times))
  }

  /// The heads of a stored answer with the fields of a newer one; nil: that is no head.
  private func renewedHead(
    _ stored: StoredAnswer, by bytes: UnsafeRawBufferPointer, _ state: CacheState
  ) -> (head: StoredHead, origin: OriginHead?)? {
    guard let way, let relayed = relayedHead(bytes, way) else { return nil }
    let head = relayed.withUnsafeBytes {
      stored.head.renewed(relayed: $0, name: snapshot.name.bytes, isDecoded: stored.facts.isDecoded)
    }
    let origin = stored.origin.flatMap { stored in originHead(bytes, state).flatMap { stored.renewed(by: $0) } }
    return head.map { ($0, origin) }
  }

  /// The head of an answer as an app would get it that asks for this itself.
  func relayedHead(_ bytes: UnsafeRawBufferPointer, _ way: Way, isDecoded: Bool = false) -> [UInt8]? {
    var head = ResponseHead()
    guard case .complete = head.parse(bytes, limit: bytes.count + 1) else { return nil }
    return relayedHead(&head, bytes, way, isDecoded: isDecoded, isHTTP2: record.upstream.stream > 0)
  }

  /// - Parameters:
  ///   - isDecoded: the app gets the body without its coding.
  ///   - lines: that redirects before it have added.
  func relayedHead(
    _ head: inout ResponseHead, _ bytes: UnsafeRawBufferPointer, _ way: Way, isDecoded: Bool, behind lines: [UInt8] = [],
    isHTTP2: Bool
  ) -> [UInt8] {
    let outbound = OutboundResponse(
      &head, in: bytes, body: .none, to: message.outbound, isInflated: isDecoded, wasCoded: isDecoded, keepsClient: true,
      note: nil, of: way.pool.origin.authority, rules: way.rules, asked: askedAuthority, behind: lines, isHTTP2: isHTTP2)
    let size = outbound.sizeLimit(of: bytes, head, rules: way.rules, client: record.client)
    return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      var writer = ByteWriter(UnsafeMutableRawBufferPointer(buffer))
      outbound.write(
        head, in: bytes, rules: way.rules, dateLine: services.currentDateLine(), client: record.client, into: &writer)
      count = writer.count
    }
  }

  /// When an answer may be used that has just come.
  /// - Parameter wall: Unix time of its receipt.
  func times(of facts: ResponseFacts, _ state: CacheState, wall: Int64) -> StoredTimes {
    StoredTimes(facts, state.cache.rules, asked: state.sending.time, received: CacheTime(steady: loop.now, wall: wall))
  }

  /// Why an answer is not stored; nil: it is.
  /// - Parameter renewsGet: what is stored for GET is renewed by an answer to HEAD.
  func storeRefusal(
    _ facts: ResponseFacts, _ state: CacheState, _ times: StoredTimes, renewsGet: Bool = false
  ) -> StoreRefusal? {
    if let refusal = state.refusal { return refusal }
    guard state.key != nil, state.sending.began != nil else {
      switch state.plan.pass {
      case .method: return .method
      case .bypass: return .body
      case nil: return state.plan.hasRange ? .range : .credential
      }
    }
    if state.plan.isHead, !renewsGet { return .method }
    if state.plan.hasRange { return .range }
    if !isOfEpoch(state) { return .credential }
    let sendsOwn = message.outbound.sendsCredential && way?.entry.credential != nil
    let authorizing = Authorizing(byProxy: sendsOwn, byApp: !sendsOwn && message.outbound.sendsAppCredential)
    return facts.storeRefusal(state.cache.rules, state.plan.needs, authorizing, times)
  }

  /// Whether the request carried the credential of the account under which its answer would be stored, and that one still is.
  private func isOfEpoch(_ state: CacheState) -> Bool {
    guard let epoch = state.key?.epoch else { return authorization.attached == nil }
    return authorization.attached?.epoch == epoch && authorization.view?.standing.epoch == epoch
  }

  /// What was decided about an answer that is relayed: its head is the outbound block's from `start`.
  /// - Parameter head: as it came.
  /// - Returns: whether it is stored, or shared, as it comes.
  func draftAnswer(
    _ state: CacheState, _ head: UnsafeRawBufferPointer, _ framing: BodyFraming, isInflated: Bool, from start: Int
  ) -> Bool {
    guard let facts = state.prepared.facts else { return false }
    let times = times(of: facts, state, wall: state.prepared.wall)
    var refusal = storeRefusal(facts, state, times)
    // With `collapse: all` those who wait get it, too.
    state.prepared.isStorable = refusal == nil
    let isForOthers =
      refusal?.lacksOnlyFreshness == true && state.cache.rules.collapse == .all && state.sharing.fetch?.hasOthers == true
    var isShared = refusal == nil || isForOthers
    if refusal == nil, !isInflated, let body = wholeBody(behind: head, framing, state) {
      refusal = keep(body, state, facts, times, behind: head, from: start)
      isShared = false
    } else if isShared, let reason = makeDraft(state, facts, times, head, framing, isInflated: isInflated, from: start) {
      refusal = reason
      isShared = false
    }
    if !isShared { release(state) }
    let outcome = CacheOutcome.forwarded(
      state.forward, status: state.stale.validates ? facts.status : 0, isStored: refusal == nil, refusal: refusal)
    record.answer.cache = CacheReport(outcome)
    appendCacheStatus(outcome)
    return isShared
  }

  /// The answer is for this request alone.
  func release(_ state: CacheState) {
    if let key = state.key, leaveFlight(state) {
      services.shared.cache.stopCollapsing(key.target, key.partition, until: loop.now + FetchMachine.uncollapsed)
    }
    state.sharing.fetch?.release()
    state.sharing.fetch = nil
  }

  private func makeDraft(
    _ state: CacheState, _ facts: ResponseFacts, _ times: StoredTimes, _ received: UnsafeRawBufferPointer,
    _ framing: BodyFraming, isInflated: Bool, from start: Int
  ) -> StoreRefusal? {
    guard let key = state.key, let asked = state.asked, let began = state.sending.began, case .names(let vary) = facts.vary
    else { return .vary }
    guard let head = storedHead(received, isInflated: isInflated, from: start) else { return .status }
    var length: Int?
    switch framing {
    case .none: length = 0
    case .length(let count): length = isInflated ? nil : Int(clamping: count)
    case .chunked, .untilClose: break
    }
    if let length, length > state.cache.rules.maxObject { return .tooLarge }
    guard let writer = BodyWriter(services.shared.cache, length: length) else { return .full }
    state.prepared.writer = writer
    state.prepared.draft = AnswerDraft(
      key, isInflated ? facts.decoded : facts, times, vary: vary,
      variant: asked.variant(vary, recent: recentVariants), received: state.prepared.wall, head: head,
      origin: originHead(received, state), began: began, length: length,
      replaced: state.stale.isReplaced ? state.stale.answer : nil)
    return nil
  }

  /// What is stored of a head that was relayed, and is the outbound block's from `start`. Behind redirects the app gets another one than
  /// it would if it asked for this itself.
  func storedHead(_ received: UnsafeRawBufferPointer, isInflated: Bool, from start: Int) -> StoredHead? {
    if let redirection, redirection.count > 0 {
      let relayed = way.flatMap { relayedHead(received, $0, isDecoded: isInflated) }
      return relayed.flatMap { $0.withUnsafeBytes { StoredHead(relayed: $0, name: snapshot.name.bytes) } }
    }
    guard let block = app.outbound else { return nil }
    if let state = cache, let plain = state.prepared.plain, let status = state.prepared.facts?.status {
      return StoredHead(plain: UnsafeRawBufferPointer(rebasing: block.bytes[plain]), status: status)
    }
    return StoredHead(relayed: UnsafeRawBufferPointer(rebasing: block.bytes[start...]), name: snapshot.name.bytes)
  }

  /// Puts the line in front of the empty one that ends the head.
  private func appendCacheStatus(_ outcome: CacheOutcome) {
    let name = snapshot.name.bytes
    let block = app.outbound(with: ByteWriter.cacheStatusLimit + name.count)
    block.end -= 2
    var writer = ByteWriter(block.base, capacity: block.capacity, count: block.end)
    writer.append(cacheStatus: outcome, name: name)
    writer.appendCRLF()
    block.end = writer.count
  }
}
