import Cache
import EventIO
import Forwarding
import HTTPWire
import Routing
import Upstreams

/// The look into the store, before the request costs anything: no credential is asked for, and no connection.
extension Request {
  /// What the store has for a request.
  enum LookUp {
    /// The origin is asked, or another request's answer waited for.
    case ask
    case hit(StoredAnswer, left: Int64)
    /// Nothing, and the app wants nothing else.
    case nothing
  }

  /// Looks for the answer to a request whose head has been decided upon: `services.requestHead` has the fields that go on.
  /// - Parameter isHop: a redirect leads there.
  func lookUp(
    _ cache: EntryCache, _ entry: Entry, _ rules: ForwardingRules, _ pool: OriginPool, _ target: RequestTarget,
    _ bytes: UnsafeRawBufferPointer, _ place: (host: String, port: UInt16, isHTTPS: Bool), isHop: Bool = false
  ) -> LookUp {
    let state = CacheState(
      cache,
      RequestPlan(services.requestHead, in: bytes, framing: message.outbound.framing, cache.rules, wall: wallClockSeconds()))
    self.cache = state
    state.forward = state.plan.pass == .method ? .method : .bypass
    if state.plan.pass != nil || message.outbound.authenticatesConnection { return .ask }
    guard let key = cacheKey(cache, entry, rules, pool, target, bytes, place) else {
      state.refusal = .credential
      return state.plan.needs.onlyIfCached ? .nothing : .ask
    }
    state.key = key
    let reader = cache.reader(sendsCredential: key.epoch != nil)
    let own = ownLines(rules, cache)
    let desk = services.cacheDesk
    state.stale.seen = desk.store.beginLookUp()
    let probe = desk.store.probe(key.target, key.partition, now: loop.now)
    let recent = recentVariants
    let isKept = own.isEmpty && recent != nil
    let known = isKept ? desk.requests.find(reader, services.requestHead.fields, in: bytes) : nil
    let answer = probe.answer { vary in
      known?.variant(vary, recent: recent)
        ?? reader.variant(of: services.requestHead.fields, in: bytes, own: own, vary: vary, recent: recent)
    }
    state.forward = probe.hasAnswers ? .variantMiss : .targetMiss
    if let answer, isOfUse(answer, isHop: isHop) {
      switch answer.times.use(for: state.plan.needs, now: loop.now) {
      case .now(let left): return .hit(answer, left: left)
      case .whileRevalidating(let left): state.stale.left = left
      case .afterValidation: break
      }
      state.forward = answer.times.isFresh(loop.now) ? .request : .stale
      state.stale.answer = answer
    }
    if state.plan.needs.onlyIfCached { return .nothing }
    // A 200 to HEAD may say that what is stored varies by other names.
    guard state.plan.mayStore || state.plan.isHead && answer != nil else { return .ask }
    state.asked = known ?? AskedFields(reader, services.requestHead.fields, in: bytes, own: own, of: desk.store)
    if state.asked == nil { state.refusal = .full }
    guard state.plan.mayStore else { return .ask }
    state.sharing.found = consume probe
    if state.stale.answer?.facts.hasValidator == true {
      // The app's own condition is answered from what is stored then.
      state.stale.validates = true
      services.requestHead.fields.dropConditions(in: bytes)
    }
    return .ask
  }

  /// What the loop remembers of such requests; nil: of what an app wants in no table of HPACK nothing is kept here either.
  var recentVariants: RecentVariants? { message.marked.isEmpty ? services.cacheDesk.variants : nil }

  /// The answer to what the store has, if that needs no way to an origin; nil: the request goes on.
  func answerAtOnce(_ found: LookUp) -> RequestMachine.Input? {
    switch found {
    case .ask: return nil
    case .nothing: return failing(.nothingStored)
    case .hit(let answer, let left):
      guard let state = cache, redirection == nil || !Redirect.isStatus(answer.facts.status) else { return nil }
      answer.noteUse()
      return answering(.stored(StoredReply(answer, .hit(ttl: left), for: state.plan)))
    }
  }

  /// The request knows its way.
  /// - Parameter needsCredential: as of `originFound`.
  func proceed(_ found: LookUp, needsCredential: Bool) -> RequestMachine.Input {
    guard let state = cache else { return .originFound(needsCredential: needsCredential) }
    switch found {
    case .ask:
      return revalidate(state, needsCredential: needsCredential) ?? collapse(state, needsCredential: needsCredential)
    case .nothing: return failing(.nothingStored)
    case .hit(let answer, let left):
      answer.noteUse()
      return serve(StoredReply(answer, .hit(ttl: left), for: state.plan))
    }
  }

  /// nil: nobody knows now on whose behalf the credential is.
  private func cacheKey(
    _ cache: EntryCache, _ entry: Entry, _ rules: ForwardingRules, _ pool: OriginPool, _ target: RequestTarget,
    _ bytes: UnsafeRawBufferPointer, _ place: (host: String, port: UInt16, isHTTPS: Bool)
  ) -> CacheKey? {
    var standing: CredentialStanding?
    if message.outbound.sendsCredential, let index = entry.credential {
      standing = services.credentials.view(index, of: snapshot).standing
    }
    let epoch = standing?.epoch
    if standing != nil, epoch == nil { return nil }
    let field = rules.keepsHost ? askedHost(target, bytes, pool.origin) : []
    let partition = partition(cache, entry, rules, pool, epoch, place, field)
    let target = withForwardedTarget(target, bytes, rules) { CacheTarget(origin: partition.origin, path: $0) }
    return CacheKey(target: target, partition: partition, epoch: epoch, standing: standing)
  }

  /// The Host of the app, without the origin's default port.
  private func askedHost(_ target: RequestTarget, _ bytes: UnsafeRawBufferPointer, _ origin: Origin) -> [UInt8] {
    let text = target.form == .absolute ? Array(target.authority.bytes(in: bytes)) : Array(record.target.authority.utf8)
    return withoutDefaultPort(text, isTLS: origin.identity.isTLS)
  }

  private func withForwardedTarget<Result>(
    _ target: RequestTarget, _ bytes: UnsafeRawBufferPointer, _ rules: ForwardingRules,
    _ body: (UnsafeRawBufferPointer) -> Result
  ) -> Result {
    if message.outbound.keepsTarget(rules: rules) { return body(target.pathAndQuery.bytes(in: bytes)) }
    let size = message.outbound.sizeLimit(of: target, rules: rules)
    return withUnsafeTemporaryAllocation(byteCount: size, alignment: 8) { buffer in
      var writer = ByteWriter(buffer)
      message.outbound.write(target, in: bytes, rules: rules, into: &writer)
      return body(writer.written)
    }
  }

  private func partition(
    _ cache: EntryCache, _ entry: Entry, _ rules: ForwardingRules, _ pool: OriginPool, _ epoch: CredentialEpoch?,
    _ place: (host: String, port: UInt16, isHTTPS: Bool), _ field: [UInt8]
  ) -> Partition {
    let takesGzip = entry.settings.decompress ? message.outbound.acceptsGzip : nil
    if let memo = app.partition, memo.isFor(rules, place, field, epoch, takesGzip, record.client) { return memo.partition }
    let key = PartitionMemo.Key(
      rules: rules, host: place.host, port: place.port, isHTTPS: place.isHTTPS, field: field, epoch: epoch,
      takesGzip: takesGzip, client: record.client)
    let match = entry.rules.firstIndex { $0 === rules } ?? 0
    let origin = (entry.origin ?? pool.origin).identity
    var base = cache.base(
      match: entry.settings.matches[match], origin: origin,
      canonical: snapshot.cacheOrigins?.canonical(of: origin) ?? [])
    // What was rewritten has the authority that the app asked for.
    if entry.origin == nil || rules.keepsHost || entry.settings.matches[match].isWildcard {
      base.asked = Partition.Asked(host: place.host, port: place.port, field: field)
    }
    let partition = Partition(
      base, credential: epoch?.digest ?? .none, takesGzip: takesGzip, client: app.cacheClient(named: record.client))
    app.partition = PartitionMemo(key, partition)
    return partition
  }

  /// What `request_headers` and `response_headers` write differs between the clients that share answers.
  private func ownLines(_ rules: ForwardingRules, _ cache: EntryCache) -> [(name: [UInt8], value: [UInt8])] {
    let namesClient = rules.requestHeaders?.namesClient == true || rules.responseHeaders?.namesClient == true
    guard cache.rules.servesSeveralClients, namesClient else { return [] }
    return [(Array("client".utf8), Array((record.client ?? "").utf8))]
  }
}

/// `host:443` and `host` are one target of an https origin.
func withoutDefaultPort(_ authority: [UInt8], isTLS: Bool) -> [UInt8] {
  let port = Array((isTLS ? ":443" : ":80").utf8)
  return authority.count > port.count && authority.suffix(port.count).elementsEqual(port)
    ? Array(authority.dropLast(port.count)) : authority
}

extension ContiguousArray<Field> {
  /// Marks the conditions that a cache answers itself as dropped.
  fileprivate mutating func dropConditions(in head: UnsafeRawBufferPointer) {
    drop(.ifNoneMatch)
    drop(named: Array("If-Modified-Since".utf8), in: head)
  }
}
