import EventIO

/// Places of the origin's limit: who wants one, and who has one to give away. Loops and the pools of one origin share them.
extension OriginPool {
  var wantsPlace: Bool {
    guard !line.isEmpty else { return false }
    var expected = connecting.count
    if let protocols, multiplexes(protocols) {
      guard !isPaused else { return false }
      expected = (connecting.count + carriers.count { $0.isAwaited }) * (isForLoners ? 1 : streamsEach)
    }
    let handshakes = isForLoners ? Self.handshakesForLoners : Self.handshakes
    return line.count > expected + returned.count && connecting.count < handshakes && !isResting && !isLimitedByLoop
  }

  /// Since when the first in line waits; nil: there is none.
  var waitsSince: Int64? { line.since }

  /// The origin asks for less.
  func backOff() { limit.backOff(at: loop.now) }

  /// Another loop or pool has passed on the place of a connection that ended, for requests in line here.
  func placePassedOn() {
    if wantsPlace { connect() } else { limit.giveBack() }
  }

  /// Another pool of the same origin that has a connection to give away.
  var siblingWithSurplus: OriginPool? {
    hasSibling ? upstreams.pools(sharing: limit).first { $0 !== self && $0.hasSurplus } : nil
  }

  /// Another pool of the same origin whose requests wait for a place, the longest of all.
  var siblingInWant: OriginPool? { hasSibling ? upstreams.pool(wantingPlaceOf: limit, otherThan: self) : nil }

  /// Requests elsewhere wait for a place: those of other loops, and of other pools of this origin.
  var othersWantPlace: Bool {
    guard limit.isWaitedFor else { return false }
    return limit.isWaitedFor(byOtherThan: loop.executor) || siblingInWant != nil
  }

  /// Closes the oldest idle connection: requests of another loop, or to another origin, need what it occupies.
  func surrenderIdle() {
    if let oldest = idle.first ?? oldestBound { return oldest.close() }
    if line.isEmpty { carriers.first { $0.isIdle }?.root.close() }
  }

  /// Whether `surrenderIdle` closes one. A connection without streams is none as long as requests are in line: they wait for it.
  var hasSurplus: Bool {
    !idle.isEmpty || oldestBound != nil || line.isEmpty && carriers.contains { $0.isIdle }
  }

  /// Of those that no authentication of the proxy's own goes on over.
  var oldestBound: UpstreamConnection? { bound.first { !$0.isReserved } }

  /// Leaves a place to requests in line here, unless their turn is over: then to another loop, or to those of the other form.
  func leavePlace() {
    if handsOver || (!line.isEmpty && isOwnTurnOver()) {
      if limit.passOn(from: loop.executor) { return }
      if let other = siblingInWant { return other.placePassedOn() }
    }
    limit.giveBack()
  }

  /// What keeps a connection that was begun by then, and is still not open: its origin, or what is on the way there; nil: there is none.
  /// - Parameter time: in nanoseconds of the loop's clock.
  public func hung(since time: Int64 = .max) -> UpstreamError? {
    connecting.first { $0.began <= time && $0.isOpening }?.overdue
  }
}
