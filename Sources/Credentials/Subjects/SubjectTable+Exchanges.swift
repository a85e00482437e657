/// Exchanges: when one begins, and what its result brings.
extension SubjectTable {
  /// The result of an exchange; ignores those of unknown ones.
  public mutating func answered(_ id: UInt64, _ answer: TokenAnswer, now: Int64) -> Ended {
    var ended = Ended()
    guard let place = flying.removeValue(forKey: id), let entry = entries[place] else { return ended }
    let isAwaited = entry.isAwaited
    entries.budgets[entry.budget].inFlight -= 1
    entries[place]?.phase = .idle
    entries[place]?.isAwaited = false
    entries.touch(place)
    let result = settle(place, answer, now, &ended.report)
    if isAwaited { ended.settled.append(Settled(key: entry.key, result: result)) }
    if case .refused(_, _, suspends: true)? = ended.report { dropQueue(entry.budget, now, &ended) }
    startNext(entry.budget, now, &ended)
    return ended
  }

  mutating func settle(
    _ place: Int, _ answer: TokenAnswer, _ now: Int64, _ report: inout Report?
  ) -> Result<RenderedCredential, Failure> {
    switch answer {
    case .token(let grant): return take(grant, place, now, &report)
    case .refused(let error) where error.isAboutSubject:
      guard let entry = entries[place] else { return .failure(.refused) }
      entries[place]?.refusedUntil = now + Self.refusalMemory
      entries[place]?.failure = nil
      // Tokens expire. Only subjects that the server never knew may be invented.
      let suspends = entry.wasAccepted ? false : entries.budgets[entry.budget].countRefusal(now)
      report = .refused(error.text, entries.budgets[entry.budget].client, suspends: suspends)
      return .failure(.refused)
    case .refused(let error): return fail(place, "\(error)", retryAfter: nil, now, &report)
    case .failed(.source(let name, let why), _):
      return fail(place, "\(TokenFailure.source(name, why))", retryAfter: nil, source: why, now, &report)
    case .failed(let failure, let retryAfter): return fail(place, "\(failure)", retryAfter: retryAfter, now, &report)
    }
  }

  mutating func take(
    _ grant: TokenGrant, _ place: Int, _ now: Int64, _ report: inout Report?
  ) -> Result<RenderedCredential, Failure> {
    guard let entry = entries[place] else { return .failure(.full) }
    let lifetime = grant.lifetime.map { $0 * 1_000 } ?? max(1_000, Int64(policy.defaultLifetime))
    let expiry = entry.requested + lifetime
    guard expiry > now else { return fail(place, "\(TokenFailure.expiredOnArrival)", retryAfter: nil, now, &report) }
    guard let field = try? CredentialRenderer.token(grant.accessToken, as: policy.tokenScheme) else {
      let text = "\(TokenFailure.malformed("its access_token is not valid in an HTTP field"))"
      return fail(place, text, retryAfter: nil, now, &report)
    }
    let isNew = entry.credential?.line != field.line
    if isNew { lastVersion += 1 }
    let margin = max(0, min(Int64(policy.refreshBeforeExpiry), lifetime / 2))
    let refreshAt =
      lifetime < OAuth2Machine.shortestRefreshedAhead ? .max : expiry - margin + random.upTo(margin / 5)
    let credential = RenderedCredential(
      name: name, field: field, version: isNew ? lastVersion : entry.credential?.version ?? lastVersion, expiry: expiry,
      refreshAt: refreshAt, proof: dpopKey.map { TokenProof($0, for: grant.accessToken) })
    entries[place]?.credential = credential
    entries[place]?.wasAccepted = true
    entries[place]?.failure = nil
    entries[place]?.refusedUntil = .min
    report = .exchanged(version: credential.version, lifetime: expiry - now)
    return .success(credential)
  }

  /// No fault of the subject's.
  mutating func fail(
    _ place: Int, _ text: String, retryAfter: Int64?, source: CredentialUnavailable? = nil, _ now: Int64,
    _ report: inout Report?
  ) -> Result<RenderedCredential, Failure> {
    let count = (entries[place]?.failure?.count ?? 0) + 1
    var delay = OAuth2Machine.firstBackOff
    // A source has a back-off of its own.
    if source == nil {
      let longest = min(OAuth2Machine.longestBackOff, OAuth2Machine.firstBackOff << Int64(min(count - 1, 16)))
      delay = min(max(longest - random.upTo(longest / 2), retryAfter ?? 0), OAuth2Machine.longestBackOff)
    }
    let why: CredentialUnavailable =
      switch source {
      case nil, .temporarily?: .temporarily(text, retryAfter: delay)
      case .needsOperator?, .needsLogin?: .needsOperator(text)
      }
    entries[place]?.failure = (now + delay, count, why)
    report = .failed(text, retryIn: delay)
    return .failure(.unavailable(why))
  }

  // MARK: Exchanges

  mutating func begin(_ place: Int, _ token: Secret, _ now: Int64) -> Start? {
    guard let budget = entries[place]?.budget else { return nil }
    guard entries.budgets[budget].inFlight < SubjectBudget.flights else {
      entries[place]?.phase = .queued(token)
      entries.budgets[budget].queue.append(place)
      entries.unlist(place)
      return nil
    }
    return takeOff(place, token, now)
  }

  mutating func takeOff(_ place: Int, _ token: Secret, _ now: Int64) -> Start? {
    guard let budget = entries[place]?.budget else { return nil }
    lastID += 1
    flying[lastID] = place
    entries.budgets[budget].inFlight += 1
    entries[place]?.phase = .flying
    entries[place]?.requested = now
    entries.unlist(place)
    return Start(id: lastID, token: token)
  }

  /// The request goes on with the token that is still valid.
  mutating func refreshAhead(_ place: Int, _ token: Secret, _ now: Int64) -> Start? {
    guard let entry = entries[place], case .idle = entry.phase, now >= entry.refusedUntil,
      now >= entry.failure?.until ?? .min, entries.budgets[entry.budget].inFlight < SubjectBudget.flights
    else { return nil }
    return takeOff(place, token, now)
  }

  mutating func startNext(_ budget: Int, _ now: Int64, _ ended: inout Ended) {
    while entries.budgets[budget].inFlight < SubjectBudget.flights, let place = entries.budgets[budget].queue.popFirst() {
      guard case .queued(let token)? = entries[place]?.phase, let start = takeOff(place, token, now) else { continue }
      ended.starts.append(start)
    }
  }

  /// Too many were refused: those that the server never knew are not tried.
  mutating func dropQueue(_ budget: Int, _ now: Int64, _ ended: inout Ended) {
    guard let wait = entries.budgets[budget].suspension(now) else { return }
    var queue = entries.budgets[budget].queue
    let dropped = queue.removeAll { entries[$0]?.wasAccepted == false }
    entries.budgets[budget].queue = queue
    for place in dropped {
      guard let key = entries[place]?.key else { continue }
      ended.settled.append(Settled(key: key, result: .failure(.tooManyRefused(retryAfter: wait))))
      entries.remove(place)
    }
  }

  /// `refresh_window`, for each subject alone.
  mutating func admitsRefresh(_ place: Int, _ now: Int64) -> Bool {
    guard var window = entries[place]?.window else { return false }
    if window.start == .min || now - window.start >= Int64(policy.refreshWindow.interval) { window = (now, 0) }
    guard window.count < policy.refreshWindow.attempts else { return false }
    window.count += 1
    entries[place]?.window = window
    return true
  }
}

extension OAuthError {
  /// Whether it is the subject that the server refuses, not the client or the configuration. A code of the server's own mostly
  /// says that this user must do something: interaction_required, consent_required.
  var isAboutSubject: Bool {
    switch code {
    case .invalidRequest, .invalidGrant, .accessDenied, .expiredToken, .other: true
    case .invalidClient, .unauthorizedClient, .unsupportedGrantType, .invalidScope, .serverError, .temporarilyUnavailable,
      .authorizationPending, .slowDown, .unsupportedTokenType, .invalidTarget, .useDPoPNonce:
      false
    }
  }
}
