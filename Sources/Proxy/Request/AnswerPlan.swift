import Cache
import EventIO
import Forwarding
import HTTPWire
import Upstreams

/// What the proxy does with a response head.
enum AnswerPlan {
  /// An interim response: relayed, or dropped. The final one follows.
  case interim(isContinue: Bool)
  /// 101: the connection changes its protocol.
  case upgrade
  /// `Attempt.download` relays the body.
  case relay
  /// It tells the credential how to prepare the request, which is sent again at once. `Attempt.dropped` has the rest of it.
  case challenge
  /// It refuses the credential. `Attempt.held` keeps it until that is settled.
  case hold
  /// Its body says whether it refuses the credential. `Attempt.held` keeps it until that is read.
  case read
  /// The request is sent again at once, without `Expect`.
  case repeatWithoutExpectation
  /// The request goes on to the target of a redirect. `Attempt.dropped` has the rest of it.
  case follow
  /// The app gets a stored answer in its place. `Attempt.dropped` has the rest of it.
  case stored(StoredReply)
  /// Its body goes into blocks, for the store or for several requests; its head is in the outbound block.
  case share
  /// The request is sent again at once, without the store's conditions. `Attempt.dropped` has the rest of it.
  case repeatUnconditionally
  /// The request is sent again after a pause. `Attempt.dropped` has what is needed of this answer.
  case drop
}

extension Request {
  /// Decides what follows a response head (`Upstreams.responseHead`, over `bytes`); no other code does. Writes what goes to the
  /// app into the app's outbound block.
  func plan(for bytes: UnsafeRawBufferPointer) throws(ProxyError) -> AnswerPlan {
    try plan(for: &services.upstreams.responseHead, bytes)
  }

  private func plan(for head: inout ResponseHead, _ bytes: UnsafeRawBufferPointer) throws(ProxyError) -> AnswerPlan {
    guard let way else { throw .internalError }
    let (entry, rules) = (way.entry, way.rules)
    let status = head.status
    // HTTP/2 has no others, so the app would see no answer at all.
    if app.isStream, !(100..<600 ~= status) { throw .upstream(.badResponse(.statusLine)) }
    var reading = RequestSigner.Reading.other
    if entry.isSigned, let signer = authorization.view?.signer { reading = heed(&head, bytes, signer, way) }
    if case .invalid(let error) = reading { throw error }
    if status == 101 {
      try writeUpgrade(&head, bytes, way)
      return .upgrade
    }
    if head.isInterim {
      writeInterim(&head, bytes, way)
      return .interim(isContinue: status == 100)
    }
    if status == 421 { attempt.exchange?.connection?.misdirected() }
    bindConnection(by: head, bytes, reading, entry)
    let framing: BodyFraming
    do { framing = try head.framing(to: message.outbound.method, in: bytes) } catch { throw .upstream(.badResponse(error)) }
    let keepsUpstream = head.persists(in: bytes)
    if let origins = snapshot.cacheOrigins { invalidate(origins, head, bytes, way) }
    // 417 to an expectation that the app did not send.
    if status == 417, attempt.hasAsked, !message.expectsContinue, canReplay { return .repeatWithoutExpectation }
    var isChallenge = false
    if entry.isSigned {
      switch planSigned(reading, head, bytes, framing, keepsUpstream, way) {
      case .other: break
      case .relayedChallenge: isChallenge = true
      case .plan(let plan): return plan
      }
    } else if authorization.view != nil, holds(head, bytes, isRefusal: record.target.isCall && head.refusesCall(in: bytes)) {
      attempt.held = HeldAnswer(bytes, status: status, framing: framing, keepsUpstream: keepsUpstream, in: services.buffers)
      return .hold
    }
    // The same proof would bring the same challenge.
    if !isChallenge, let wish = retryWish(head, bytes, entry) {
      attempt.dropped = DroppedAnswer(retryAfter: wish.seconds, body: BodySource(framing), keepsUpstream: keepsUpstream)
      return .drop
    }

    if status >= 300, redirection != nil, followsRedirect(&head, bytes, framing, way) {
      attempt.dropped = DroppedAnswer(retryAfter: nil, body: BodySource(framing), keepsUpstream: keepsUpstream)
      return .follow
    }

    if let cache, let plan = settle(cache, head, bytes) {
      attempt.dropped = DroppedAnswer(retryAfter: nil, body: BodySource(framing), keepsUpstream: keepsUpstream)
      return plan
    }

    let coding = rules.codingToRemove(from: head, in: bytes, answering: message.outbound)
    var inflater: Inflater?
    if let coding, framing != .none { inflater = Inflater(coding) }
    // An app that waits for a 100 may send its next request instead of the body once it has the answer.
    let isOutOfStep = !attempt.upload.isSent && (status >= 300 || attempt.awaitsContinue)
    if head.isEventStream(in: bytes) { self.way?.stall = entry.timeouts.tunnel }
    record.answer.status = status
    record.answer.author = .upstream
    let interim = app.outbound?.count ?? 0
    let redirected = redirection == nil ? [] : settledRedirects(&head, bytes, way)
    let outbound = OutboundResponse(
      &head, in: bytes, body: framing, to: message.outbound, isInflated: inflater != nil, wasCoded: coding != nil,
      keepsClient: message.persists && !app.isClosing && !isOutOfStep, note: answerNote,
      of: way.pool.origin.authority, rules: rules, asked: askedAuthority,
      behind: redirected, isHTTP2: record.upstream.stream > 0)
    let end = write(outbound, head, bytes, rules)
    if let cache {
      cache.prepared.plain = outbound.isForOthers(head, rules: rules) ? interim..<end : nil
      let isShared = draftAnswer(cache, bytes, framing, isInflated: inflater != nil, from: interim)
      if isShared, attempt.upload.isSent, attempt.held == nil {
        cache.prepared.source = AnswerSource(
          framing, outbound.framing, outbound.keepsClient, keepsUpstream, inflater, behind: interim, rules: rules,
          // Those who read it, too, may be behind redirects.
          isElsewhere: entry.isRedirectTarget)
        return .share
      }
      supersede(cache)
      cache.prepared.draft = nil
      cache.prepared.writer = nil
      release(cache)
    }
    attempt.download = Download(
      from: framing, to: outbound.framing, keepsClient: outbound.keepsClient, keepsUpstream: keepsUpstream, inflater: inflater,
      rules: rules, isElsewhere: redirection?.isElsewhere ?? false, behind: interim)
    return .relay
  }

  private enum SignedPlan {
    case plan(AnswerPlan)
    /// A challenge that the app gets.
    case relayedChallenge
    case other
  }

  /// What a signer's reading leads to.
  @inline(never)
  private func planSigned(
    _ first: RequestSigner.Reading, _ head: borrowing ResponseHead, _ bytes: UnsafeRawBufferPointer, _ framing: BodyFraming,
    _ keepsUpstream: Bool, _ way: Way
  ) -> SignedPlan {
    guard authorization.view != nil else { return .other }
    let hasBody = framing.hasBytes
    var reading = first
    if case .needsBody = reading, !hasBody { reading = readEmpty(head, bytes, way) }
    switch reading {
    case .challenge(let canAnswer):
      guard answersChallenge(canAnswer) else { return .relayedChallenge }
      attempt.dropped = DroppedAnswer(retryAfter: nil, body: BodySource(framing), keepsUpstream: keepsUpstream)
      return .plan(.challenge)
    case .continues where !hasBody:
      guard answersChallenge(true) else { return .relayedChallenge }
      attempt.dropped = DroppedAnswer(retryAfter: nil, body: BodySource(framing), keepsUpstream: keepsUpstream)
      return .plan(.challenge)
    case .continues where !machine.refusalIsSettled:
      attempt.held = HeldAnswer(
        bytes, status: head.status, framing: framing, keepsUpstream: keepsUpstream, in: services.buffers)
      return .plan(.read)
    case .needsBody where hasBody && head.status >= 400 && !machine.refusalIsSettled:
      attempt.held = HeldAnswer(
        bytes, status: head.status, framing: framing, keepsUpstream: keepsUpstream, in: services.buffers)
      return .plan(.read)
    case .other, .refused, .needsBody, .continues, .invalid:
      let isRefusal = if case .refused = reading { true } else { false }
      guard holds(head, bytes, isRefusal: isRefusal) else { return .other }
      attempt.held = HeldAnswer(
        bytes, status: head.status, framing: framing, keepsUpstream: keepsUpstream, in: services.buffers)
      return .plan(.hold)
    }
  }

  private func writeUpgrade(_ head: inout ResponseHead, _ bytes: UnsafeRawBufferPointer, _ way: Way) throws(ProxyError) {
    // Otherwise the origin would read the rest of the request as the other protocol.
    guard attempt.upload.isSent else { throw .unexpectedUpgrade }
    let redirected = redirection == nil ? [] : settledRedirects(&head, bytes, way)
    do {
      let outbound = try OutboundResponse(
        switching: &head, in: bytes, to: message.outbound, of: way.pool.origin.authority, rules: way.rules,
        asked: askedAuthority, behind: redirected)
      write(outbound, head, bytes, way.rules)
    } catch { throw ProxyError(error, for: way.entry.name) }
    record.answer.status = 101
    record.answer.author = .upstream
  }

  private struct Wish { var seconds: Int? }

  /// Whether the entry's `retry` asks for another attempt. If Retry-After exceeds `max_wait`, the answer is relayed instead.
  private func retryWish(_ head: borrowing ResponseHead, _ bytes: UnsafeRawBufferPointer, _ entry: Entry) -> Wish? {
    let policy = entry.settings.retry
    guard policy.attempts > 0, policy.statuses.contains(head.status), mayRetry else { return nil }
    let wish = head.retryAfter(now: wallClockSeconds(), in: bytes).map { Int(clamping: $0) }
    if let wish, wish > policy.maxWait / 1_000 { return nil }
    return Wish(seconds: wish)
  }

  private func writeInterim(_ head: inout ResponseHead, _ bytes: UnsafeRawBufferPointer, _ way: Way) {
    let redirected = redirection == nil ? [] : settledRedirects(&head, bytes, way, isInterim: true)
    let interim = InterimResponse(
      &head, in: bytes, to: message.outbound, awaitsContinue: message.expectsContinue, of: way.pool.origin.authority,
      rules: way.rules, asked: askedAuthority, behind: redirected, isHTTP2: record.upstream.stream > 0)
    guard let interim, !isOrphan else { return }
    let size = interim.sizeLimit(of: head, rules: way.rules)
    // At most one block.
    guard size <= app.outbound?.room ?? BlockPool.small else { return }
    let block = app.outbound(with: size)
    var writer = ByteWriter(block.base, capacity: block.capacity, count: block.end)
    interim.write(head, in: bytes, rules: way.rules, into: &writer)
    block.end = writer.count
    if head.status == 100 { message.expectsContinue = false }
  }

  /// - Returns: the bytes of the outbound block before the framing.
  @discardableResult
  private func write(
    _ outbound: borrowing OutboundResponse, _ head: borrowing ResponseHead, _ bytes: UnsafeRawBufferPointer,
    _ rules: ForwardingRules
  ) -> Int {
    let block = app.outbound(with: outbound.sizeLimit(of: bytes, head, rules: rules, client: record.client))
    var writer = ByteWriter(block.base, capacity: block.capacity, count: block.end)
    let end = outbound.write(
      head, in: bytes, rules: rules, dateLine: services.currentDateLine(), client: record.client, into: &writer)
    block.end = writer.count
    return end - block.start
  }
}
