import Cache
import Credentials
import EventIO
import Forwarding
import HTTPWire
import Routing
import Upstreams

/// The store and the redirects that the proxy follows. Each hop is a request of its own to the store, under the entry and with the fields
/// that it is asked with. So what is stored of it is what an app would get that asks for it itself, and an app behind redirects gets a
/// head of its own, made from the origin's.
extension Request {
  // MARK: Answers of the store

  /// Whether this request may get a stored answer: one that it would have to follow, or that is for an app behind redirects, has the
  /// origin's head.
  /// - Parameter isHop: a redirect leads there.
  func isOfUse(_ answer: StoredAnswer, isHop: Bool = false) -> Bool {
    isOfUse(answer.origin, status: answer.facts.status, isHop: isHop)
  }

  private func isOfUse(_ origin: OriginHead?, status: Int, isHop: Bool) -> Bool {
    guard let redirection, origin == nil else { return true }
    return !isHop && redirection.count == 0 && !Redirect.isStatus(status)
  }

  /// A stored answer is sent, or followed.
  func serve(_ reply: StoredReply) -> RequestMachine.Input {
    guard redirection != nil else { return answering(.stored(reply)) }
    if follows(reply.origin, status: reply.origin?.status ?? 0, CacheReport(reply.outcome, age: reply.age(loop.now))) {
      return followRedirect()
    }
    return settled(reply).map { answering(.stored($0)) } ?? failing(.internalError)
  }

  /// A stored answer as it is for this app; nil: it cannot be made so.
  func settled(_ reply: StoredReply) -> StoredReply? {
    guard let redirection else { return reply }
    if redirection.count > 0 {
      guard let head = reply.origin.flatMap({ settledHead($0, isDecoded: reply.isDecoded) }) else { return nil }
      reply.settle(head)
    }
    reply.lines = noteLine
    return reply
  }

  /// The answer to another request is read, or followed.
  func serve(_ answer: SharedAnswer, _ state: CacheState) -> RequestMachine.Input {
    guard let redirection else { return answering(.joined(answer)) }
    let draft = answer.draft
    guard isOfUse(draft.origin, status: draft.facts.status, isHop: false) else {
      leaveFetch(state)
      return goAlone(state)
    }
    if follows(draft.origin, status: draft.facts.status, CacheReport(.collapsed(state.forward), age: draft.times.age(loop.now)))
    {
      leaveFetch(state)
      return followRedirect()
    }
    if redirection.count > 0 {
      guard let head = draft.origin.flatMap({ settledHead($0, isDecoded: draft.facts.isDecoded) }) else {
        return failing(.internalError)
      }
      state.prepared.head = head
    }
    return answering(.joined(answer))
  }

  private func follows(_ origin: OriginHead?, status: Int, _ report: CacheReport) -> Bool {
    guard let way, let origin, Redirect.isStatus(status) else { return false }
    record.answer.cache = report
    return origin.withHead { plansRedirect(&$0, $1, way) } ?? false
  }

  /// Why it was not followed, or how many were.
  var noteLine: [UInt8] {
    guard redirection != nil, let note = answerNote else { return [] }
    return snapshot.name.statusLine(details: note)
  }

  /// The head of a stored answer for an app behind redirects.
  private func settledHead(_ origin: OriginHead, isDecoded: Bool) -> StoredHead? {
    guard let way else { return nil }
    let written = origin.withHead { head, bytes in
      let lines = settledRedirects(&head, bytes, way)
      return relayedHead(&head, bytes, way, isDecoded: isDecoded, behind: lines, isHTTP2: origin.isHTTP2)
    }
    return written.flatMap { $0.withUnsafeBytes { StoredHead(relayed: $0, name: snapshot.name.bytes) } }
  }

  // MARK: Answers for the store

  /// A final head as the origin sent it, for the store; nil: no redirect leads there, or it may be followed only by whom the origin has
  /// sent it to.
  func originHead(_ bytes: UnsafeRawBufferPointer, _ state: CacheState) -> OriginHead? {
    guard let way, way.entry.isRedirectTarget, way.rules.target == nil else { return nil }
    if state.prepared.facts?.status != 200, namesSecret(bytes, way) { return nil }
    return OriginHead(received: bytes, date: services.currentDateLine(), isHTTP2: record.upstream.stream > 0)
  }

  /// Whether a head leads, or may lead, to a URL with what the origin was sent as the credential. Who finds it in the store was not seen
  /// to send that.
  private func namesSecret(_ bytes: UnsafeRawBufferPointer, _ way: Way) -> Bool {
    let locations = locations(bytes)
    if locations.isEmpty { return false }
    var shown = redirection?.shown ?? ShownCredentials()
    if let attached = authorization.attached {
      // Of signatures, and of tokens that were refused, nothing was kept to compare.
      if way.entry.isSigned || record.credential.refusals > 0 { return true }
      shown.note(attached, in: UnsafeRawBufferPointer(start: nil, count: 0), nil)
    }
    guard let asked = try? presentTarget(way) else { return true }
    return locations.contains { location in
      guard let url = try? location.withUnsafeBytes({ try asked.url.resolving($0) }) else { return true }
      return shown.isNamed(in: url)
    }
  }

  private func locations(_ bytes: UnsafeRawBufferPointer) -> [[UInt8]] {
    var head = ResponseHead()
    guard case .complete = head.parse(bytes, limit: bytes.count + 1) else { return [] }
    return head.fields.filter { $0.id == .location }.map { Array($0.value.bytes(in: bytes)) }
  }

  /// A redirect that is about to be followed, as it is stored; nil: it is not.
  func draftRedirect(
    _ state: CacheState, _ head: borrowing ResponseHead, _ bytes: UnsafeRawBufferPointer, _ framing: BodyFraming, _ way: Way
  ) -> StoredAnswer? {
    let wall = wallClockSeconds()
    let facts = ResponseFacts(head, in: bytes, wall: wall, recent: services.cacheDesk.heads)
    state.prepared.facts = facts
    state.prepared.wall = wall
    let times = times(of: facts, state, wall: wall)
    var refusal = storeRefusal(facts, state, times)
    var answer: StoredAnswer?
    if refusal == nil {
      answer = storedRedirect(state, facts, times, head, bytes, framing, way)
      if answer == nil { refusal = .cut }
    }
    record.answer.cache = CacheReport(
      .forwarded(
        state.forward, status: state.stale.validates ? facts.status : 0, isStored: answer != nil, refusal: refusal))
    return answer
  }

  private func storedRedirect(
    _ state: CacheState, _ facts: ResponseFacts, _ times: StoredTimes, _ head: borrowing ResponseHead,
    _ bytes: UnsafeRawBufferPointer, _ framing: BodyFraming, _ way: Way
  ) -> StoredAnswer? {
    // What has no origin's head would be followed by nobody.
    guard let key = state.key, let asked = state.asked, case .names(let vary) = facts.vary,
      way.rules.codingToRemove(from: head, in: bytes, answering: message.outbound) == nil,
      let origin = originHead(bytes, state), let relayed = relayedHead(bytes, way),
      let own = relayed.withUnsafeBytes({ StoredHead(relayed: $0, name: snapshot.name.bytes) }),
      let body = arrivedBody(framing, behind: bytes)
    else { return nil }
    let store = services.shared.cache
    guard let body = body.withUnsafeBytes({ StoredBody(copying: $0, in: store) }) else { return nil }
    return StoredAnswer(
      store, target: key.target, partition: key.partition, vary: vary, variant: asked.variant(vary), facts: facts, times: times,
      received: state.prepared.wall, head: own, origin: origin, body: body)
  }

  /// The body behind a head, if all of it has arrived, and it is small.
  private func arrivedBody(_ framing: BodyFraming, behind head: UnsafeRawBufferPointer) -> [UInt8]? {
    if framing == .none { return [] }
    guard let block = attempt.exchange?.connection?.inbound, head.baseAddress == UnsafeRawPointer(block.base + block.start)
    else { return nil }
    let arrived = UnsafeRawBufferPointer(rebasing: block.bytes[head.count...].prefix(BodyBlock.size))
    let copy = Block(capacity: max(arrived.count, 1))
    copy.append(arrived)
    var source = BodySource(framing)
    var body: [UInt8] = []
    while !source.isDone, !copy.isEmpty {
      guard let piece = try? source.take(from: copy) else { return nil }
      body += UnsafeRawBufferPointer(start: copy.base + piece.lowerBound, count: piece.count)
    }
    return source.isDone && !source.hasTrailers ? body : nil
  }

  /// The redirect is followed: whoever asks for it from now on finds it in the store, and so does who waited for it.
  func keep(redirect answer: StoredAnswer, _ state: CacheState) {
    if let began = state.sending.began { _ = link(answer, state, began) }
  }
}
