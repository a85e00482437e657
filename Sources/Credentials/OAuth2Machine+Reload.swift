/// What a reload changes.
extension OAuth2Machine {
  /// The configuration, or a secret behind it, was read again. An equal policy changes nothing. Other secrets or times end
  /// `needsOperator` and every back-off; the token stays.
  /// - Parameter policy: of the same identity (`CredentialPolicy.continuity`): another one has a machine of its own.
  public mutating func reconfigure(_ policy: OAuth2Policy, now: Int64) -> [Action] {
    assert(TokenBinding.digest(of: policy) == binding && policy.scope == self.policy.scope)
    guard policy != self.policy else { return flush(now) }
    self.policy = policy
    failures = 0
    backOffUntil = nil
    operatorReason = nil
    flight?.outdated = true
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
    flight = nil
    unsaved = nil
    unlock()
    clearWaiters()
    current = nil
    return flush(now)
  }
}
