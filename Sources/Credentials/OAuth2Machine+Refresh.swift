/// The refresh: at most one at a time, and independent of any request.
extension OAuth2Machine {
  /// Milliseconds; doubles with each consecutive failure.
  static let firstBackOff: Int64 = 1_000
  static let longestBackOff: Int64 = 300_000
  /// Milliseconds. A token with a shorter lifetime is fetched only when a request needs it.
  static let shortestRefreshedAhead: Int64 = 2_000

  public mutating func timer(now: Int64) -> [Action] {
    switch flight?.phase {
    case .lockBusy(let retryAt) where now >= retryAt: lock()
    case .requesting(let deadline) where now >= deadline:
      if let flight { actions.append(.cancelFetch(id: flight.id)) }
      fail("\(TokenFailure.timedOut)", retryAfter: nil, now)
    case nil:
      retrySaving(now)
      if !canRefresh, !retired, failures.operatorReason == nil, current?.isUsable(at: now) == false { expireLogin(now) }
      if let current, current.isUsable(at: now), now >= current.refreshAt { startInBackground(now) }
      if waiters.ahead, current == nil { startInBackground(now) }
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
      let classified = error.classified(for: policy.grant)
      let needsOperator = classified == .needsOperator
      // A source names its server itself.
      let why = policy.source == nil ? "\(error)" : error.text
      let text = flight.interrupted && needsOperator ? "\(why); \(Self.interruptedHint)" : why
      // The server gave a definite answer, so it did not exchange the refresh token.
      note(TokenRecord.RefreshError(text, at: wall, isFinal: needsOperator), clearsMark: true)
      if needsOperator, hasLogin {
        needLogin(text, refused: true)
        break
      }
      fail(
        text, retryAfter: nil, needsOperator: needsOperator, operatorMustAct: policy.source != nil && classified == .permanent,
        now)
    case .failed(.unfit(let why), let retryAfter): fail(why, retryAfter: retryAfter, operatorMustAct: true, now)
    case .failed(.source(let name, let why), _): lackSource("\(TokenFailure.source(name, why))", why, now)
    case .failed(.unusable(let why, let next), _) where usesStore:
      // The old one is spent: a server that saw it again could end the login.
      keep(next)
      let text = "\(TokenFailure.malformed(why))"
      note(TokenRecord.RefreshError(text, at: wall, isFinal: false), clearsMark: true)
      fail(text, retryAfter: nil, now)
    case .failed(let failure, let retryAfter):
      note(TokenRecord.RefreshError("\(failure)", at: wall, isFinal: false), clearsMark: false)
      fail("\(failure)", retryAfter: retryAfter, now)
    }
    return flush(now)
  }

  static let interruptedHint =
    "an earlier process ended while it was using this refresh token, so the server probably issued a new one, which is lost"

  mutating func startInBackground(_ now: Int64) {
    guard flight == nil, failures.operatorReason == nil, !retired, failures.backingOff(at: now) == nil else { return }
    start(byRefusal: false, now)
  }

  mutating func start(byRefusal: Bool, _ now: Int64) {
    takeOff(byRefusal: byRefusal, now)
    if !usesStore {
      request(now)
    } else if stored.holdsLock {
      // The mark also saves a token that could not be saved before.
      stored.unsaved?.retryAt = now + Self.saveRetry
      mark(now)
    } else {
      lock()
    }
  }

  mutating func request(_ now: Int64) {
    guard let id = flight?.id else { return }
    flight?.requested = now
    flight?.phase = .requesting(deadline: now + policy.longestFetch)
    actions.append(.fetch(id: id, refreshToken: usesStore ? stored.refreshToken : nil))
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
    if let warning = grant.warning { actions.append(.report(.warning(warning))) }
    endFlight()
    settleRefused(isNew: isNew, byRefusal: ended.byRefusal, now)
  }

  /// Ends a flight after any failure.
  /// - Parameters:
  ///   - needsOperator: no further attempt before the configuration or a secret changes.
  ///   - operatorMustAct: the same for requests, but attempts go on.
  mutating func fail(
    _ text: String, retryAfter: Int64?, needsOperator: Bool = false, operatorMustAct: Bool = false, _ now: Int64
  ) {
    guard let ended = flight else { return }
    endFlight()
    guard !ended.outdated else { return startForWaiters(now) }
    failures.last = text
    failures.operatorMustAct = operatorMustAct
    if needsOperator {
      failures.operatorReason = text
      failures.backOffUntil = nil
      actions.append(.report(.needsOperator(text)))
    } else {
      failures.count += 1
      let until = now + backOff(retryAfter: retryAfter, now)
      failures.backOffUntil = until
      failures.isLimited = until - now > Self.longestBackOff
      actions.append(.report(.failed(text, retryAt: until)))
    }
    if waiters.refused { actions.append(.releaseRefused(needsOperator ? .needsOperator : .refreshFailed)) }
    if waiters.need {
      let until = failures.backOffUntil ?? now
      actions.append(.failWaiters(needsOperator ? .needsOperator(text) : backingOff(until: until, now)))
    }
    waiters.release()
  }

  /// Publishes a token; nil if it cannot be rendered. True: it differs from the one before.
  mutating func publish(_ token: Secret, lifetime: Int64, expiry: Int64) -> Bool? {
    guard let content = content(of: token) else { return nil }
    let isNew = current?.content != content
    let version = isNew ? nextVersion() : latestVersion
    let margin = margin(of: lifetime)
    // With jitter, so that proxies that started together do not refresh together.
    let refreshAt = lifetime < Self.shortestRefreshedAhead || !canRefresh ? .max : expiry - margin + jitter(upTo: margin / 5)
    let credential = RenderedCredential(
      name: name, content: content, version: version, expiry: expiry, refreshAt: refreshAt, proof: proof(for: token))
    current = credential
    waiters.ahead = false
    failures.forgive()
    waiters.need = false
    actions.append(.publish(credential))
    return isNew
  }

  /// After `publish`: decides about the requests with a held answer.
  mutating func settleRefused(isNew: Bool, byRefusal: Bool, _ now: Int64) {
    if !isNew, waiters.refused {
      for key in waiters.refusers { refusals.memory.remember(key, now: now) }
      if byRefusal, let first = waiters.refusers.first { refusals.window.wasInVain(for: first.client) }
      actions.append(.releaseRefused(.sameToken))
    }
    waiters.release()
  }

  func margin(of lifetime: Int64) -> Int64 { max(0, min(Int64(policy.refreshBeforeExpiry), lifetime / 2)) }

  func milliseconds(of grant: TokenGrant) -> Int64 {
    grant.lifetime.map { $0 * 1000 } ?? max(1000, Int64(policy.defaultLifetime))
  }

  mutating func startForWaiters(_ now: Int64) {
    if flight == nil, waiters.need || waiters.refused { start(byRefusal: false, now) }
  }

  mutating func endFlight() {
    flight = nil
    if stored.unsaved == nil { unlock() }
  }

  private mutating func backOff(retryAfter: Int64?, _ now: Int64) -> Int64 {
    let longest = min(Self.longestBackOff, Self.firstBackOff << Int64(min(failures.count - 1, 16)))
    let delay = longest - jitter(upTo: longest / 2)
    if let retryAfter {
      return min(max(delay, retryAfter), max(Self.longestBackOff, policy.source?.longestRetryAfter ?? 0))
    }
    // When the token expires, one attempt is worthwhile in spite of the back-off.
    if let current, current.expiry != .max, current.expiry >= now + Self.firstBackOff {
      return min(delay, current.expiry - now)
    }
    return delay
  }

  func nextWake(_ now: Int64) -> Int64? {
    switch flight?.phase {
    case .lockBusy(let retryAt): return retryAt
    case .requesting(let deadline): return deadline
    case .some: return nil
    case nil: break
    }
    var times: [Int64] = []
    if let retryAt = stored.unsaved?.retryAt { times.append(retryAt) }
    if waiters.ahead, current == nil, !retired, failures.operatorReason == nil, let until = failures.backOffUntil {
      times.append(until)
    }
    if !canRefresh, let current, failures.operatorReason == nil, !retired { times.append(current.expiry) }
    if let current, current.refreshAt != .max, failures.operatorReason == nil, !retired {
      let due = max(current.refreshAt, failures.backOffUntil ?? 0)
      if due < current.expiry { times.append(due) }
    }
    return times.min()
  }
}
