/// What is different if the record is in a store that a fleet shares: it can be away, and it can lose what it had.
extension OAuth2Machine {
  /// The shared store can be reached again: what could not be saved is saved before anything else, and what waited for the store goes on.
  public mutating func storeReturned(now: Int64) -> [Action] {
    saveNow(now)
    stored.shared.aloneAt = nil
    if failures.ofStore != nil {
      // Not nil: a fetch ahead is due when the back-off ends.
      failures.backOffUntil = failures.backOffUntil.map { min($0, now) }
      failures.ofStore = nil
    }
    return flush(now)
  }

  /// No configuration has the store of this retired machine any more: what is not saved there never will be.
  public mutating func storeRemoved(now: Int64) -> [Action] {
    guard retired, stored.unsaved != nil else { return flush(now) }
    stored.unsaved = nil
    actions.append(.report(.lost))
    return flush(now)
  }

  /// Only this process has the newest token.
  private mutating func saveNow(_ now: Int64) {
    guard stored.unsaved?.retryAt != nil else { return }
    stored.unsaved?.retryAt = now
    retrySaving(now)
  }

  /// Milliseconds between attempts that no request waits for, while the shared store fails. They double up to this one.
  static let longestStorePause: Int64 = 30_000
  /// The same where requests wait, and the store is in reach: each attempt writes, and all processes read what was written.
  static let longestClaimPause: Int64 = 8_000

  /// Ends the flight: without the store, nobody can know whether another process uses the refresh token. Whoever needs a token has the
  /// store asked once a second, as the client of the store allows. A fleet of idle processes leaves it in peace.
  /// - Parameter isReached: it is in reach, but this process gets no claim.
  mutating func failWithoutStore(_ text: String, isReached: Bool = false, _ now: Int64) {
    let isOutdated = flight?.outdated ?? true
    let count = failures.ofStore?.count ?? 0
    let longest = min(Self.longestStorePause, Self.firstBackOff << Int64(min(count, 16)))
    let pause = longest - jitter(upTo: longest / 2)
    // It is reported anew whenever the store has been of use meanwhile.
    if failures.ofStore == nil { failures.backOffUntil = nil }
    let urgent = isReached ? min(max(pause, Self.firstBackOff), Self.longestClaimPause) : Self.firstBackOff
    giveWay(text, operatorMustAct: false, for: urgent, now)
    guard !isOutdated else { return }
    failures.ofStore = Failures.OfStore(count: count + 1, quietUntil: now + pause)
  }

  /// The store cannot be reached. A refresh token is not spent; a password could be locked by many processes that try an old one. For
  /// all else each process asks for itself, not all at once while they have a token.
  mutating func goOnAlone(_ text: String, _ now: Int64) {
    if case .password = policy.grant { return failWithoutStore(text, now) }
    guard !hasRefreshToken, let started = flight?.started else { return failWithoutStore(text, now) }
    if let current, current.isUsable(at: now), flight?.byRefusal == false {
      let at = stored.shared.aloneAt ?? started + jitter(upTo: max(0, current.expiry - started - Self.firstBackOff))
      stored.shared.aloneAt = at
      if now < at {
        endFlight()
        if waiters.refused { actions.append(.releaseRefused(.backingOff)) }
        waiters.releaseRefused()
        failures.backOffUntil = at
        failures.ofStore = Failures.OfStore()
        return
      }
    }
    flight?.isAlone = true
    request(now, claimedAt: nil)
  }

  /// The store has no record, or an older one than this process knows: a fail-over, an eviction or a restored backup has lost it.
  /// Also while this one waits for the holder of a claim: if the claim is on the older record, its holder is about to use a spent token.
  mutating func putBackIfLost(_ generation: UInt64?, _ now: Int64) {
    guard isShared, flight == nil || awaitsOther else { return }
    guard stored.unsaved == nil else { return saveNow(now) }
    guard let known = stored.record, known.generation > 0, generation ?? 0 < known.generation else { return }
    actions.append(.store(id: nextID(), .putBack(known)))
  }

  var requestDigest: [UInt8] { TokenBinding.request(of: policy) }
}
