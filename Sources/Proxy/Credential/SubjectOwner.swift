import Credentials
import EventIO

/// Owns a credential that has a token for each user of an app: makes the exchanges that its table asks for. Many run at a time,
/// one for each subject; what one brings never touches another.
final class SubjectOwner: CredentialOwner {
  let tokens: SubjectTokens
  private var exchange: TokenExchange
  private var evidence = ActorEvidence()
  /// Increases with each change of the policy, as a `TokenOwner`'s.
  private var epoch = 0
  private var flights: [UInt64: TokenFlight] = [:]
  /// An exchange can end at once, and bring others to start.
  private var starts: [SubjectTable.Start] = []
  private var isStarting = false
  /// nil: the last exchange that ended did not fail.
  private var failure: String?
  private var lastWarning: (text: String, at: Int64)?

  /// Milliseconds between two warnings of the same text, as each user's exchange may fail.
  private static let warningInterval: Int64 = 10_000

  init(
    _ setup: CredentialSetup, _ policy: OAuth2Policy, _ tokens: SubjectTokens, _ desk: CredentialDesk, serial: UInt64
  ) {
    self.tokens = tokens
    exchange = TokenExchange(policy: policy)
    super.init(setup, desk, serial: serial)
    tokens.reconfigure(policy, limit: setup.subjectLimit, patience: setup.patience)
    note()
  }

  override var latestVersion: UInt64 { tokens.lastVersion }
  override var isBusy: Bool { !flights.isEmpty }

  private var policy: OAuth2Policy? { setup.policy.tokens }

  override func reconfigure() {
    guard let policy else { return }
    let old = tokens.reconfigure(policy, limit: setup.subjectLimit, patience: setup.patience)
    if old != policy {
      exchange = TokenExchange(policy: policy)
      epoch += 1
    }
    note()
  }

  override func retire() {
    super.retire()
    tokens.retire()
  }

  override func actorServed(_ version: UInt64) { evidence.succeeded(version, now: now) }

  override func blamesActor(_ version: UInt64, began: Int64) -> Bool { evidence.blames(version, began: began, now: now) }

  override func stop() {
    for flight in flights.values { flight.cancel() }
    flights = [:]
  }

  override func flight(_ id: UInt64) -> TokenFlight? { flights[id] }

  override func sourceWithdrawn() {
    tokens.withdraw()
    evidence = ActorEvidence()
    let ending = flights
    flights = [:]
    for (id, flight) in ending {
      flight.cancel()
      ended(id, .failed(.source(policy?.sourceNames.first ?? "", .temporarily("its login has changed", retryAfter: 1_000))))
    }
  }

  func start(_ start: SubjectTable.Start) {
    starts.append(start)
    guard !isStarting else { return }
    isStarting = true
    while !starts.isEmpty { begin(starts.removeFirst()) }
    isStarting = false
  }

  private func begin(_ start: SubjectTable.Start) {
    guard let policy else { return }
    let (id, epoch, before) = (start.id, epoch, exchange)
    let flight = TokenFlight(id, of: self, policy, exchange, subject: start.token, dpopKey: tokens.dpopKey) {
      [unowned self] answer, exchange in
      flights[id] = nil
      if epoch == self.epoch { self.exchange.learn(from: exchange, since: before) }
      ended(id, answer)
    }
    flights[id] = flight
    loop.arm(flight, afterMilliseconds: Int(policy.longestFetch))
    flight.begin()
  }

  private func ended(_ id: UInt64, _ answer: TokenAnswer) {
    let ended = tokens.answered(id, answer, now: now)
    // Before the requests go on: who reads their answers finds them counted.
    if let report = ended.report { tell(report) }
    note()
    for settled in ended.settled {
      let (key, result) = (settled.key, settled.result)
      tellAll { $0.subjects?.settled(key, result) }
    }
    for next in ended.starts { start(next) }
  }

  private func tell(_ report: SubjectTable.Report) {
    desk.registry.note(.subject(report), of: name)
    switch report {
    case .exchanged:
      desk.registry.count(SubjectResult.success, of: name)
      failure = nil
    case .refused:
      // It says nothing about the failure before.
      desk.registry.count(SubjectResult.refused, of: name)
    case .failed(let text, _):
      desk.registry.count(SubjectResult.failure, of: name)
      failure = text
      if let last = lastWarning, last.text == text, now - last.at < Self.warningInterval { return }
      lastWarning = (text, now)
    }
    desk.observer.credential(name, .subject(report))
  }

  private func note() {
    if isRetired { return }
    let count = tokens.count
    var report = CredentialReport(
      name: name, phase: failure != nil ? .failed : count == 0 ? .empty : .ready, version: latestVersion, reason: failure)
    report.subjects = CredentialReport.Subjects(count: count)
    report.certificateExpiry = setup.certificate?.chain.first?.notAfter
    desk.registry.note(report)
  }
}
