/// One process's part in a record that many processes share: reads it, claims it, saves into it, by compare-and-set alone. A value with
/// inputs and actions between an `OAuth2Machine`, whose store requests it performs, and the engine of a store. docs/credential-lifecycle.md
/// lists what it does.
///
/// Times (`now`) are milliseconds of a clock that goes on while the machine sleeps (CLOCK_BOOTTIME): a process that was frozen must know.
/// No clock is compared with another process's: a claim is old when this value has seen it unchanged for its whole duration.
public struct SharedRecord: Sendable {
  public enum Action: Sendable, Hashable {
    /// Pass this to the engine, and its answer to `answered` with the same id.
    case perform(id: UInt64, SharedOperation)
    /// Pass this to the machine's `storeAnswered`. `clock`: Unix seconds by the store's clock; nil: the store did not say.
    case answer(id: UInt64, TokenStoreAnswer, clock: Int64?)
    /// Pass this to the machine's `seen`.
    case seen(TokenStoreAnswer, clock: Int64)
    /// Call `timer` at this time.
    case wakeAt(Int64)
    case report(Report)
  }

  /// For logs and metrics.
  public enum Report: Sendable, Hashable {
    public enum Claim: String, Sendable, Hashable {
      case won
      case lost
      case takenOver = "taken_over"
    }
    case claim(Claim)
    /// The process that held it had the whole time of its claim and neither saved nor gave up.
    case takenOver(holder: String, generation: UInt64)
    case putBack(generation: UInt64)
  }

  /// Milliseconds that some claims stand before they are read again: processes that know a newer record put it back meanwhile.
  static let settling = ClaimTerms.settling
  /// Milliseconds after a connection in which claims settle.
  static let freshConnection: Int64 = 5_000
  /// Writes of one request that may meet a conflict. More is a store that does not keep what it was given.
  static let mostConflicts = 16

  private struct Job: Sendable {
    enum Work: Sendable {
      case request(id: UInt64, TokenStoreRequest)
      /// Read what has changed. No request waits for it.
      case look
    }
    var work: Work
    var conflicts = 0
  }

  /// The claim of this process that stands, as far as it knows.
  private struct Held: Sendable {
    let claim: TokenClaim
    /// When its write was sent: before any other process can have seen it.
    let since: Int64
    /// As the claim found it.
    let before: TokenRecord?
  }

  private enum Step: Sendable {
    case reading
    case claiming(since: Int64, TokenRecord)
    case settling(until: Int64)
    /// Reads again what has settled.
    case checking
    case writing(TokenRecord, SharedOperation.Purpose)
    /// Takes back a claim that too few replicas have.
    case withdrawing(TokenRecord, why: String)
  }

  private let holder: String
  private let process: UInt64
  private let terms: ClaimTerms

  private var latest: SharedReading?
  /// Unix milliseconds of the store's clock at this value's time 0. What is answered without asking is as old as `latest`.
  private var epoch: Int64?
  private var now: Int64 = 0
  /// What the machine was told that it may claim. A later reading may show another process's claim.
  private var offered: SharedReading?
  private var held: Held?
  private var observed: (claim: TokenClaim, since: Int64)?
  private var connectedAt: Int64?
  private var claims: UInt64 = 0
  /// A saved token that too few replicas have. It is written again.
  private var unacknowledged: RecordVersion?

  private var queue: [Job] = []
  private var job: Job?
  private var step: Step?
  private var operation: UInt64 = 0
  /// When the operation was asked for.
  private var askedAt: Int64 = 0
  private var actions: [Action] = []

  /// - Parameters:
  ///   - holder: `name@host`, for people.
  ///   - process: random.
  public init(holder: String, process: UInt64, terms: ClaimTerms) {
    self.holder = holder
    self.process = process
    self.terms = terms
  }

  // MARK: Inputs

  /// A request of the machine. Requests are performed in order.
  public mutating func perform(_ request: TokenStoreRequest, id: UInt64, now: Int64) -> [Action] {
    queue.append(Job(work: .request(id: id, request)))
    return proceed(now)
  }

  /// The store says that the record may have changed.
  public mutating func notified(now: Int64) -> [Action] {
    lookSoon()
    return proceed(now)
  }

  /// Notifications may be lost while there is no connection, so the record is read.
  public mutating func connected(now: Int64) -> [Action] {
    connectedAt = now
    observed = nil
    lookSoon()
    return proceed(now)
  }

  /// Claims are observed anew after it: their holders may be cut off as well, and save first when the store is back.
  public mutating func lost() {
    connectedAt = nil
    observed = nil
  }

  public mutating func timer(now: Int64) -> [Action] {
    if case .settling(let until) = step, now >= until { run(.read, .checking, now) }
    return proceed(now)
  }

  public mutating func answered(id: UInt64, _ answer: SharedAnswer, now: Int64) -> [Action] {
    self.now = now
    guard id == operation, let step else { return proceed(now) }
    let answer = answer.aged(by: now - askedAt)
    if let clock = answer.clock { epoch = clock - now }
    switch answer {
    case .read(let reading), .conflict(let reading):
      latest = reading
      observe(reading, now)
    case .stored, .failed: break
    }
    switch (step, answer) {
    case (.reading, .read(let reading)): hasRead(reading, now)
    case (.claiming(let since, let record), .stored(let version, let isAcknowledged, let clock)):
      hasClaimed(record, version, isAcknowledged, since: since, clock, now)
    case (.claiming, .conflict(let reading)): claimLost(reading, now)
    case (.checking, .read(let reading)): hasSettled(reading, now)
    case (.writing(let record, let purpose), .stored(let version, let isAcknowledged, let clock)):
      latest = SharedReading(.record(record), version: version, clock: clock)
      held = nil
      unacknowledged = isAcknowledged || purpose != .save ? nil : version
      if purpose == .putBack { actions.append(.report(.putBack(generation: record.generation))) }
      finish(unacknowledged == nil ? .saved : .failed("too few replicas have acknowledged the new token"))
    case (.writing(let record, let purpose), .conflict): writeLost(record, purpose, now)
    case (.withdrawing(let record, let why), _):
      if case .stored(let version, _, let clock) = answer {
        latest = SharedReading(.record(record), version: version, clock: clock)
      }
      held = nil
      finish(.failed(why))
    case (_, .failed(let why)): failed(why)
    default: failed("the token store gave an answer to another question")
    }
    return proceed(now)
  }

  // MARK: Jobs

  private mutating func lookSoon() {
    let isQueued = queue.contains { if case .look = $0.work { true } else { false } }
    if !isQueued { queue.append(Job(work: .look)) }
  }

  /// The collected actions.
  private mutating func proceed(_ now: Int64) -> [Action] {
    self.now = now
    while job == nil, !queue.isEmpty {
      job = queue.removeFirst()
      begin(now)
    }
    defer { actions = [] }
    return actions
  }

  private mutating func run(_ operation: SharedOperation, _ step: Step, _ now: Int64) {
    self.operation += 1
    self.step = step
    askedAt = now
    actions.append(.perform(id: self.operation, operation))
  }

  private mutating func begin(_ now: Int64) {
    guard let job else { return }
    guard case .request(_, let request) = job.work else { return run(.read, .reading, now) }
    switch request {
    case .read, .confirm, .look: run(.read, .reading, now)
    case .claim(let record): claim(record, now)
    case .save(let record): put(record, .save, now)
    case .note(let record): note(record, now)
    case .putBack(let record): put(record, .putBack, now)
    case .release: release(now)
    }
  }

  private mutating func finish(_ answer: TokenStoreAnswer) {
    defer { (job, step) = (nil, nil) }
    let clock = epoch.map { ($0 + now) / 1_000 }
    if case .request(let id, _)? = job?.work { actions.append(.answer(id: id, answer, clock: clock)) }
  }

  private mutating func failed(_ why: String) {
    defer { (job, step) = (nil, nil) }
    if case .request(let id, _)? = job?.work { actions.append(.answer(id: id, .unreachable(why), clock: nil)) }
  }

  // MARK: Reading

  private mutating func hasRead(_ reading: SharedReading, _ now: Int64) {
    guard let job else { return }
    switch job.work {
    case .look:
      actions.append(.seen(Self.seen(reading), clock: reading.clock / 1_000))
      (self.job, step) = (nil, nil)
    case .request(_, .confirm):
      offered = reading.record?.claim.map { $0.process == process } ?? true ? reading : nil
      finish(Self.plain(reading))
    case .request(_, .save(let record)): put(record, .save, now)
    case .request(_, .putBack(let record)): put(record, .putBack, now)
    case .request: tell(standing(reading, now), of: reading)
    }
  }

  /// Ends a request that wants to claim the record. If another process has claimed it, the machine sees that record, too: it may be newer
  /// than what the machine knows, or so old that its holder is about to use a spent token.
  private mutating func tell(_ standing: TokenStoreAnswer, of reading: SharedReading) {
    finish(standing)
    guard case .busy = standing else { return }
    actions.append(.seen(Self.seen(reading), clock: epoch.map { ($0 + now) / 1_000 } ?? reading.clock / 1_000))
  }

  private static func seen(_ reading: SharedReading) -> TokenStoreAnswer {
    switch reading.content {
    case .absent: .seen(nil, TokenStoreMark(values: []))
    case .record(let record): .seen(record, TokenStoreMark(values: []))
    case .unknownKey, .damaged: plain(reading)
    }
  }

  private static func plain(_ reading: SharedReading) -> TokenStoreAnswer {
    switch reading.content {
    case .absent: .record(nil)
    case .record(let record): .record(record)
    case .unknownKey: .wrongKey
    case .damaged: .damaged
    }
  }

  /// What a process that wants to claim the record is told: whether it may.
  private mutating func standing(_ reading: SharedReading, _ now: Int64) -> TokenStoreAnswer {
    if let claim = reading.record?.claim, claim.process != process {
      guard let observed, observed.claim.isSame(as: claim), now - observed.since >= claim.duration else {
        offered = nil
        return .busy(claim.holder)
      }
    }
    offered = reading
    return Self.plain(reading)
  }

  private mutating func observe(_ reading: SharedReading, _ now: Int64) {
    guard let claim = reading.record?.claim, claim.process != process else {
      observed = nil
      return
    }
    if observed?.claim.isSame(as: claim) != true { observed = (claim, now) }
  }

  // MARK: Claiming

  private mutating func claim(_ record: TokenRecord, _ now: Int64) {
    guard let latest, let offered else { return run(.read, .reading, now) }
    guard offered.version == latest.version else { return claimLost(latest, now) }
    claims += 1
    var claimed = record
    claimed.claim = TokenClaim(
      holder: holder, process: process, number: claims, duration: terms.duration, since: ((epoch ?? 0) + now) / 1_000)
    run(.write(claimed, replacing: latest.version, .claim), .claiming(since: now, claimed), now)
  }

  private mutating func hasClaimed(
    _ record: TokenRecord, _ version: RecordVersion, _ isAcknowledged: Bool, since: Int64, _ clock: Int64, _ now: Int64
  ) {
    guard let claim = record.claim else { return }
    let before = latest?.record
    // The store has lost what this process knows. Others may know still more.
    let isPutBack = record.generation > before?.generation ?? 0
    held = Held(claim: claim, since: since, before: before)
    latest = SharedReading(.record(record), version: version, clock: clock)
    guard isAcknowledged else {
      let why = "too few replicas have acknowledged the claim"
      let left = withdrawn(record)
      return run(.write(left, replacing: version, .withdraw), .withdrawing(left, why: why), now)
    }
    if isPutBack { actions.append(.report(.putBack(generation: record.generation))) }
    if let other = before?.claim, other.process != process {
      actions.append(.report(.claim(.takenOver)))
      actions.append(.report(.takenOver(holder: other.holder, generation: record.generation)))
    }
    observed = nil
    let isFresh = connectedAt.map { since - $0 < Self.freshConnection } ?? true
    guard terms.guardsRefreshToken, isFresh || isPutBack || record.generation == 0 else { return win(since) }
    step = .settling(until: now + Self.settling)
    actions.append(.wakeAt(now + Self.settling))
  }

  private mutating func win(_ since: Int64) {
    actions.append(.report(.claim(.won)))
    finish(.claimed(since: since))
  }

  private mutating func hasSettled(_ reading: SharedReading, _ now: Int64) {
    if let held, reading.record?.claim?.isSame(as: held.claim) == true { return win(held.since) }
    held = nil
    actions.append(.report(.claim(.lost)))
    tell(standing(reading, now), of: reading)
  }

  private mutating func claimLost(_ reading: SharedReading, _ now: Int64) {
    actions.append(.report(.claim(.lost)))
    tell(standing(reading, now), of: reading)
  }

  /// What a claim found, or the newer record that it put in its place.
  private func withdrawn(_ record: TokenRecord) -> TokenRecord {
    guard let before = held?.before, before.generation >= record.generation else { return Self.unmarked(record) }
    return Self.unclaimed(before)
  }

  /// The record that a claim found, without an earlier claim that had grown old.
  private static func unclaimed(_ before: TokenRecord) -> TokenRecord {
    var record = before
    record.inFlight = before.inFlight || before.claim != nil
    record.claim = nil
    return record
  }

  /// Nothing as new was there before the claim.
  private static func unmarked(_ record: TokenRecord) -> TokenRecord {
    var record = record
    record.inFlight = false
    record.claim = nil
    return record
  }

  // MARK: Writing

  private mutating func write(_ record: TokenRecord, _ purpose: SharedOperation.Purpose, _ now: Int64) {
    var record = record
    record.claim = nil
    run(.write(record, replacing: latest?.version, purpose), .writing(record, purpose), now)
  }

  /// A new generation is saved whoever holds the claim by then: its token is the only good one. A generation that stands is never
  /// replaced by the same or an older one.
  private mutating func put(_ record: TokenRecord, _ purpose: SharedOperation.Purpose, _ now: Int64) {
    guard let latest else { return run(.read, .reading, now) }
    switch latest.content {
    case .absent: write(record, purpose, now)
    case .record(let found) where found.generation < record.generation: write(record, purpose, now)
    case .record(let found) where found.hasTokens(of: record):
      if latest.version == unacknowledged { write(record, purpose, now) } else { finish(.saved) }
    case .record(let found): finish(.superseded(found))
    // Left as it is: whoever has the key may have newer tokens.
    case .unknownKey, .damaged: finish(Self.plain(latest))
    }
  }

  /// What a failed refresh leaves is only of interest while the claim stands.
  private mutating func note(_ record: TokenRecord, _ now: Int64) {
    guard let latest, holds(latest) else {
      held = nil
      return finish(latest?.record.map { .superseded($0) } ?? .released)
    }
    write(record, .note, now)
  }

  private mutating func release(_ now: Int64) {
    guard let latest, holds(latest), let record = latest.record else {
      held = nil
      return finish(.released)
    }
    write(withdrawn(record), .withdraw, now)
  }

  private func holds(_ reading: SharedReading) -> Bool {
    held.map { reading.record?.claim?.isSame(as: $0.claim) == true } ?? false
  }

  private mutating func writeLost(
    _ record: TokenRecord, _ purpose: SharedOperation.Purpose, _ now: Int64
  ) {
    job?.conflicts += 1
    guard (job?.conflicts ?? 0) < Self.mostConflicts else { return failed("the record changes whenever it is written") }
    switch purpose {
    case .save, .putBack: put(record, purpose, now)
    // On Kubernetes, another credential's record may have changed instead.
    case .note, .withdraw, .claim: note(record, now)
    }
  }
}

extension TokenRecord {
  fileprivate func hasTokens(of other: TokenRecord) -> Bool {
    generation == other.generation && refreshToken == other.refreshToken && accessToken == other.accessToken
      && tombstone == other.tombstone
  }
}
