/// Inputs of a reload.
extension OAuth2Machine {
  /// The configuration or one of its secrets was read again. An equal policy changes nothing. Other secrets or times end
  /// `needsOperator` and every back-off, unless a person must log in; the token stays.
  /// - Parameter policy: of the same identity (`CredentialPolicy.continuity`); a policy of another identity has its own
  ///   machine.
  /// - Parameter sharing: as for `init`: another secret has another record there.
  public mutating func reconfigure(_ policy: OAuth2Policy, sharing: [UInt8]? = nil, now: Int64) -> [Action] {
    assert(TokenBinding.digest(of: policy) == TokenBinding.digest(of: self.policy) && policy.scope == self.policy.scope)
    guard policy != self.policy else { return flush(now) }
    self.policy = policy
    if let sharing { move(to: sharing) }
    if !failures.needsLogin, !stored.isLoggedOut {
      failures.forgive()
      stored.shared.pardoned = Stored.Pardon(error: stored.record?.lastError, backOff: stored.record?.backOff)
    }
    flight?.outdated = true
    return flush(now)
  }

  /// The configuration was read again, and is the same. A final refusal of a source is asked about again: what it lacked was to be done
  /// there. A source's back-off ends, unless its server has asked for a longer pause than the machine would make by itself.
  public mutating func askAgain(now: Int64) -> [Action] {
    if policy.source != nil, !failures.isLimited, let until = failures.backOffUntil {
      // Not nil: a fetch ahead is due when the back-off ends.
      failures.backOffUntil = min(until, now)
    }
    if policy.source?.refusalsAreFinal == true { failures.operatorReason = nil }
    return flush(now)
  }

  /// No configuration has the credential any more. Requests that began before may still use it and ask; the machine fetches
  /// nothing ahead for them.
  public mutating func retire(now: Int64) -> [Action] {
    retired = true
    return flush(now)
  }

  /// Whether exiting now could lose a refresh token or leave its state unknown, or a claim that others respect. True for at most the time-out of a token
  /// request, or while the disk refuses to save the token.
  public var mustFinish: Bool {
    guard usesStore else { return false }
    switch flight?.phase {
    // Others wait for the end of a claim.
    case .claiming, .requesting, .confirming, .saving: return hasRefreshToken || flight?.isAlone == false
    case .reading, .busy, nil: return hasRefreshToken && stored.unsaved != nil
    }
  }

  /// No requests are left: ends what is running. While `mustFinish`, it is better to wait. A store still writes what it was
  /// asked to, as it performs requests in order.
  public mutating func stop(now: Int64) -> [Action] {
    retired = true
    var isSent = false
    if let flight {
      actions.append(.cancelFetch(id: flight.id))
      if case .requesting = flight.phase { isSent = true }
    }
    flight = nil
    stored.unsaved = nil
    // A claim whose outcome is unknown keeps the others waiting for as long as it holds.
    if isShared, isSent { stored.holdsLock = false }
    unlock()
    waiters.release()
    current = nil
    return flush(now)
  }
}
