import Cache
import EventIO
import HTTPWire
import Upstreams

/// stale-while-revalidate (RFC 5861 section 3): the app has the stale answer at once, and one request of the proxy's own validates it.
extension Request {
  /// - Returns: the input of the stale answer; nil: there is none that serves so.
  func revalidate(_ state: CacheState, needsCredential: Bool) -> RequestMachine.Input? {
    guard let left = state.stale.left, let stored = state.stale.answer, let key = state.key else { return nil }
    if let asked = state.asked, state.plan.mayStore {
      validateInBackground(state, key, asked, needsCredential: needsCredential)
    }
    stored.noteUse()
    let reply = StoredReply(stored, .hit(ttl: min(left, -1)), for: state.plan)
    return serve(reply)
  }

  /// If nobody does it yet.
  private func validateInBackground(_ state: CacheState, _ key: CacheKey, _ asked: AskedFields, needsCredential: Bool) {
    // A reload has cut this request off: none follows it.
    guard endsAt == nil else { return }
    let store = services.shared.cache
    let probe = store.probe(key.target, key.partition, now: loop.now)
    guard probe.flight(needs: state.plan.needs, now: loop.now, { asked.variant($0) }) == nil else { return }
    let lead = store.lead(
      key.target, key.partition, vary: probe.vary, variant: asked.variant(probe.vary), after: probe,
      loop: loop.executor.index)
    guard case .flight(let flight) = lead else { return }
    let connection = FetchConnection(for: app)
    // Its way leads through this configuration: entries name their credentials by place.
    let request = Request(app: connection, services: services, timer: connection.requestTimer, under: snapshot)
    connection.begin(request)
    request.stand(in: self, state, key, asked, flight, needsCredential: needsCredential)
  }

  /// Asks for the same as another request, for the store alone.
  private func stand(
    in other: Request, _ state: CacheState, _ key: CacheKey, _ asked: AskedFields, _ flight: Flight, needsCredential: Bool
  ) {
    message = other.message
    message.head = other.message.head?.exactCopy()
    message.persists = false
    way = other.way.map { way in
      // The search of another request ends with that one.
      Way(
        entry: way.entry, rules: way.rules, pool: way.pool,
        search: way.search.map { OriginSearch($0.list, on: services.upstreams) },
        stall: way.stall)
    }
    record.target = other.record.target
    // In the background no redirect is followed: each hop is validated for itself.
    record.target.method = other.askedMethod
    record.target.authority = other.askedAuthority
    record.target.path = other.askedPath
    record.client = other.record.client
    record.upstream.entry = other.way?.entry
    adopt(other.account)
    let own = CacheState(state.cache, state.plan)
    own.key = key
    own.asked = asked
    own.forward = .stale
    own.stale.answer = state.stale.answer
    own.stale.seen = state.stale.seen
    own.stale.validates = state.stale.validates
    own.sharing.needsCredential = needsCredential
    own.sharing.isOrphan = true
    own.sharing.isBackground = true
    cache = own
    own.sharing.fetch = beginFetch(own, key, flight)
    // The app's answer comes first.
    loop.again(app)
  }

  /// Begins at the loop's next turn.
  func beginInBackground() {
    guard machine.phase == .routing, let cache else { return }
    take(.originFound(needsCredential: cache.sharing.needsCredential))
  }
}
