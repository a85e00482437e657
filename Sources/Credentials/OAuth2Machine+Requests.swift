/// Inputs of requests.
extension OAuth2Machine {
  /// Most waiting requests with a held answer that the machine keeps by name.
  static let maximumRefusers = 256

  /// A request needs a token: it has no usable one, or one that is due for refresh.
  public mutating func need(now: Int64) -> (need: Need, actions: [Action]) {
    if let current, current.isUsable(at: now) {
      if now >= current.refreshAt { startInBackground(now) }
      return (.ready(current), flush(now))
    }
    guard flight == nil else {
      waiters.need = true
      return (.wait, flush(now))
    }
    if let unavailable = unavailable(now) { return (.unavailable(unavailable), flush(now)) }
    start(now)
    waiters.need = true
    return (.wait, flush(now))
  }

  /// A token is wanted before a request needs it. Failures are repeated after their back-off until there is one.
  public mutating func ahead(now: Int64) -> [Action] {
    waiters.ahead = true
    if current?.isUsable(at: now) != true { startInBackground(now) }
    return flush(now)
  }

  /// A response in `retry_statuses` came for a request sent with `version`.
  ///
  /// - Parameter isRetry: the request had already been sent again; it is never sent a third time.
  public mutating func refused(
    version: UInt64, by key: RequestKey, isRetry: Bool, now: Int64
  ) -> (decision: RefusalDecision, actions: [Action]) {
    if isRetry {
      // A server that revokes the former token with each refresh may refuse twice what was caught between two of them.
      if flight == nil, version == latestVersion { refusals.memory.remember(key, now: now) }
      refusals.window.wasInVain(for: key.client)
      return (.relay(.refusedAgain), flush(now))
    }
    return (decide(version: version, key, now), flush(now))
  }

  /// A response was not a refusal. Matters only for requests that had refused a fresh token.
  public mutating func accepted(_ key: RequestKey) {
    refusals.memory.forget(key)
  }

  private mutating func decide(version: UInt64, _ key: RequestKey, _ now: Int64) -> RefusalDecision {
    let usable = current.flatMap { $0.isUsable(at: now) ? $0 : nil }
    if let usable, version < usable.version { return .resend(usable) }
    if usable != nil, refusals.memory.remembered(key, now: now) != nil { return .relay(.remembered) }
    if flight == nil {
      if failures.operatorReason != nil { return .relay(.needsOperator) }
      if failures.backingOff(at: now) != nil { return .relay(.backingOff) }
      // The server granted no refresh token. A refusal may be about one path only, so the login goes on.
      if usable != nil, !canRefresh { return .relay(.refreshFailed) }
      // If the token has expired or is due anyway, its age causes the refresh.
      let byRefusal = usable.map { now < $0.refreshAt } ?? false
      if byRefusal {
        // What is stored counts once the record is read: other processes' refreshes do, and a token that is there already does not.
        let isAdmitted =
          usesStore
          ? refusals.window.hasPlace(for: key.client, policy.refreshWindow, now: now)
          : refusals.window.admits(key.client, policy.refreshWindow, now: now)
        guard isAdmitted else { return .relay(.windowUsedUp) }
      }
      start(refuser: byRefusal ? key.client : nil, now)
    }
    waiters.refused = true
    if waiters.refusers.count < Self.maximumRefusers { waiters.refusers.append(key) }
    return .waitForRefresh
  }

  private func unavailable(_ now: Int64) -> CredentialUnavailable? {
    if failures.needsLogin { return .needsLogin }
    if let reason = failures.operatorReason { return .needsOperator(reason) }
    if let until = failures.backingOff(at: now) { return backingOff(until: until, now) }
    return nil
  }
}
