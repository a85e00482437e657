/// Rotation that survives a kill: read, claim, request, save, and only then use.
extension OAuth2Machine {
  /// Milliseconds between attempts to save after the disk refused.
  static let saveRetry: Int64 = 5_000

  public mutating func storeAnswered(id: UInt64, _ answer: TokenStoreAnswer, now: Int64, wall: Int64) -> [Action] {
    noteClock(answer, now, wall)
    if let pending = stored.unsaved, pending.id == id, flight == nil || isShared && flight?.id != id {
      saved(pending.record, answer, now, wall)
      return flush(now)
    }
    guard let flight, flight.id == id else {
      switch answer {
      // No request waits for what was read or claimed any more.
      case .record, .claimed: actions.append(.store(id: id, .release))
      case .superseded(let record): return seen(.seen(record, TokenStoreMark(values: [])), now: now, wall: wall)
      default: break
      }
      return flush(now)
    }
    switch (flight.phase, answer) {
    case (.reading, .record(let record, let setAside)), (.claiming, .record(let record, let setAside)):
      stored.holdsLock = true
      if setAside { actions.append(.report(.recordSetAside)) }
      take(record, now, wall)
    case (.reading, .busy(let holder)), (.claiming, .busy(let holder)):
      // What was read has another process's claim by now, and what becomes of it counts.
      if isShared { stored.holdsLock = false }
      waitForOther(holder, now)
    case (.claiming, .claimed(let since)): claimed(since: since, now)
    case (.confirming(let refusal), .record(let record, _)):
      if let record, record.binding == binding, isNews(record) {
        take(record, now, wall)
      } else {
        confirmed(refusal, now)
      }
    case (.confirming(let refusal), .failed(let text)), (.confirming(let refusal), .unreachable(let text)):
      stored.shared.doubt = Stored.Doubt(generation: stored.generation, refusal: refusal)
      if isShared { failWithoutStore(text, now) } else { fail("\(TokenFailure.store(text))", retryAfter: nil, now) }
    case (.saving(let grant, let record), .saved):
      stored.ownMark = false
      if record.binding == binding { stored.record = record }
      succeed(grant, now)
    case (.saving(let grant, let own), .superseded(let record)): superseded(own, by: record, grant, now, wall)
    case (.saving(let grant, let record), .failed(let text)), (.saving(let grant, let record), .unreachable(let text)):
      useUnsaved(grant, record, text, now)
    case (.saving(let grant, let record), .wrongKey), (.saving(let grant, let record), .damaged):
      useUnsaved(grant, record, "what is in the place of its record cannot be read", now)
    case (_, .wrongKey): failUnreadable(isDamaged: false, now)
    case (_, .damaged): failUnreadable(isDamaged: true, now)
    case (.reading, .unreachable(let text)), (.claiming, .unreachable(let text)): goOnAlone(text, now)
    case (.reading, .failed(let text)), (.claiming, .failed(let text)):
      // Too few replicas, or what a file system says.
      guard !isShared else {
        failWithoutStore(text, isReached: true, now)
        break
      }
      fail("\(TokenFailure.store(text))", retryAfter: nil, now)
    default: break
    }
    return flush(now)
  }

  /// The server has rotated the token already, so not using it would help nobody. The claim keeps others from the old token.
  private mutating func useUnsaved(_ grant: TokenGrant, _ record: TokenRecord, _ why: String, _ now: Int64) {
    guard let id = flight?.id else { return }
    // A reload has named another place meanwhile. The next refresh writes there.
    guard record.binding == binding else { return succeed(grant, now) }
    stored.record = record
    stored.unsaved = Stored.Unsaved(id: id, record: record, retryAt: now + Self.saveRetry)
    // Others may take the claim over: what they do must be seen, and is a reason to save at once.
    if isShared { stored.holdsLock = false }
    actions.append(.report(.notSaved(why)))
    succeed(grant, now)
  }

  /// An unreadable record stays as it is. The configured first token may be used up: nobody tries it.
  private mutating func failUnreadable(isDamaged: Bool, _ now: Int64) {
    let isOutdated = flight?.outdated ?? true
    fail(unreadable(isDamaged: isDamaged), retryAfter: nil, needsOperator: true, now)
    failures.isUnreadable = !isOutdated
  }

  /// What is wrong with a record that cannot be read, and how to repair it.
  func unreadable(isDamaged: Bool) -> String {
    let what =
      isDamaged
      ? "its record is damaged"
      : "its record is encrypted with another key" + (isShared ? ": add that key to previous_keys, or" : ":")
    // A login takes the place of a fleet's record. A file's is only set aside if it is damaged.
    let command = hasLogin && isShared ? "login" : "tokens --clear"
    return "\(TokenFailure.store("\(what)\(isDamaged ? ":" : "") run \"authproxy \(command) \(name)\""))"
  }

  mutating func noteClock(_ answer: TokenStoreAnswer, _ now: Int64, _ wall: Int64) {
    switch answer {
    case .record, .claimed, .saved, .superseded, .seen: stored.shared.epoch = wall * 1_000 - now
    case .busy, .released, .unchanged, .failed, .unreachable, .wrongKey, .damaged: break
    }
  }

  enum Adoption {
    /// It is the token in use, or it cannot be used.
    case none(isCurrent: Bool)
    /// It is in use now, but a refresh is due.
    case due
    /// No refresh is needed: the flight has ended.
    case enough
  }

  /// Uses an access token that another process, or a login, fetched.
  mutating func adopt(_ record: TokenRecord, _ now: Int64, _ wall: Int64) -> Adoption {
    // Requests send the other token since the configuration changed.
    if let login = policy.login, (login.use == .idToken) != (record.issuedAccessToken != nil) { return .none(isCurrent: false) }
    // The server has bound the token to another certificate than requests present.
    guard record.certificate == policy.boundThumbprint else { return .none(isCurrent: false) }
    // It was asked for with another scope, or for another audience.
    guard record.request == nil || record.request == requestDigest else { return .none(isCurrent: false) }
    // Without its key there is no field for it.
    guard let token = record.accessToken, let content = content(of: token) else {
      return .none(isCurrent: false)
    }
    guard content != current?.content else { return .none(isCurrent: true) }
    let left = min(record.expiresAt - wall, record.lifetime) * 1000
    guard left > 0, publish(token, lifetime: record.lifetime * 1000, expiry: now + left) == true else {
      return .none(isCurrent: false)
    }
    actions.append(.report(.adopted(version: latestVersion, expiry: now + left)))
    waiters.releaseRefused()
    guard left > margin(of: record.lifetime * 1000) || !canRefresh else {
      // The refused token has been replaced: now the age of this one is the cause.
      flight?.refuser = nil
      return .due
    }
    endFlight()
    return .enough
  }

  /// Leaves the error in the record, for `tokens` and other processes, and gives up the claim.
  /// - Parameters:
  ///   - clearsMark: the answer was definite, and contained no new refresh token.
  ///   - until: no process asks before; nil: nobody asks again, or at once.
  mutating func note(_ error: TokenRecord.RefreshError, clearsMark: Bool, until: Int64?) {
    guard usesStore, stored.holdsLock, let flight, !flight.isAlone, var record = flight.record else { return }
    record.inFlight = !clearsMark && hasRefreshToken
    if clearsMark { stored.ownMark = false }
    record.lastError = error
    record.backOff = until.flatMap { until in
      stored.shared.epoch.map { SharedBackOff(until: until + $0, count: failures.count, text: error.text) }
    }
    stored.record = record
    actions.append(.store(id: flight.id, .note(record)))
  }

  /// Keeps a refresh token that came with an answer of no other use. Other processes must follow, so it is a record of its own
  /// generation; `note` writes it.
  mutating func keep(_ next: Secret) {
    guard next != stored.refreshToken else { return }
    stored.refreshToken = next
    stored.generation += 1
    flight?.record?.refreshToken = next
    flight?.record?.generation = stored.generation
  }

  mutating func save(_ answer: TokenGrant, _ now: Int64, _ wall: Int64) {
    guard let flight else { return }
    // Of the store: other machines compare it with nothing else.
    let clock = stored.clock(at: now, orElse: wall) / 1_000
    var grant = answer
    // A server that does not rotate sends none.
    let next = hasRefreshToken ? grant.refreshToken ?? stored.refreshToken : nil
    do throws(RefreshedLogin.Problem) {
      let refreshed = try RefreshedLogin(answer, policy: policy, subject: stored.login?.subject, wall: wall)
      grant.accessToken = refreshed.bearer
      grant.lifetime = refreshed.lifetime
    } catch {
      // The token that was sent may be spent: a server that sees it again could end the login, and a logout revokes the new one.
      if let next { keep(next) }
      let noted = TokenRecord.RefreshError("\(error.failure)", at: clock, isFinal: error.isForeign)
      guard error.isForeign else {
        return fail("\(error.failure)", retryAfter: nil, noting: Note(noted, clearsMark: true), now)
      }
      note(noted, clearsMark: true, until: nil)
      return needLogin("\(error.failure)", refused: true)
    }
    stored.refreshToken = next
    stored.generation += 1
    var record = TokenRecord(
      binding: binding, generation: stored.generation, refreshToken: next, dpopKey: generatedKey)
    record.refusals = flight.record?.refusals ?? []
    record.note(request: requestDigest)
    if grant.accessToken != answer.accessToken { record.issuedAccessToken = answer.accessToken }
    record.bind(to: policy.boundThumbprint)
    if let scope = grant.scope { stored.login?.scope = scope }
    if let lifetime = grant.refreshLifetime { stored.login?.expiresAt = clock + lifetime }
    record.login = stored.login
    let lifetime = max(1, milliseconds(of: grant) / 1000)
    record.accessToken = grant.accessToken
    record.lifetime = min(lifetime, TokenResponse.maximumLifetime)
    record.expiresAt = clock + record.lifetime - (now - flight.requested + 999) / 1000
    self.flight?.phase = .saving(grant, record)
    actions.append(.store(id: flight.id, .save(record)))
  }

  mutating func retrySaving(_ now: Int64) {
    guard flight == nil || isShared && awaitsOther, let pending = stored.unsaved, let retryAt = pending.retryAt, now >= retryAt
    else { return }
    stored.unsaved?.retryAt = nil
    actions.append(.store(id: pending.id, .save(pending.record)))
  }

  private mutating func saved(_ record: TokenRecord, _ answer: TokenStoreAnswer, _ now: Int64, _ wall: Int64) {
    switch answer {
    case .saved:
      stored.unsaved = nil
      stored.ownMark = false
      if flight == nil { unlock() }
    case .superseded(let other):
      stored.unsaved = nil
      stored.ownMark = false
      if flight == nil { unlock() }
      giveWay(record, to: other, now, wall)
    case .failed, .unreachable, .wrongKey, .damaged: stored.unsaved?.retryAt = now + Self.saveRetry
    default: break
    }
  }

  /// The number of the new record is taken: while this process was cut off or frozen, another one has used the same refresh token, or
  /// somebody has logged in or out.
  private mutating func superseded(
    _ own: TokenRecord, by record: TokenRecord, _ grant: TokenGrant, _ now: Int64, _ wall: Int64
  ) {
    stored.ownMark = false
    stored.holdsLock = false
    giveWay(own, to: record, now, wall)
    // It has ended the flight if its token can be used. If not, this one is better than none.
    if flight != nil { succeed(grant, now) }
  }

  private mutating func giveWay(_ own: TokenRecord, to record: TokenRecord, _ now: Int64, _ wall: Int64) {
    // Not newer than what was to be saved, but it stands.
    stored.generation = min(stored.generation, record.generation - 1)
    if follow(record, now, wall) { endFlight() }
    guard var tombstone = record.tombstone else { return }
    // The logout did not know of these tokens. The next one revokes them.
    tombstone.unrevoked += own.revocableTokens.filter { !tombstone.unrevoked.contains($0) }
    var left = record
    left.tombstone = tombstone
    left.generation += 1
    stored.generation = left.generation
    stored.record = left
    actions.append(.store(id: lastID, .save(left)))
  }
}
