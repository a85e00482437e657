/// The refresh: at most one at a time, and independent of any request.
extension OAuth2Machine {
  /// Milliseconds; doubles with each consecutive failure.
  static let firstBackOff: Int64 = 1_000
  static let longestBackOff: Int64 = 300_000
  /// Milliseconds. A token with a shorter lifetime is fetched only when a request needs it.
  static let shortestRefreshedAhead: Int64 = 2_000
  /// Milliseconds. A timer that comes so late was held up with the whole process, and an answer may lie in the socket.
  static let oversleep: Int64 = 1_000

  public mutating func timer(now: Int64) -> [Action] {
    switch flight?.phase {
    case .busy(let retryAt) where now >= retryAt: readToClaim()
    case .requesting(let deadline) where now >= deadline + Self.oversleep && flight?.hasOverslept == false:
      flight?.hasOverslept = true
      flight?.phase = .requesting(deadline: now + Self.oversleep)
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
      if usesStore, !flight.isAlone { save(grant, now, wall) } else { succeed(grant, now) }
    case .refused(let error):
      let classified = error.classified(for: policy.grant)
      let needsOperator = classified == .needsOperator
      // A source names its server itself.
      let why = policy.source == nil ? "\(error)" : error.text
      let text = flight.interrupted && needsOperator ? "\(why); \(Self.interruptedHint)" : why
      let noted = TokenRecord.RefreshError(text, at: stored.clock(at: now, orElse: wall) / 1_000, isFinal: needsOperator)
      if needsOperator, usesStore, !flight.isAlone {
        // Another process may have been faster. Its token is good.
        self.flight?.phase = .confirming(Flight.Refusal(text: text, error: noted))
        actions.append(.store(id: id, .confirm))
        break
      }
      // The server gave a definite answer, so it did not exchange the refresh token.
      fail(
        text, retryAfter: nil, needsOperator: needsOperator, operatorMustAct: policy.source != nil && classified == .permanent,
        noting: Note(noted, clearsMark: true), now)
    case .failed(.unfit(let why), let retryAfter): fail(why, retryAfter: retryAfter, operatorMustAct: true, now)
    case .failed(.source(let name, let why), _): lackSource("\(TokenFailure.source(name, why))", why, now)
    case .failed(.unusable(let why, let next), _) where hasRefreshToken:
      // The old one is spent: a server that saw it again could end the login.
      keep(next)
      let text = "\(TokenFailure.malformed(why))"
      let noted = TokenRecord.RefreshError(text, at: stored.clock(at: now, orElse: wall) / 1_000, isFinal: false)
      fail(text, retryAfter: nil, noting: Note(noted, clearsMark: true), now)
    case .failed(let failure, let retryAfter):
      let noted = TokenRecord.RefreshError("\(failure)", at: stored.clock(at: now, orElse: wall) / 1_000, isFinal: false)
      fail("\(failure)", retryAfter: retryAfter, noting: Note(noted, clearsMark: false), now)
    }
    return flush(now)
  }

  /// The refusal stands: the record that it is about is the newest.
  mutating func confirmed(_ refusal: Flight.Refusal, _ now: Int64) {
    note(refusal.error, clearsMark: true, until: nil)
    if hasLogin { return needLogin(refusal.text, refused: true) }
    fail(refusal.text, retryAfter: nil, needsOperator: true, now)
  }

  /// What a failure leaves in the record.
  struct Note {
    let error: TokenRecord.RefreshError
    let clearsMark: Bool
    init(_ error: TokenRecord.RefreshError, clearsMark: Bool) {
      self.error = error
      self.clearsMark = clearsMark
    }
  }

  static let interruptedHint =
    "an earlier process ended while it was using this refresh token, so the server probably issued a new one, which is lost"

  mutating func startInBackground(_ now: Int64) {
    guard flight == nil, failures.operatorReason == nil, !retired, now >= failures.unaskedUntil ?? now else { return }
    start(now)
  }

  /// - Parameter refuser: the client whose refusal causes it; nil: the token's age does.
  mutating func start(refuser: String? = nil, _ now: Int64) {
    takeOff(refuser: refuser, now)
    if !usesStore { return request(now, claimedAt: nil) }
    if stored.holdsLock, !isShared {
      // The mark also saves a token that could not be saved before.
      stored.unsaved?.retryAt = now + Self.saveRetry
      take(stored.record, now, stored.clock(at: now, orElse: 0) / 1_000)
    } else {
      readToClaim()
    }
  }

  /// - Parameter claimedAt: when other processes may have begun to wait for the claim's end; nil: they cannot take it over.
  mutating func request(_ now: Int64, claimedAt: Int64?) {
    guard let id = flight?.id else { return }
    flight?.requested = now
    let before = claimedAt.map { $0 + policy.sendingTime }
    flight?.phase = .requesting(deadline: now + policy.longestFetch)
    actions.append(.fetch(id: id, refreshToken: hasRefreshToken ? stored.refreshToken : nil, before: before))
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
  ///   - noting: for the record, if it is claimed.
  mutating func fail(
    _ text: String, retryAfter: Int64?, needsOperator: Bool = false, operatorMustAct: Bool = false, noting: Note? = nil,
    _ now: Int64
  ) {
    guard let ended = flight else { return }
    if !needsOperator, !ended.outdated { failures.count += 1 }
    let until = needsOperator ? nil : now + backOff(retryAfter: retryAfter, now)
    if let noting { note(noting.error, clearsMark: noting.clearsMark, until: ended.outdated ? nil : until) }
    endFlight()
    guard !ended.outdated else { return startForWaiters(now) }
    failures.ofStore = nil
    failures.last = text
    failures.operatorMustAct = operatorMustAct
    if let until {
      failures.backOffUntil = until
      failures.isLimited = until - now > Self.longestBackOff
      actions.append(.report(.failed(text, retryAt: until)))
    } else {
      failures.operatorReason = text
      failures.backOffUntil = nil
      actions.append(.report(.needsOperator(text)))
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
    if flight == nil, waiters.need || waiters.refused { start(now) }
  }

  mutating func endFlight() {
    flight = nil
    if stored.unsaved == nil { unlock() }
  }

  private mutating func backOff(retryAfter: Int64?, _ now: Int64) -> Int64 {
    let longest = min(Self.longestBackOff, Self.firstBackOff << Int64(max(0, min(failures.count - 1, 16))))
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
    case .busy(let retryAt): return retryAt
    case .requesting(let deadline): return deadline
    case .some: return nil
    case nil: break
    }
    var times: [Int64] = []
    if let retryAt = stored.unsaved?.retryAt { times.append(retryAt) }
    if waiters.ahead, current == nil, !retired, failures.operatorReason == nil, let until = failures.unaskedUntil {
      times.append(until)
    }
    if !canRefresh, let current, failures.operatorReason == nil, !retired { times.append(current.expiry) }
    if let current, current.refreshAt != .max, failures.operatorReason == nil, !retired {
      let due = max(current.refreshAt, failures.unaskedUntil ?? 0)
      if due < current.expiry { times.append(due) }
    }
    return times.min()
  }
}
