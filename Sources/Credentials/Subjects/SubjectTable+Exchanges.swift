/// Exchanges: when one begins, and what its result brings.
extension SubjectTable {
  /// The result of an exchange; ignores those of unknown ones.
  public mutating func answered(_ id: UInt64, _ answer: TokenAnswer, now: Int64) -> Ended {
    var ended = Ended()
    guard let place = flying.removeValue(forKey: id), let entry = entries[place] else { return ended }
    entries.budgets[entry.budget].inFlight -= 1
    entries[place]?.phase = .idle
    if outdated.remove(id) != nil, !answer.isToken {
      // It says nothing about this configuration.
      if entry.isAwaited, case .flying(let token) = entry.phase, let again = takeOff(place, token, now) {
        ended.starts.append(again)
      } else {
        entries.touch(place)
      }
      startNext(entry.budget, now, &ended)
      return ended
    }
    entries[place]?.isAwaited = false
    entries[place]?.refusedVersion = nil
    entries.touch(place)
    let result = settle(place, answer, refused: entry.refusedVersion, now, &ended.report)
    if entry.isAwaited { ended.settled.append(Settled(key: entry.key, result: result)) }
    if case .refused(_, _, suspends: true)? = ended.report { dropQueue(entry.budget, now, &ended) }
    startNext(entry.budget, now, &ended)
    return ended
  }

  /// - Parameter version: an API has refused it.
  mutating func settle(
    _ place: Int, _ answer: TokenAnswer, refused version: UInt64?, _ now: Int64, _ report: inout Report?
  ) -> Result<RenderedCredential, Failure> {
    switch answer {
    case .token(let grant): return take(grant, place, now, &report)
    case .refused(let error) where error.isAboutSubject:
      guard let entry = entries[place] else { return .failure(.refused) }
      entries[place]?.refusedUntil = now + Self.refusalMemory
      entries[place]?.failure = nil
      // API and server agree that this token is worth nothing.
      if let version, version == entry.credential?.version { entries.replace(place, with: nil) }
      // Tokens expire. Only subjects that the server never knew may be invented.
      let suspends = entry.wasAccepted ? false : entries.budgets[entry.budget].countRefusal(now)
      report = .refused(error.name, entries.budgets[entry.budget].client, suspends: suspends)
      return .failure(.refused)
    case .refused(let error): return fail(place, "the token server refused: \(error.name)", retryAfter: nil, now, &report)
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
      name: name, content: .field(field), version: isNew ? lastVersion : entry.credential?.version ?? lastVersion,
      expiry: expiry,
      refreshAt: refreshAt, proof: dpopKey.map { TokenProof($0, for: grant.accessToken) })
    entries.replace(place, with: credential)
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

  /// The request goes on with the token that is still valid.
  mutating func refreshAhead(_ place: Int, _ token: Secret, _ now: Int64) -> Start? {
    guard let entry = entries[place], case .idle = entry.phase, now >= entry.refusedUntil,
      now >= entry.failure?.until ?? .min, mayTakeOff(entry.budget)
    else { return nil }
    return takeOff(place, token, now)
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
