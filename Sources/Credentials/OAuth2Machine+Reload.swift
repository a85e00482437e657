/// What a reload changes.
extension OAuth2Machine {
  /// The configuration, or a secret behind it, was read again. An equal policy changes nothing. A different one ends
  /// `needsOperator` and every back-off; the token stays where it is still the same client asking for the same thing.
  public mutating func reconfigure(_ policy: OAuth2Policy, now: Int64) -> [Action] {
    retired = false
    guard policy != self.policy else { return flush(now) }
    let old = self.policy
    let oldBinding = binding
    self.policy = policy
    binding = TokenBinding.digest(of: policy)
    failures = 0
    backOffUntil = nil
    operatorReason = nil
    let sameBinding = binding == oldBinding
    let sameToken = sameBinding && old.scope == policy.scope && old.parameters == policy.parameters
    if !sameToken, current != nil {
      current = nil
      actions.append(.withdraw)
    }
    if let flight {
      if sameToken || (sameBinding && usesStore) {
        self.flight?.outdated = true
        if !sameToken { self.flight?.foreign = true }
      } else {
        actions.append(.cancelFetch(id: flight.id))
        abandon()
      }
    }
    if !sameBinding {
      if flight == nil { abandon() }
      generation = 0
      ownMark = false
      if case .refreshToken(let first) = policy.grant { refreshToken = first } else { refreshToken = nil }
    }
    startForWaiters(now)
    return flush(now)
  }

  /// The credential is in no configuration any more. Requests that began before may still use it and ask; nothing is fetched
  /// ahead for them.
  public mutating func retire(now: Int64) -> [Action] {
    retired = true
    return flush(now)
  }

  /// True while ending the process would lose a refresh token, or leave it in doubt: at most a token request's time-out, or
  /// as long as the disk refuses it.
  public var mustFinish: Bool {
    guard usesStore else { return false }
    switch flight?.phase {
    case .marking, .requesting, .saving: return true
    case .locking, .lockBusy, nil: return unsaved != nil
    }
  }

  /// Nobody asks any more: ends what is on its way. While `mustFinish`, it is better to wait. What a store was already asked
  /// to write is written, as it carries requests out in their order.
  public mutating func stop(now: Int64) -> [Action] {
    retired = true
    if let flight { actions.append(.cancelFetch(id: flight.id)) }
    abandon()
    clearWaiters()
    current = nil
    return flush(now)
  }

  private mutating func abandon() {
    flight = nil
    unsaved = nil
    unlock()
  }
}
