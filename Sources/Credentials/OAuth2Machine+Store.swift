/// Rotation that survives a kill: lock, read, mark, request, save, and only then use.
extension OAuth2Machine {
  /// Milliseconds between attempts to get a lock that another process holds; half of it is jitter.
  static let lockRetry: Int64 = 100
  /// Milliseconds between attempts to save after the disk refused.
  static let saveRetry: Int64 = 5_000

  public mutating func storeAnswered(id: UInt64, _ answer: TokenStoreAnswer, now: Int64, wall: Int64) -> [Action] {
    if let pending = stored.unsaved, pending.id == id, flight == nil {
      saved(pending.record, answer, now)
      return flush(now)
    }
    guard let flight, flight.id == id else {
      // No request waits for this lock any more.
      if case .locked = answer { actions.append(.store(id: id, .release)) }
      return flush(now)
    }
    switch (flight.phase, answer) {
    case (.locking, .locked(let record, let setAside)):
      stored.holdsLock = true
      if setAside { actions.append(.report(.recordSetAside)) }
      take(record, now, wall)
    case (.locking, .busy):
      if now - flight.started > policy.lockPatience {
        fail("\(TokenFailure.store("another process holds this credential's lock"))", retryAfter: nil, now)
      } else {
        let pause = Self.lockRetry / 2 + jitter(upTo: Self.lockRetry / 2)
        self.flight?.phase = .lockBusy(retryAt: now + pause)
      }
    case (.locking, .wrongKey):
      fail("\(TokenFailure.store("its record is encrypted with another key"))", retryAfter: nil, needsOperator: true, now)
    case (.marking, .written):
      stored.unsaved = nil
      stored.ownMark = true
      request(now)
    case (.saving(let grant, _), .written):
      stored.ownMark = false
      succeed(grant, now)
    case (.saving(let grant, let record), .failed(let text)):
      // The server has rotated the token already, so not using it would help nobody. The lock keeps others from the old token.
      stored.unsaved = Stored.Unsaved(id: flight.id, record: record, retryAt: now + Self.saveRetry)
      actions.append(.report(.notSaved(text)))
      succeed(grant, now)
    case (.locking, .failed(let text)), (.marking, .failed(let text)):
      fail("\(TokenFailure.store(text))", retryAfter: nil, now)
    default: break
    }
    return flush(now)
  }

  mutating func lock() {
    guard let id = flight?.id else { return }
    flight?.phase = .locking
    actions.append(.store(id: id, .lock))
  }

  mutating func unlock() {
    guard stored.holdsLock else { return }
    stored.holdsLock = false
    actions.append(.store(id: lastID, .release))
  }

  /// Takes the store's record if it belongs to this configuration and is newer than the known one. A logout, or another
  /// process's token, ends the flight.
  private mutating func take(_ record: TokenRecord?, _ now: Int64, _ wall: Int64) {
    if let record, record.binding == binding {
      flight?.interrupted = record.inFlight && !stored.ownMark
      if record.generation > stored.generation {
        if follow(record, now, wall) { return }
      } else if record.generation == stored.generation {
        takeKey(of: record)
        flight?.record = record
        if isRefused(record) { return needLogin(record.lastError?.text, refused: false) }
      }
    } else if let record {
      // A newer configuration of another process has taken the record over. To write would destroy its tokens.
      if stored.generation > 0, record.generation > stored.generation {
        return fail("\(TokenFailure.store(Self.replacedHint))", retryAfter: nil, needsOperator: true, now)
      }
      // This configuration is the newer one. It must look so to the other process, too.
      if !hasLogin { stored.generation = record.generation + 1 }
    }
    stored.isKnown = true
    mark(now)
  }

  private static let replacedHint =
    "its record belongs to another configuration now; reload or restart this proxy, or give it another token_store"

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
    guard left > margin(of: record.lifetime * 1000) || !canRefresh else { return .due }
    endFlight()
    return .enough
  }

  mutating func mark(_ now: Int64) {
    guard let id = flight?.id else { return }
    guard let refreshToken = stored.refreshToken else {
      if hasLogin { return expireLogin(now) }
      return fail("\(TokenFailure.noLogin)", retryAfter: nil, needsOperator: true, now)
    }
    guard !lacksKey else { return failWithoutKey(now) }
    var record =
      flight?.record
      ?? TokenRecord(
        binding: binding, generation: stored.generation, refreshToken: refreshToken, dpopKey: generatedKey)
    record.refreshToken = refreshToken
    record.login = stored.login
    flight?.record = record
    record.inFlight = true
    flight?.phase = .marking
    actions.append(.store(id: id, .write(record)))
  }

  /// Leaves the error in the record, for `tokens` and other processes.
  /// - Parameter clearsMark: the answer was definite, and contained no new refresh token.
  mutating func note(_ error: TokenRecord.RefreshError, clearsMark: Bool) {
    guard usesStore, stored.holdsLock, let flight, var record = flight.record else { return }
    record.inFlight = !clearsMark
    if clearsMark { stored.ownMark = false }
    record.lastError = error
    actions.append(.store(id: flight.id, .write(record)))
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
    guard let flight, let sent = stored.refreshToken else { return }
    var grant = answer
    // A server that does not rotate sends none.
    let next = grant.refreshToken ?? sent
    do throws(RefreshedLogin.Problem) {
      let refreshed = try RefreshedLogin(answer, policy: policy, subject: stored.login?.subject, wall: wall)
      grant.accessToken = refreshed.bearer
      grant.lifetime = refreshed.lifetime
    } catch {
      // The token that was sent may be spent: a server that sees it again could end the login, and a logout revokes the new one.
      keep(next)
      note(TokenRecord.RefreshError("\(error.failure)", at: wall, isFinal: error.isForeign), clearsMark: true)
      if error.isForeign { return needLogin("\(error.failure)", refused: true) }
      return fail("\(error.failure)", retryAfter: nil, now)
    }
    stored.refreshToken = next
    stored.generation += 1
    var record = TokenRecord(
      binding: binding, generation: stored.generation, refreshToken: next, dpopKey: generatedKey)
    if grant.accessToken != answer.accessToken { record.issuedAccessToken = answer.accessToken }
    record.bind(to: policy.boundThumbprint)
    if let scope = grant.scope { stored.login?.scope = scope }
    if let lifetime = grant.refreshLifetime { stored.login?.expiresAt = wall + lifetime }
    record.login = stored.login
    let lifetime = max(1, milliseconds(of: grant) / 1000)
    record.accessToken = grant.accessToken
    record.lifetime = min(lifetime, TokenResponse.maximumLifetime)
    record.expiresAt = wall + record.lifetime - (now - flight.requested + 999) / 1000
    self.flight?.phase = .saving(grant, record)
    actions.append(.store(id: flight.id, .write(record)))
  }

  mutating func retrySaving(_ now: Int64) {
    guard flight == nil, let pending = stored.unsaved, let retryAt = pending.retryAt, now >= retryAt else { return }
    stored.unsaved?.retryAt = nil
    actions.append(.store(id: pending.id, .write(pending.record)))
  }

  private mutating func saved(_ record: TokenRecord, _ answer: TokenStoreAnswer, _ now: Int64) {
    switch answer {
    case .written:
      stored.unsaved = nil
      stored.ownMark = false
      unlock()
    case .failed: stored.unsaved?.retryAt = now + Self.saveRetry
    default: break
    }
  }
}
