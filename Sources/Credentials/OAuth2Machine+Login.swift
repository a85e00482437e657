/// Logins and logouts, which other processes write into the store.
extension OAuth2Machine {
  /// The answer to a `look`, or to nothing if another kind of store reports changes itself.
  public mutating func seen(_ answer: TokenStoreAnswer, now: Int64, wall: Int64) -> [Action] {
    // Under its own lock, nobody else changes the record; under its own claim, the outcome says what has changed.
    guard usesStore, !stored.holdsLock else { return flush(now) }
    noteClock(answer, now, wall)
    guard !retired else {
      if case .seen(let record?, _) = answer { leave(record) }
      return flush(now)
    }
    if case .seen = answer, failures.isUnreadable { failures.forgive() }
    switch answer {
    case .seen(let record?, _) where record.binding == binding:
      if isNews(record) {
        _ = follow(record, now, wall)
      } else if record.generation == stored.generation {
        if isRefused(record) { stopForOperator(record.lastError?.text) } else { followClearance(record) }
      } else {
        putBackIfLost(record.generation, now)
      }
      if flight == nil { followFailures(record, now) }
      stored.isKnown = true
    case .seen:
      putBackIfLost(nil, now)
      // A file that was deleted or damaged is no logout: what this process has, it goes on with, and writes again.
      if hasLogin, !stored.isKnown { needLogin(nil, refused: false) }
      stored.isKnown = true
    case .wrongKey, .damaged:
      if hasLogin, !stored.isKnown, flight == nil, failures.operatorReason == nil {
        let text = unreadable(isDamaged: answer == .damaged)
        failures.last = text
        failures.operatorReason = text
        failures.isUnreadable = true
        actions.append(.report(.needsOperator(text)))
      }
    case .record, .busy, .claimed, .saved, .superseded, .released, .failed, .unreachable, .unchanged: break
    }
    return flush(now)
  }

  /// It is newer than what this machine knows. Or the store had lost records, and another process has got another token under the number
  /// of this one's: what stands in the store is what counts.
  func isNews(_ record: TokenRecord) -> Bool {
    record.generation > stored.generation
      || record.generation == stored.generation && record.generation > 0 && record.refreshToken != stored.refreshToken
  }

  /// An operator has cleared what the record said: the next request tries again.
  private mutating func followClearance(_ record: TokenRecord) {
    let isNew = record.lastError != stored.record?.lastError
    stored.record = record
    guard isNew, record.lastError?.isClearance == true, flight == nil, !stored.isLoggedOut else { return }
    failures.forgive()
    stored.shared.doubt = nil
  }

  /// Takes over a newer record. True: the flight, if there was one, has ended, and no refresh is needed.
  mutating func follow(_ record: TokenRecord, _ now: Int64, _ wall: Int64) -> Bool {
    // A refresh token from the configuration does not come back. Only a login follows a logout.
    if stored.isLoggedOut, !hasLogin, record.tombstone == nil { return false }
    let wasKnown = stored.isKnown
    let isOther = !stored.isSame(record.login)
    stored.isKnown = true
    stored.generation = record.generation
    stored.record = record
    stored.refreshToken = record.refreshToken
    stored.login = record.login
    takeKey(of: record)
    stored.isLoggedOut = record.tombstone != nil
    flight?.record = record
    if stored.isLoggedOut {
      logOut(wasKnown: wasKnown)
      return true
    }
    if record.lastError?.isFinal != true { failures.forgive() }
    if isOther, wasKnown {
      refusals = Refusals()
      actions.append(.report(.loggedIn))
    }
    // The tokens of another login may be another person's, or revoked: a logout before it may not have been seen.
    if isOther, wasKnown { withdraw() }
    let adoption = adopt(record, now, wall)
    if isRefused(record) {
      stopForOperator(record.lastError?.text)
      return true
    }
    if !canRefresh, current?.isUsable(at: now) != true {
      if record.certificate != policy.boundThumbprint {
        needLogin("the login's token is bound to another client certificate", refused: false)
      } else {
        expireLogin(now)
      }
      return true
    }
    if case .enough = adoption { return true }
    return false
  }

  /// No token is left, and none can be fetched.
  mutating func expireLogin(_ now: Int64) {
    needLogin(stored.login == nil ? nil : "the login has expired", refused: false)
  }

  /// Ends the flight, and waits for a login. A token that is still valid stays in use.
  mutating func needLogin(_ why: String?, refused: Bool) {
    let text = "needs a login: run \"authproxy login \(name)\"" + (why.map { "; \($0)" } ?? "")
    actions.append(.report(.needsLogin(text, refused: refused)))
    giveUp(text, isLogin: true)
  }

  private mutating func logOut(wasKnown: Bool) {
    withdraw()
    let text = hasLogin ? "needs a login: run \"authproxy login \(name)\"" : "is logged out; configure another refresh_token"
    if wasKnown {
      actions.append(.report(.loggedOut))
    } else {
      actions.append(.report(hasLogin ? .needsLogin(text, refused: false) : .needsOperator(text)))
    }
    giveUp(text, isLogin: hasLogin)
  }

  mutating func giveUp(_ text: String, isLogin: Bool) {
    endFlight()
    failures.last = text
    failures.operatorReason = text
    failures.needsLogin = isLogin
    failures.backOffUntil = nil
    if waiters.refused { actions.append(.releaseRefused(.needsOperator)) }
    if waiters.need { actions.append(.failWaiters(isLogin ? .needsLogin : .needsOperator(text))) }
    waiters.release()
  }

  /// Requests that began before a reload still send this machine's tokens, until somebody logs out or another person logs in.
  private mutating func leave(_ record: TokenRecord) {
    guard record.binding == binding, record.generation > stored.generation,
      record.tombstone != nil || !stored.isSame(record.login)
    else { return }
    stored.generation = record.generation
    stored.refreshToken = nil
    withdraw()
    giveUp("is logged out", isLogin: hasLogin)
  }

  mutating func withdraw() {
    // Also after the last version has expired for this machine: requests compare with a clock of their own.
    guard latestVersion > 0 else { return }
    current = nil
    actions.append(.withdraw)
  }
}

extension OAuth2Machine.Stored {
  /// Whether it is the login of the known record. Refreshes change its scope and its end.
  fileprivate func isSame(_ other: TokenRecord.Login?) -> Bool {
    login?.loggedInAt == other?.loggedInAt && login?.generation == other?.generation && login?.subject == other?.subject
      && login?.person == other?.person
  }
}
