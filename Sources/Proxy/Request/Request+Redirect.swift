import Credentials
import EventIO
import Forwarding
import HTTPWire
import Routing
import Upstreams

/// Redirects that the proxy follows itself (`redirects` of an entry). The request for the target is made from the app's head, as if the
/// app had asked for it: with the entry, credential, trust, way and limits of the target, or with none of an entry's.
extension Request {
  /// Bytes of a redirect's own body that are read to keep its connection.
  private static let drained = 64 << 10

  // MARK: The present hop, as the app knows it or would ask for it

  var askedMethod: String { redirection?.method ?? record.target.method }
  var askedPath: String { redirection?.authority == nil ? record.target.path : redirection?.path ?? "" }
  var askedAuthority: String { redirection?.authority ?? record.target.authority }

  /// What Proxy-Status tells the app about an answer that is relayed; nil: nothing.
  var answerNote: String? {
    let reason = authorization.relayReason.map { "\($0)" }
    guard let note = redirection?.note else { return reason }
    let whole = reason.map { "\(note); \($0)" } ?? note
    record.answer.details = whole
    return whole
  }

  // MARK: Deciding

  /// Whether the origin's answer is a redirect that is followed; then it is stored.
  @inline(never)
  func followsRedirect(
    _ head: inout ResponseHead, _ bytes: UnsafeRawBufferPointer, _ framing: BodyFraming, _ way: Way
  ) -> Bool {
    guard let cache, Redirect.isStatus(head.status) else { return plansRedirect(&head, bytes, way) }
    let answer = draftRedirect(cache, head, bytes, framing, way)
    guard plansRedirect(&head, bytes, way) else { return false }
    if let answer { keep(redirect: answer, cache) }
    supersede(cache, isAnswered: true)
    return true
  }

  /// Whether an answer is a redirect that is followed. If so the request is the next one already, and the answer is to be dropped.
  func plansRedirect(_ head: inout ResponseHead, _ bytes: UnsafeRawBufferPointer, _ way: Way) -> Bool {
    // A held answer is none that says where to go.
    // Whoever goes on for others leaves it to them.
    guard let redirection, Redirect.isStatus(head.status), attempt.held == nil, !isOrphan else { return false }
    redirection.note(way)
    do throws(RedirectRefusal) {
      try turn(redirection, to: next(redirection, head, bytes, way), &head, bytes, way)
    } catch {
      redirection.refusal = error
      services.observer.redirected(redirection.entry, RedirectResult(error))
      return false
    }
    services.observer.redirected(redirection.entry, .followed)
    return true
  }

  struct Hop {
    let redirect: Redirect
    /// What origins were asked for, with this.
    let asked: AskedTargets
    /// What this answers.
    let left: HTTPURL
    /// nil: a host.
    let place: RoutePlace?
    let entry: Entry
    let url: HTTPURL
  }

  private func next(
    _ redirection: Redirection, _ head: borrowing ResponseHead, _ bytes: UnsafeRawBufferPointer, _ way: Way
  ) throws(RedirectRefusal) -> Hop {
    var asked: AskedTargets
    if let known = redirection.asked { asked = known } else { asked = AskedTargets(try firstAsked(way)) }
    let left = asked.last.url
    var locations: [UnsafeRawBufferPointer] = []
    for field in head.fields where field.id == .location { locations.append(field.value.bytes(in: bytes)) }
    let hidden = authorization.attached == nil ? nil : way.rules.target?.segmentPlace
    let redirect = try Redirect(
      status: head.status, locations: locations, asked: asked, hidden: hidden, limit: redirection.rules.limit,
      body: redirectedBody)
    asked.append(redirect.target)
    let destination: RedirectDestination
    do throws(RedirectRefusal) {
      destination = try snapshot.router.destination(
        of: redirect.target, from: redirection.place, first: redirection.first, asked: redirection.host, by: redirection.rules,
        for: redirection.client)
    } catch {
      // The reason would name the host.
      throw redirection.shown.isNamed(in: redirect.target.url) ? .secretInTarget : error
    }
    switch destination {
    case .entry(let place, let text):
      guard let url = try? HTTPURL(text) else { throw .unreadable }
      return Hop(redirect: redirect, asked: asked, left: left, place: place, entry: snapshot.entries[place.entry], url: url)
    case .host:
      guard let entry = snapshot.redirected else { throw .notListed(host: redirect.target.url.host) }
      return Hop(redirect: redirect, asked: asked, left: left, place: nil, entry: entry, url: redirect.target.url)
    }
  }

  /// What the present origin is asked for, without a credential.
  func presentTarget(_ way: Way) throws(RedirectRefusal) -> AskedTarget {
    if let asked = redirection?.asked { return asked.last }
    return try firstAsked(way)
  }

  /// What the first origin was asked for, without a credential.
  private func firstAsked(_ way: Way) throws(RedirectRefusal) -> AskedTarget {
    let origin = way.pool.origin.authority
    guard let head = message.head, let written = WrittenHead(head.bytes) else { throw .unreadable }
    let sent = written.target.bytes(in: head.bytes)
    let own = authorization.attached == nil ? nil : way.rules.target
    let target = String(decoding: own?.removed(from: sent) ?? Array(sent), as: UTF8.self)
    let text =
      (origin.isTLS ? "https://" : "http://") + String(decoding: origin.text, as: UTF8.self) + (target == "*" ? "/" : target)
    guard let url = try? HTTPURL(text) else { throw .unreadable }
    return AskedTarget(method: record.target.method, url: url)
  }

  private var redirectedBody: Redirect.Body {
    if !body.framing.hasBytes { return .none }
    if body.isDone { return canReplay ? .kept : .gone }
    if case .length(let length) = body.framing, canReplay, length <= body.tee.capacity { return .arriving }
    return .onItsWay
  }

  // MARK: Turning

  /// Makes this request the one for the target. If it cannot be, all is as it was.
  private func turn(
    _ redirection: Redirection, to hop: Hop, _ head: inout ResponseHead, _ bytes: UnsafeRawBufferPointer, _ way: Way
  ) throws(RedirectRefusal) {
    if isWithdrawn(hop, of: redirection) { throw .withdrawn }
    // The app's credentials are for the origin that it asked, and cookies of others are none of that one's.
    let first = hop.asked.first
    let leaves = !redirection.isOwn(hop.entry, hop.redirect.target.url, first: first)
    let isOwn = redirection.isOwn(way.entry, hop.left, first: first)
    if isElsewhere(hop, way), redirection.shown.isNamed(in: hop.redirect.target.url) { throw .secretInTarget }
    if redirection.count == 0 { redirection.usesAppCredential = !message.outbound.sendsCredential }
    let caching = RedirectedCaching(head, in: bytes, isAuthorized: redirection.isAuthorized)
    var cookies: [UInt8] = []
    if isOwn { cookies = way.rules.cookies(of: &head, in: bytes) }
    guard redirection.cookies.count + cookies.count <= snapshot.settings.limits.responseHead else { throw .cookies }
    let withholds = leaves || redirection.hasLeft
    let before = (message, way, authorization, cache)
    cache = nil
    do throws(RedirectRefusal) {
      do throws(ProxyError) {
        (redirection.needsCredential, redirection.found) = try aim(hop, of: redirection, withholds: withholds)
      } catch {
        throw .notServed(entry: hop.entry.name)
      }
      try checkIdentity(hop, of: redirection, withholds: withholds)
    } catch {
      // A host below a wildcard may have had a pool made for it.
      let made = self.way
      (message, self.way, authorization, cache) = before
      if let made, made.pool !== way.pool, made.entry.origin == nil { made.pool.tidy() }
      throw error
    }
    if withholds { redirection.withheld = RedirectedHead.withheldTrailers + snapshot.credentialFields }
    redirection.left = way
    redirection.leftCache = before.3
    redirection.follow(hop.asked, at: hop.place, hop.url, leaves: leaves, caching, cookies)
    services.observer.leftHop(record)
    record.beginHop(at: hop.entry)
    if hop.redirect.dropsContent { dropBody() }
  }

  /// Nobody is asked as somebody else than the app, or the entry that it asked, would have asked.
  private func checkIdentity(_ hop: Hop, of redirection: Redirection, withholds: Bool) throws(RedirectRefusal) {
    guard hop.entry.credential != nil else { return }
    // The app asked as itself. The entry's credential in place of its own would be a second one.
    if redirection.usesAppCredential, hop.entry === redirection.entry, redirection.needsCredential || withholds {
      throw .appCredential
    }
    // Nothing of the app's goes on, so what `client_authorization: keep` has kept is in the URL: of whoever redirects.
    if withholds, !redirection.needsCredential, way?.rules.target != nil { throw .notServed(entry: hop.entry.name) }
  }

  /// The head of the app, for the target; then as if it had come from there.
  private func aim(
    _ hop: Hop, of redirection: Redirection, withholds: Bool
  ) throws(ProxyError) -> (needsCredential: Bool, found: LookUp) {
    let text = redirection.head.withUnsafeBytes { bytes -> [UInt8] in
      services.requestHead.reset()
      guard case .complete = services.requestHead.parse(bytes, limit: bytes.count) else { return [] }
      if hop.entry.isRedirected {
        redirection.headerRules(at: hop.entry)?.mark(&services.requestHead.fields, in: bytes)
      }
      let departure = RedirectedHead.Departure(
        withheld: snapshot.credentialFields, isHTTPS: hop.redirect.target.url.isHTTPS,
        origin: redirection.hasLeft ? nil : redirection.origin)
      return RedirectedHead(
        method: hop.redirect.target.method, url: hop.url,
        dropsContent: hop.redirect.dropsContent || redirection.hasDroppedContent,
        dropsTrailer: body.isWhole, departure: withholds ? departure : nil
      ).text(of: services.requestHead, in: bytes)
    }
    let result = text.withUnsafeBytes { bytes -> Result<(Bool, LookUp), ProxyError> in
      do throws(ProxyError) { return .success(try aim(hop, of: redirection, bytes)) } catch { return .failure(error) }
    }
    return try result.get()
  }

  private func aim(
    _ hop: Hop, of redirection: Redirection, _ bytes: UnsafeRawBufferPointer
  ) throws(ProxyError) -> (Bool, LookUp) {
    services.requestHead.reset()
    guard case .complete = services.requestHead.parse(bytes, limit: bytes.count) else { throw .internalError }
    let target: RequestTarget
    do { target = try RequestTarget(of: services.requestHead, in: bytes) } catch { throw .malformed(error) }
    message.outbound = OutboundRequest(services.requestHead)
    message.outbound.framing = framing(of: hop, redirection.framing)
    authorization = Authorization()
    let aimed = try aim(
      at: hop.entry, hop.entry.rules[hop.place?.match ?? 0], hop.url.host, hop.url.effectivePort, isHTTPS: hop.url.isHTTPS,
      target, bytes, redirection.client)
    // Of several origins, the one that the redirect names.
    let named = hop.redirect.target.url
    if let index = way?.search?.list.origins.firstIndex(where: { $0.isOf(named) }) { way?.search?.prefer(index) }
    return aimed
  }

  private func framing(of hop: Hop, _ framing: BodyFraming) -> BodyFraming {
    // Once there was nothing left of a body, there is nothing to repeat.
    if hop.redirect.dropsContent || redirection?.hasDroppedContent == true { return .none }
    return body.isWhole ? .length(body.received) : framing
  }

  /// All of it was read; the rest of the request has none.
  private func dropBody() {
    redirection?.hasDroppedContent = true
    record.bytesReceived += body.received
    body.giveBack()
    body = AppBody()
    message.expectsContinue = false
  }

  /// Whether a hop leads to somebody who was not asked with this credential.
  private func isElsewhere(_ hop: Hop, _ way: Way) -> Bool {
    hop.entry !== way.entry || hop.entry.origin == nil && !hop.redirect.target.url.isSameHost(hop.left)
  }

  /// What goes to an origin is not to be named to another one.
  /// - Parameter head: as it is sent, but for the blank line.
  @inline(never)
  func noteShown(_ redirection: Redirection, in head: UnsafeRawBufferPointer) {
    guard let attached = authorization.attached else { return }
    redirection.shown.note(attached, in: head, attached.material == nil && attached.proof == nil ? nil : policy)
  }

  private var policy: CredentialPolicy? { way?.entry.credential.map { snapshot.credentials[$0].policy } }

  // MARK: Going on

  /// The redirect is dropped, and the request goes on to its target.
  func followRedirect() -> RequestMachine.Input {
    guard let redirection else { return failing(.internalError) }
    if let left = redirection.leftCache { leaveTarget(left) }
    redirection.leftCache = nil
    drainDropped()
    finishDropped()
    attempt.end(on: loop)
    attempt.hasMetOtherRules = false
    if let left = redirection.left, left.entry.origin == nil { left.pool.tidy() }
    redirection.left = nil
    return .redirected
  }

  /// As a request of an app begins, once it is known where it goes.
  func beginHop() -> RequestMachine.Input {
    guard let redirection else { return failing(.internalError) }
    let found = redirection.found
    redirection.found = .ask
    return proceed(found, needsCredential: redirection.needsCredential)
  }

  /// Reads what has arrived of a redirect's body. A connection with more of it, or with the rest still to come, is closed.
  private func drainDropped() {
    guard let dropped = attempt.dropped, let connection = attempt.exchange?.connection else { return }
    while !dropped.body.isDone, dropped.body.count < Self.drained {
      if let block = connection.inbound, !block.isEmpty {
        guard (try? dropped.body.take(from: block)) != nil else { return }
        continue
      }
      guard case .bytes(let count) = connection.stream.read(into: connection.blockForBody(isBulk: false).bodySpace) else {
        break
      }
      connection.inbound?.end += count
    }
    connection.rest()
  }

  // MARK: The last answer

  /// Makes the answer that the app gets one to what it has asked for.
  /// - Parameter isInterim: the final one follows, which brings the cookies of the way.
  /// - Returns: lines that are added to it.
  func settledRedirects(
    _ head: inout ResponseHead, _ bytes: UnsafeRawBufferPointer, _ way: Way, isInterim: Bool = false
  ) -> [UInt8] {
    redirection?.note(way)
    guard let redirection, redirection.count > 0, let asked = redirection.asked else { return [] }
    let url = asked.last.url
    let isOwn = redirection.isOwn(way.entry, url, first: asked.first)
    redirection.isElsewhere = !isOwn
    let lines = way.rules.settled(
      &head, in: bytes, at: url, isOwn: isOwn, of: way.pool.origin.authority, asked: askedAuthority,
      caching: isInterim || head.status == 101 ? .asSaid : redirection.caching)
    return isOwn && !isInterim ? redirection.cookies + lines : lines
  }
}

extension Origin {
  fileprivate func isOf(_ url: HTTPURL) -> Bool {
    identity.isTLS == url.isHTTPS && identity.host == url.host && identity.port == url.effectivePort
  }
}

extension Snapshot {
  /// Names of the fields that some credential writes.
  fileprivate var credentialFields: [[UInt8]] {
    credentials.flatMap { setup in (setup.policy.fieldName.map { [$0] } ?? []) + setup.policy.moreFields }
  }
}
