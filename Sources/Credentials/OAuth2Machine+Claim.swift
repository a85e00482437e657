/// Before a token request whose outcome others must know: read the record, claim it, and only then send. A file's lock, or a shared
/// store's compare-and-set, sees to it that no other process uses the refresh token meanwhile.
extension OAuth2Machine {
  /// Milliseconds between attempts while another process refreshes; half of it is jitter. The lock of a file costs nothing to try.
  private static let lockRetry: Int64 = 100
  /// The same of a shared store, which tells of changes itself, for requests that wait, and without any.
  private static let claimRetry: Int64 = 400
  private static let idleClaimRetry: Int64 = 2_000

  mutating func readToClaim() {
    guard let id = flight?.id else { return }
    flight?.phase = .reading
    actions.append(.store(id: id, .read))
  }

  /// Gives up what was read or claimed, and not written since.
  mutating func unlock() {
    guard stored.holdsLock else { return }
    stored.holdsLock = false
    actions.append(.store(id: lastID, .release))
  }

  mutating func waitForOther(_ holder: String?, _ now: Int64) {
    guard let started = flight?.started else { return }
    if now - started > (isShared ? policy.claimPatience : policy.lockPatience) {
      let which = holder.map { "\($0) holds this credential's claim" } ?? "another process holds this credential's lock"
      let text = "\(TokenFailure.store(which))"
      return isShared ? failWithoutStore(text, isReached: true, now) : fail(text, retryAfter: nil, now)
    }
    let pause = !isShared ? Self.lockRetry : waiters.need || waiters.refused ? Self.claimRetry : Self.idleClaimRetry
    let retryAt = now + pause / 2 + jitter(upTo: pause / 2)
    flight?.phase = .busy(retryAt: retryAt)
  }

  /// Takes the store's record if it belongs to this configuration and is newer than the known one. A logout, another process's token,
  /// or what another process has learned about the server, ends the flight.
  mutating func take(_ record: TokenRecord?, _ now: Int64, _ wall: Int64) {
    if let record, record.binding == binding {
      let isInterrupted = hasRefreshToken && record.inFlight && !stored.ownMark
      flight?.interrupted = isInterrupted
      if isNews(record) {
        if follow(record, now, wall) { return }
      } else if record.generation == stored.generation {
        stored.record = record
        takeKey(of: record)
        flight?.record = record
        if believe(record, now) { return }
      }
      followFailures(record, now)
      if flight == nil { return }
    } else if let record {
      // A newer configuration of another process has taken the record over. To write would destroy its tokens.
      if stored.generation > 0, record.generation > stored.generation {
        return fail("\(TokenFailure.store(Self.replacedHint))", retryAfter: nil, needsOperator: true, now)
      }
      // This configuration is the newer one. It must look so to the other process, too.
      if !hasLogin { stored.generation = record.generation + 1 }
    }
    stored.isKnown = true
    claim(now)
  }

  private static let replacedHint =
    "its record belongs to another configuration now; reload or restart this proxy, or give it another token_store"

  private mutating func claim(_ now: Int64) {
    guard let id = flight?.id else { return }
    if hasRefreshToken, stored.refreshToken == nil {
      if hasLogin { return expireLogin(now) }
      return fail("\(TokenFailure.noLogin)", retryAfter: nil, needsOperator: true, now)
    }
    guard !hasRefreshToken || !lacksKey else { return failWithoutKey(now) }
    var record =
      flight?.record ?? stored.record
      ?? TokenRecord(
        binding: binding, generation: stored.generation, refreshToken: stored.refreshToken, dpopKey: generatedKey)
    record.refreshToken = stored.refreshToken
    if record.generation == 0, record.dpopKey == nil { record.bind(toKey: generatedKey) }
    record.login = stored.login
    guard admit(&record, now) else { return refuseForWindow(now) }
    flight?.record = record
    record.inFlight = true
    flight?.phase = .claiming
    actions.append(.store(id: id, .claim(record)))
  }

  /// `refresh_window` is that of all processes.
  private mutating func admit(_ record: inout TokenRecord, _ now: Int64) -> Bool {
    guard let refuser = flight?.refuser, let epoch = stored.shared.epoch else { return true }
    refusals.window.follow(record.refusals, epoch: epoch)
    guard refusals.window.admits(refuser, policy.refreshWindow, now: now) else { return false }
    record.refusals = refusals.window.recorded(epoch: epoch)
    return true
  }

  private mutating func refuseForWindow(_ now: Int64) {
    endFlight()
    if waiters.refused { actions.append(.releaseRefused(.windowUsedUp)) }
    waiters.releaseRefused()
    // The token has expired meanwhile: its age is no refusal.
    startForWaiters(now)
  }

  mutating func claimed(since: Int64?, _ now: Int64) {
    stored.unsaved = nil
    stored.ownMark = true
    if let since, now >= since + policy.sendingTime {
      return failWithoutStore("\(TokenFailure.store("the claim came too late to use it"))", isReached: true, now)
    }
    request(now, claimedAt: since)
  }

  // MARK: What other processes have learned

  /// Whether the record says that the server has refused its refresh token or password. No process asks again, a new one neither.
  func isRefused(_ record: TokenRecord) -> Bool {
    guard let error = record.lastError, error.isFinal, failures.operatorReason == nil else { return false }
    return error != stored.shared.pardoned?.error
  }

  /// Ends the flight if the server has refused what it would send.
  mutating func believe(_ record: TokenRecord, _ now: Int64) -> Bool {
    if isRefused(record) {
      stopForOperator(record.lastError?.text)
      return true
    }
    // The refusal that this machine got while it could not read the record.
    if let doubt = stored.shared.doubt, doubt.generation == record.generation, failures.operatorReason == nil, flight != nil {
      stored.shared.doubt = nil
      flight?.phase = .confirming(doubt.refusal)
      confirmed(doubt.refusal, now)
      return true
    }
    return false
  }

  mutating func stopForOperator(_ text: String?) {
    if hasLogin { return needLogin(text, refused: false) }
    let text = text ?? "the token server has refused this credential"
    actions.append(.report(.needsOperator(text)))
    giveUp(text, isLogin: false)
  }

  /// The back-off of a process is that of all.
  mutating func followFailures(_ record: TokenRecord, _ now: Int64) {
    guard let backOff = record.backOff, backOff != stored.shared.pardoned?.backOff, let epoch = stored.shared.epoch else {
      return
    }
    let longest = max(Self.longestBackOff, policy.source?.longestRetryAfter ?? 0)
    let until = min(backOff.until - epoch, now + longest)
    guard until > now, until > failures.backOffUntil ?? 0 || flight != nil else { return }
    // The attempt that is worthwhile when the token expires is everybody's.
    failures.count = max(failures.count, backOff.count)
    failures.backOffUntil = until
    // It is the token server's: the store's return does not end it.
    failures.ofStore = nil
    failures.last = backOff.text
    guard flight != nil else { return }
    endFlight()
    if waiters.refused { actions.append(.releaseRefused(.backingOff)) }
    if waiters.need { actions.append(.failWaiters(backingOff(until: until, now))) }
    waiters.release()
  }
}
