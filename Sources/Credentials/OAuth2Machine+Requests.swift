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
      needWaiting = true
      return (.wait, flush(now))
    }
    if let unavailable = unavailable(now) { return (.unavailable(unavailable), flush(now)) }
    start(byRefusal: false, now)
    needWaiting = true
    return (.wait, flush(now))
  }

  /// A response in `retry_statuses` came for a request sent with `version`.
  ///
  /// - Parameter isRetry: the request had already been sent again; it is never sent a third time.
  public mutating func refused(
    version: UInt64, by key: RequestKey, isRetry: Bool, now: Int64
  ) -> (decision: RefusalDecision, actions: [Action]) {
    if isRetry {
      memory.remember(key, now: now)
      window.wasInVain(for: key.client)
      return (.relay(.refusedAgain), flush(now))
    }
    return (decide(version: version, key, now), flush(now))
  }

  /// A response was not a refusal. Matters only for requests that had refused a fresh token.
  public mutating func accepted(_ key: RequestKey) {
    memory.forget(key)
  }

  private mutating func decide(version: UInt64, _ key: RequestKey, _ now: Int64) -> RefusalDecision {
    let usable = current.flatMap { $0.isUsable(at: now) ? $0 : nil }
    if let usable, version < usable.version { return .resend(usable) }
    if usable != nil, memory.remembered(key, now: now) != nil { return .relay(.remembered) }
    if flight == nil {
      if operatorReason != nil { return .relay(.needsOperator) }
      if let backOffUntil, now < backOffUntil { return .relay(.backingOff) }
      // If the token has expired or is due anyway, its age causes the refresh.
      let byRefusal = usable.map { now < $0.refreshAt } ?? false
      if byRefusal, !window.admits(key.client, policy.refreshWindow, now: now) { return .relay(.windowUsedUp) }
      start(byRefusal: byRefusal, now)
    }
    refusedWaiting = true
    if refusers.count < Self.maximumRefusers { refusers.append(key) }
    return .waitForRefresh
  }

  private func unavailable(_ now: Int64) -> CredentialUnavailable? {
    if let operatorReason { return .needsOperator(operatorReason) }
    if let backOffUntil, now < backOffUntil { return .temporarily(lastFailure, retryAfter: backOffUntil - now) }
    return nil
  }
}
