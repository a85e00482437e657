/// The refresh: at most one at a time, and independent of any request.
extension OAuth2Machine {
  /// Milliseconds; doubles with each consecutive failure.
  static let firstBackOff: Int64 = 1_000
  static let longestBackOff: Int64 = 300_000
  /// Milliseconds. A token with a shorter lifetime is fetched only when a request needs it.
  static let shortestRefreshedAhead: Int64 = 2_000
  /// Milliseconds after the time-outs of its requests. Then the machine gives up a fetch that never returned.
  static let fetchGrace: Int64 = 5_000

  public mutating func timer(now: Int64) -> [Action] {
    switch flight?.phase {
    case .lockBusy(let retryAt) where now >= retryAt: lock()
    case .requesting(let deadline) where now >= deadline:
      if let flight { actions.append(.cancelFetch(id: flight.id)) }
      fail("\(TokenFailure.timedOut)", retryAfter: nil, now)
    case nil:
      retrySaving(now)
      if let current, current.isUsable(at: now), now >= current.refreshAt { startInBackground(now) }
    default: break
    }
    return flush(now)
  }

  /// The result of a fetch. Ignores those of cancelled or unknown fetches.
  public mutating func tokenAnswer(id: UInt64, _ answer: TokenAnswer, now: Int64, wall: Int64) -> [Action] {
    guard let flight, flight.id == id, case .requesting = flight.phase else { return flush(now) }
    switch answer {
    case .token(let grant):
      if usesStore { save(grant, now, wall) } else { succeed(grant, now) }
    case .refused(let error):
      // The server gave a definite answer, so it did not exchange the refresh token.
      clearMark()
      let needsOperator = error.classified(for: policy.grant) == .needsOperator
      let text = flight.interrupted && needsOperator ? "\(error); \(Self.interruptedHint)" : "\(error)"
      fail(text, retryAfter: nil, needsOperator: needsOperator, now)
    case .failed(let failure, let retryAfter):
      fail("\(failure)", retryAfter: retryAfter, now)
    }
    return flush(now)
  }

  static let interruptedHint =
    "an earlier process ended while it was using this refresh token, so the server probably issued a new one, which is lost"

  mutating func startInBackground(_ now: Int64) {
    guard flight == nil, operatorReason == nil, !retired, backOffUntil.map({ now >= $0 }) ?? true else { return }
    start(byRefusal: false, now)
  }

  mutating func start(byRefusal: Bool, _ now: Int64) {
    lastID += 1
    flight = Flight(id: lastID, started: now, byRefusal: byRefusal)
    if !usesStore {
      request(now)
    } else if holdsLock {
      // The mark also saves a token that could not be saved before.
      unsaved?.retryAt = now + Self.saveRetry
      mark()
    } else {
      lock()
    }
  }

  mutating func request(_ now: Int64) {
    guard let id = flight?.id else { return }
    var requests: Int64 = 1
    // Discovery asks at most two addresses.
    if case .issuer = policy.endpoint { requests = 3 }
    flight?.requested = now
    flight?.phase = .requesting(deadline: now + requests * Int64(policy.timeout) + Self.fetchGrace)
    actions.append(.fetch(id: id, refreshToken: usesStore ? refreshToken : nil))
  }

  mutating func succeed(_ grant: TokenGrant, _ now: Int64) {
    guard let ended = flight else { return }
    let lifetime = milliseconds(of: grant)
    let expiry = ended.requested + lifetime
    guard expiry > now else { return fail("\(TokenFailure.expiredOnArrival)", retryAfter: nil, now) }
    guard let isNew = publish(grant.accessToken, lifetime: lifetime, expiry: expiry) else {
      return fail("\(TokenFailure.malformed("its access_token is not valid in an HTTP field"))", retryAfter: nil, now)
    }
    if isNew {
      actions.append(.report(.refreshed(version: latestVersion, expiry: expiry, byRefusal: ended.byRefusal)))
    } else {
      actions.append(.report(.sameToken(byRefusal: ended.byRefusal)))
    }
    endFlight()
    settleRefused(isNew: isNew, byRefusal: ended.byRefusal, now)
  }

  /// Ends a flight after any failure.
  mutating func fail(_ text: String, retryAfter: Int64?, needsOperator: Bool = false, _ now: Int64) {
    guard let ended = flight else { return }
    endFlight()
    guard !ended.outdated else { return startForWaiters(now) }
    lastFailure = text
    if needsOperator {
      operatorReason = text
      backOffUntil = nil
      actions.append(.report(.needsOperator(text)))
    } else {
      failures += 1
      let until = now + backOff(retryAfter: retryAfter, now)
      backOffUntil = until
      actions.append(.report(.failed(text, retryAt: until)))
    }
    if refusedWaiting { actions.append(.releaseRefused(needsOperator ? .needsOperator : .refreshFailed)) }
    if needWaiting {
      let until = backOffUntil ?? now
      actions.append(
        .failWaiters(needsOperator ? .needsOperator(text) : .temporarily(text, retryAfter: max(1, until - now))))
    }
    clearWaiters()
  }

  /// Publishes a token; nil if it cannot be rendered. True: it differs from the one before.
  mutating func publish(_ token: Secret, lifetime: Int64, expiry: Int64) -> Bool? {
    guard let field = try? CredentialRenderer.bearer(token) else { return nil }
    let isNew = current?.line != field.line
    if isNew { latestVersion += 1 }
    let margin = margin(of: lifetime)
    // With jitter, so that proxies that started together do not refresh together.
    let refreshAt = lifetime < Self.shortestRefreshedAhead ? .max : expiry - margin + random.upTo(margin / 5)
    let credential = RenderedCredential(
      name: name, field: field, version: latestVersion, expiry: expiry, refreshAt: refreshAt)
    current = credential
    failures = 0
    backOffUntil = nil
    operatorReason = nil
    needWaiting = false
    actions.append(.publish(credential))
    return isNew
  }

  /// After `publish`: decides about the requests with a held answer.
  mutating func settleRefused(isNew: Bool, byRefusal: Bool, _ now: Int64) {
    if !isNew, refusedWaiting {
      for key in refusers { memory.remember(key, now: now) }
      if byRefusal, let first = refusers.first { window.wasInVain(for: first.client) }
      actions.append(.releaseRefused(.sameToken))
    }
    clearWaiters()
  }

  func margin(of lifetime: Int64) -> Int64 { max(0, min(Int64(policy.refreshBeforeExpiry), lifetime / 2)) }

  func milliseconds(of grant: TokenGrant) -> Int64 {
    grant.lifetime.map { $0 * 1000 } ?? max(1000, Int64(policy.defaultLifetime))
  }

  mutating func clearWaiters() {
    needWaiting = false
    refusedWaiting = false
    refusers.removeAll()
  }

  mutating func startForWaiters(_ now: Int64) {
    if flight == nil, needWaiting || refusedWaiting { start(byRefusal: false, now) }
  }

  mutating func endFlight() {
    flight = nil
    if unsaved == nil { unlock() }
  }

  private mutating func backOff(retryAfter: Int64?, _ now: Int64) -> Int64 {
    let longest = min(Self.longestBackOff, Self.firstBackOff << Int64(min(failures - 1, 16)))
    let delay = longest - random.upTo(longest / 2)
    if let retryAfter { return min(max(delay, retryAfter), Self.longestBackOff) }
    // When the token expires, one attempt is worthwhile in spite of the back-off.
    if let current, current.expiry != .max, current.expiry >= now + Self.firstBackOff {
      return min(delay, current.expiry - now)
    }
    return delay
  }

  /// The collected actions, and the next wake-up time if it changed.
  mutating func flush(_ now: Int64) -> [Action] {
    let next = nextWake(now)
    if next != wake {
      wake = next
      actions.append(.wakeAt(next))
    }
    defer { actions = [] }
    return actions
  }

  private func nextWake(_ now: Int64) -> Int64? {
    switch flight?.phase {
    case .lockBusy(let retryAt): return retryAt
    case .requesting(let deadline): return deadline
    case .some: return nil
    case nil: break
    }
    var times: [Int64] = []
    if let retryAt = unsaved?.retryAt { times.append(retryAt) }
    if let current, current.refreshAt != .max, operatorReason == nil, !retired {
      let due = max(current.refreshAt, backOffUntil ?? 0)
      if due < current.expiry { times.append(due) }
    }
    return times.min()
  }
}
