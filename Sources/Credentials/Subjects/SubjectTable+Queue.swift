/// Exchanges that cannot begin yet: their client, or all clients together, have as many in flight as they may.
extension SubjectTable {
  /// Exchanges in flight of all clients together. Those of more clients wait and are begun by turns.
  static let flights = 256
  /// Milliseconds between two looks through the whole queue for entries that nobody needs any more.
  private static let sweepInterval: Int64 = 1_000

  mutating func begin(_ place: Int, _ token: Secret, _ now: Int64) -> Start? {
    guard let budget = entries[place]?.budget else { return nil }
    if mayTakeOff(budget) { return takeOff(place, token, now) }
    entries[place]?.phase = .queued(token)
    entries.budgets[budget].queue.append(place)
    entries.unlist(place)
    lineUp(budget)
    return nil
  }

  func mayTakeOff(_ budget: Int) -> Bool {
    flying.count < Self.flights && entries.budgets[budget].inFlight < SubjectBudget.flights
  }

  mutating func takeOff(_ place: Int, _ token: Secret, _ now: Int64) -> Start? {
    guard let budget = entries[place]?.budget else { return nil }
    lastID += 1
    flying[lastID] = place
    entries.budgets[budget].inFlight += 1
    entries[place]?.phase = .flying(token)
    entries[place]?.requested = now
    entries.unlist(place)
    return Start(id: lastID, token: token)
  }

  /// The client takes its turn, once it may have another exchange. Each is in the line once at most.
  private mutating func lineUp(_ budget: Int) {
    let client = entries.budgets[budget]
    guard !client.isInLine, !client.queue.isEmpty, client.inFlight < SubjectBudget.flights else { return }
    entries.budgets[budget].isInLine = true
    line.append(budget)
  }

  /// An exchange of this client has ended: who is next?
  mutating func startNext(_ budget: Int, _ now: Int64, _ ended: inout Ended) {
    lineUp(budget)
    while flying.count < Self.flights, let next = line.popFirst() {
      entries.budgets[next].isInLine = false
      if entries.budgets[next].inFlight < SubjectBudget.flights, let start = startOne(next, now) {
        ended.starts.append(start)
      }
      lineUp(next)
    }
    for key in forgotten { ended.settled.append(Settled(key: key, result: .failure(.full))) }
    forgotten = []
  }

  private mutating func startOne(_ budget: Int, _ now: Int64) -> Start? {
    while let place = entries.budgets[budget].queue.popFirst() {
      guard let entry = entries[place], case .queued(let token) = entry.phase else { continue }
      if isLeft(entry, now) { forget(place) } else { return takeOff(place, token, now) }
    }
    return nil
  }

  /// No request can wait for it any more: the last one that needed it came longer ago than any waits.
  private func isLeft(_ entry: SubjectPlaces.Entry, _ now: Int64) -> Bool { now - entry.needed > patience }

  /// Leaves the queue. A user whom the server never accepted leaves the table, too.
  private mutating func forget(_ place: Int) {
    guard let entry = entries[place] else { return }
    // Loops still list the requests that have left.
    forgotten.insert(entry.key)
    entries[place]?.phase = .idle
    entries[place]?.isAwaited = false
    if entry.wasAccepted { entries.touch(place) } else { entries.remove(place) }
  }

  /// Makes room where requests have left the queue.
  /// - Returns: false if it looked less than a second ago, or found none.
  mutating func sweepQueues(_ now: Int64) -> Bool {
    guard now >= nextSweep else { return false }
    nextSweep = now + Self.sweepInterval
    var found = false
    for budget in entries.budgets.indices where !entries.budgets[budget].queue.isEmpty {
      var queue = entries.budgets[budget].queue
      let gone = queue.removeAll { place in entries[place].map { isLeft($0, now) } ?? true }
      guard !gone.isEmpty else { continue }
      entries.budgets[budget].queue = queue
      for place in gone { forget(place) }
      found = true
    }
    return found
  }

  /// Too many were refused: those that the server never knew are not tried.
  mutating func dropQueue(_ budget: Int, _ now: Int64, _ ended: inout Ended) {
    guard let wait = entries.budgets[budget].suspension(now) else { return }
    var queue = entries.budgets[budget].queue
    let dropped = queue.removeAll { entries[$0]?.wasAccepted == false }
    entries.budgets[budget].queue = queue
    for place in dropped {
      guard let key = entries[place]?.key else { continue }
      ended.settled.append(Settled(key: key, result: .failure(.tooManyRefused(retryAfter: wait))))
      entries.remove(place)
    }
  }
}
