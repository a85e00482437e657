/// Tokens that are exchanged for those of another credential, the source.
extension OAuth2Machine {
  /// The source has no token.
  mutating func lackSource(_ text: String, _ why: CredentialUnavailable, _ now: Int64) {
    let mustAct = if case .temporarily = why { false } else { true }
    giveWay(text, operatorMustAct: mustAct, now)
  }

  /// Ends a flight whose token server was not asked, because of a source or a store, which have back-offs of their own. So this one stays
  /// short: what helps there helps here soon.
  /// - Parameter pause: milliseconds.
  mutating func giveWay(_ text: String, operatorMustAct: Bool, for pause: Int64 = firstBackOff, _ now: Int64) {
    guard let ended = flight else { return }
    endFlight()
    guard !ended.outdated else { return startForWaiters(now) }
    let until = now + pause
    // Once for each reason, not once a second.
    if failures.last != text || failures.backOffUntil == nil { actions.append(.report(.failed(text, retryAt: until))) }
    failures.last = text
    failures.backOffUntil = until
    failures.operatorMustAct = operatorMustAct
    if waiters.refused { actions.append(.releaseRefused(.refreshFailed)) }
    if waiters.need { actions.append(.failWaiters(backingOff(until: until, now))) }
    waiters.release()
  }

  /// Why there is no token before `until`.
  func backingOff(until: Int64, _ now: Int64) -> CredentialUnavailable {
    failures.operatorMustAct
      ? .needsOperator(failures.last) : .temporarily(failures.last, retryAfter: max(1, until - now))
  }

  /// The source's login is over, or another person's: what was exchanged for its tokens is, too.
  public mutating func sourceWithdrawn(now: Int64) -> [Action] {
    withdraw()
    if let flight {
      actions.append(.cancelFetch(id: flight.id))
      endFlight()
      startForWaiters(now)
    }
    return flush(now)
  }
}
