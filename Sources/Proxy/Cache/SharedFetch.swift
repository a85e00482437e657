import Cache
import EventIO
import HTTPWire
import Upstreams

/// A fetch whose answer is stored, or read by several requests. It belongs to no client: the request that began it asks the origin until
/// the final head is there, with its credential, retries and refusals, and goes on without its app if others wait. From then on this
/// reads the body into blocks, and each reader sends it to its app at its own pace.
///
/// `FetchMachine` decides for several readers. As long as the first one is alone, there is no machine: most fetches have no other.
final class SharedFetch: EventHandler {
  private let loop: EventLoop
  private let store: CacheStore
  private let desk: CacheDesk
  private let cache: EntryCache
  private let key: CacheKey
  /// nil: no request finds it.
  private let flight: Flight?
  /// Asks the origin, until the head is there.
  private var asker: FetchLeader?
  /// The request that began it, as long as its app is there.
  private var leader: FetchLeader?
  private let leaderID: ReaderID
  /// As it was last told to the machine.
  private var leaderPosition = -1
  private var machine: FetchMachine?
  /// On any loop, without the leader.
  private var readers: [ReaderID: Reader] = [:]
  /// By the number of the loop: those whose requests read.
  private var subscriptions: [Int: FetchSubscription] = [:]
  /// From the head on.
  private var fill: Fill?
  private var draft: AnswerDraft?
  /// It is stored when it is whole; otherwise only shared.
  private var isStorable = true
  private var isPaused = false
  private var isFinished = false
  /// For those who wait, when the machine says that they get it.
  private var renewed: StoredAnswer?
  private var failure = FetchFailure.error(.internalError)
  /// When to call the machine's `timer`, and when the origin has been silent for too long.
  private var machineDeadline: Int64 = .max
  private var stallDeadline: Int64 = .max
  private let stall: Int64

  private struct Reader {
    let asked: AskedFields
    let executor: LoopExecutor
  }

  /// - Parameters:
  ///   - asker: the request that asks the origin.
  ///   - hasLeader: its app reads the answer; false: it is a validation in the background.
  ///   - stall: nanoseconds in which the origin must send a byte.
  init(
    _ asker: FetchLeader, on loop: EventLoop, _ desk: CacheDesk, _ cache: EntryCache, _ key: CacheKey, _ flight: Flight?,
    stall: Int64, hasLeader: Bool = true
  ) {
    self.loop = loop
    self.desk = desk
    store = desk.store
    self.asker = asker
    if hasLeader { leader = asker }
    leaderID = desk.newReader()
    self.cache = cache
    self.key = key
    self.flight = flight
    self.stall = stall
    super.init()
    flight?.owner = self
  }

  /// Others than the leader.
  var hasOthers: Bool { !readers.isEmpty }

  // MARK: The head

  /// The head is there: from now on this reads the body. The leader reads the blocks, as others do.
  func begin(_ draft: AnswerDraft, _ fill: consuming Fill, isStorable: Bool) {
    self.draft = draft
    self.isStorable = isStorable
    self.fill = fill
    asker = nil
    if let flight, isStorable {
      store.publish(Flight.Head(vary: draft.vary, variant: draft.variant, times: draft.times), of: flight)
    }
    if machine != nil {
      head(isStorable ? .store(length: draft.length) : .share(length: draft.length)) { $0.variant(draft.vary) == draft.variant }
    }
    move()
    wakeOthers()
  }

  /// The answer is for the asker alone.
  func release() {
    guard !isFinished else { return }
    asker = nil
    if machine != nil { head(.release) { _ in false } }
    store.stopCollapsing(key.target, key.partition, until: loop.now + FetchMachine.uncollapsed)
    finish()
  }

  /// The stored answer was validated.
  func renew(_ outlook: Renewal) {
    guard !isFinished else { return }
    asker = nil
    if case .answer(let answer) = outlook { renewed = answer }
    if machine != nil {
      switch outlook {
      case .answer(let answer): head(.renewed) { $0.variant(answer.vary) == answer.variant }
      case .forOne: head(.renewedForOne) { _ in false }
      case .outdated: head(.renewed) { _ in false }
      }
    }
    finish()
  }

  /// The whole answer is there: who comes now finds it in the store. Who waits for its variant gets it even if it is stale at once: asked
  /// again one after the other, they would queue. All others look into the store again.
  /// - Returns: why it is not stored.
  func keep(_ answer: StoredAnswer, _ began: CacheStore.Beginning) -> StoreRefusal? {
    asker = nil
    leader = nil
    let refusal = store.link(answer, began: began, leaving: flight)
    if hasOthers {
      tell(
        readers.map { id, reader in
          (id, refusal == nil && reader.asked.variant(answer.vary) == answer.variant ? .answer(answer) : .lookAgain)
        })
    }
    finish(leaves: false)
    return refusal
  }

  /// There is no answer.
  func fail(_ failure: FetchFailure) {
    guard !isFinished else { return }
    asker = nil
    self.failure = failure
    if machine != nil { withMachine { $0.failed(now: loop.now) } }
    finish()
  }

  /// The request ends without an answer, for a reason of its own: others ask for themselves.
  private func abandon() {
    asker = nil
    tell(readers.keys.map { ($0, .lookAgain) })
    finish()
  }

  private func head(_ verdict: FetchVerdict, matches: (AskedFields) -> Bool) {
    let readers = readers
    withMachine { $0.head(verdict, now: loop.now) { readers[$0].map { matches($0.asked) } ?? false } }
  }

  // MARK: The body

  /// The origin's connection can move bytes.
  func pump() {
    move()
    wakeReaders()
  }

  /// Reads what has arrived.
  private func move() {
    while !isFinished, !isPaused, fill != nil {
      let before = fill?.writer.written ?? 0
      let outcome = fill?.pump() ?? .blocked
      let written = fill?.writer.written ?? 0
      if written != before { noteWritten(written) }
      if isFinished { return }
      switch outcome {
      case .blocked: return armStall()
      case .noRoom:
        stallDeadline = .max
        // What is not stored has room as soon as a reader moves on.
        guard !isWindowed else { return arm() }
        withMachine { $0.noRoom(now: loop.now) }
      case .whole: return completed()
      case .broken: return failed()
      }
    }
  }

  private var isWindowed: Bool { machine?.isWindowed ?? false }

  private func noteWritten(_ written: Int) {
    checkInvalidation()
    if machine == nil, written <= cache.rules.maxObject { return }
    withMachine { $0.wrote(written, now: loop.now) }
  }

  /// What is stored was changed while this was under way: nobody joins it any more, and it is not stored.
  private func checkInvalidation() {
    guard isStorable, let draft, store.isOutdated(draft.began, draft.key.target, draft.key.partition) else { return }
    isStorable = false
    withMachine { $0.invalidate(now: loop.now) }
  }

  private func completed() {
    let hasTrailers = fill?.hasTrailers ?? false
    if hasTrailers, let fill { fill.writer.noteLastChunk(fill.lastChunk()) }
    fill?.finish()
    if machine != nil {
      withMachine { $0.completed(hasTrailers: hasTrailers, now: loop.now) }
    } else {
      finishBody(stores: isStorable && !hasTrailers)
    }
    if let replaced = draft?.replaced { store.remove(replaced, .replaced) }
    finish()
  }

  /// The body breaks off: every reader sees it, when it has read what came before.
  private func failed() {
    fill?.writer.breakOff()
    if machine != nil { withMachine { $0.failed(now: loop.now) } }
    finish()
  }

  private func finishBody(stores: Bool) {
    guard let body = fill?.writer.finish(), stores, isStorable, let draft else { return }
    // It went on while the account changed.
    guard draft.key.isOfPresentEpoch else { return }
    guard let answer = draft.answer(body, in: store) else { return }
    if store.link(answer, began: draft.began) == nil { desk.noteStored() }
  }

  /// Nothing more is read, and nobody joins.
  /// - Parameter leaves: false: the index does not have it any more.
  private func finish(leaves: Bool = true) {
    guard !isFinished else { return }
    isFinished = true
    loop.forget(self)
    if let flight {
      if leaves { store.leave(flight) }
      flight.owner = nil
    }
    // A connection that is out of step is closed.
    fill?.end()
    wakeOthers()
    fill = nil
  }

  // MARK: Readers

  func join(_ id: ReaderID, _ asked: AskedFields, from executor: LoopExecutor, isSecondTry: Bool) {
    readers[id] = Reader(asked: asked, executor: executor)
    // The leader may have asked for another variant than the answer is.
    if let draft, asked.variant(draft.vary) != draft.variant { return tell([(id, .lookAgain)]) }
    withMachine { $0.join(id, isSecondTry: isSecondTry, now: loop.now) }
  }

  func left(_ id: ReaderID) {
    guard readers.removeValue(forKey: id) != nil, !isFinished else { return }
    withMachine { $0.leave(id, now: loop.now) }
    // It may have been the one that all others waited for.
    pump()
  }

  func moved(_ id: ReaderID, to position: Int) {
    guard readers[id] != nil, !isFinished else { return }
    withMachine { $0.progress(id, position: position, now: loop.now) }
    pump()
  }

  /// The leader has read all that it wants, or its app has left.
  func leaderLeft() {
    guard !isFinished, leader != nil else { return }
    if fill == nil, !hasOthers { return abandon() }
    withMachine { $0.leave(leaderID, now: loop.now) }
    leader = nil
    guard fill != nil, !isFinished else { return }
    move()
    wakeOthers()
  }

  /// The request that asks the origin ends.
  func askerEnded() {
    guard !isFinished, fill == nil, asker != nil else { return }
    abandon()
  }

  /// The leader has sent bytes of the body to its app.
  func leaderMoved(to position: Int) {
    guard isWindowed, !isFinished, position != leaderPosition else { return }
    leaderPosition = position
    withMachine { $0.progress(leaderID, position: position, now: loop.now) }
    move()
    wakeOthers()
    // It is in a step of its own now.
    leader?.readLater()
  }

  private func wakeReaders() {
    wakeOthers()
    leader?.readAgain()
  }

  private func wakeOthers() { for subscription in subscriptions.values { subscription.wake() } }

  // MARK: The machine

  private func withMachine(_ input: (inout FetchMachine) -> FetchStep) {
    var machine = self.machine ?? makeMachine()
    let step = input(&machine)
    self.machine = machine
    perform(step)
  }

  /// As it would be if it had been there from the beginning.
  private func makeMachine() -> FetchMachine {
    var machine = FetchMachine(
      leader: leader == nil ? nil : leaderID, collapse: cache.patience, maxObject: cache.rules.maxObject, now: loop.now)
    if let fill, let draft {
      _ = machine.head(isStorable ? .store(length: draft.length) : .share(length: draft.length), now: loop.now) { _ in true }
      let written = fill.writer.written
      if written <= cache.rules.maxObject { _ = machine.wrote(written, now: loop.now) }
      if let position = leader?.position, position > 0 {
        _ = machine.progress(leaderID, position: position, now: loop.now)
      }
    }
    return machine
  }

  private func perform(_ step: FetchStep) {
    if !step.messages.isEmpty { deliver(step.messages) }
    if step.effects.contains(.complete) { finishBody(stores: step.effects.contains(.store)) }
    if step.effects.contains(.broken) { fill?.writer.breakOff() }
    if step.effects.contains(.discard) { fill?.writer.release() }
    if step.effects.contains(.detach), let flight { store.leave(flight) }
    if step.effects.contains(.stopCollapsing) {
      store.stopCollapsing(key.target, key.partition, until: loop.now + FetchMachine.uncollapsed)
    }
    if step.effects.contains(.pause) {
      isPaused = true
      stallDeadline = .max
    }
    if step.effects.contains(.resume) { isPaused = false }
    if isWindowed { for subscription in subscriptions.values { subscription.askForProgress() } }
    machineDeadline = step.deadline ?? .max
    guard step.effects.contains(.finished) else { return arm() }
    let asker = asker
    finish()
    // Its app has left, and so has everybody who waited. (In its own step it ends by itself.)
    if step.effects.contains(.cancel), let asker { asker.endFetching() }
  }

  private func deliver(_ messages: [(reader: ReaderID, message: ReaderMessage)]) {
    var news: [(ReaderID, ReaderNews)] = []
    for (id, message) in messages {
      guard id != leaderID else {
        // Everything else it sees itself.
        if message == .cut { leader?.tooSlow() }
        continue
      }
      switch message {
      case .read: news.append((id, read(id)))
      case .answer: news.append((id, renewed.map { .answer($0) } ?? .lookAgain))
      case .relay, .goAlone: news.append((id, .goAlone))
      case .lookAgain: news.append((id, .lookAgain))
      case .failed where fill == nil: news.append((id, .failed(failure)))
      // The machine cuts a single reader only for its slowness: then it goes on for the others.
      case .cut where fill != nil && machine?.isFinished == false: news.append((id, .cut))
      // The blocks say that they end here, behind what came before.
      case .failed, .askAgain, .cut: break
      }
    }
    tell(news)
  }

  private func read(_ id: ReaderID) -> ReaderNews {
    guard let reader = readers[id], let draft, let flight, let body = fill?.writer.reader() else { return .lookAgain }
    let loop = reader.executor.index
    let subscription = subscriptions[loop] ?? FetchSubscription(flight, reader.executor)
    subscriptions[loop] = subscription
    return .read(SharedAnswer(draft, body, subscription))
  }

  private func tell(_ news: [(reader: ReaderID, news: ReaderNews)]) {
    var byLoop: [Int: (LoopExecutor, [(reader: ReaderID, news: ReaderNews)])] = [:]
    for item in news {
      guard let reader = readers[item.reader] else { continue }
      if case .read = item.news {} else { readers[item.reader] = nil }
      byLoop[reader.executor.index, default: (reader.executor, [])].1.append(item)
    }
    for (executor, news) in byLoop.values {
      executor.call { loop in loop.resident(CacheDesk.self).tell(news) }
    }
  }

  // MARK: Time

  private func armStall() {
    stallDeadline = loop.now + stall
    arm()
  }

  private func arm() {
    if isFinished { return }
    let next = min(machineDeadline, stallDeadline)
    if next == .max { loop.disarm(self) } else { loop.arm(self, at: next) }
  }

  override func expired(on loop: EventLoop) {
    guard !isFinished else { return }
    if loop.now >= stallDeadline {
      failed()
    } else if loop.now >= machineDeadline {
      withMachine { $0.timer(now: loop.now) }
      move()
    } else {
      return arm()
    }
    wakeReaders()
  }
}
