import CSystem
import Credentials
import Crypto
import EventIO

/// An owner's part in the record of its credential in the fleet's store: carries what its machine asks for to the engine, and tells it what
/// comes back. Confined to the owner's loop.
///
/// `SharedRecord` counts on a clock that goes on while the machine is suspended, and the owner's machine on the loop's. Times cross here.
final class SharedPart: EventHandler {
  /// What the owner passes to its machine. `clock`: Unix seconds by the store's clock; nil: the store did not say.
  enum News {
    case answer(id: UInt64, TokenStoreAnswer, clock: Int64?)
    case seen(TokenStoreAnswer, clock: Int64)
  }

  private static let replaced = "a reload has changed the store"
  /// Readings in `readingInterval` milliseconds of a record that is said to have changed, without and with a request that waits. A store that
  /// takes no writes announces each attempt, and what is read there may lead to the next one. A refresh is announced twice: claim and token.
  private static let readings = (idle: 2, waiting: 10)
  private static let readingInterval: Int64 = 100

  private weak var owner: TokenOwner?
  private let loop: EventLoop
  private let link: StoreLink
  private let place: RecordPlace
  private var plan: StorePlan
  /// Seals and opens; a reload may bring other keys.
  private var sealed: SealedRecord
  private var record: SharedRecord
  private var news: [News] = []
  private var asked: Set<UInt64> = []
  private var hasEnded = false
  /// Milliseconds that the store's clock is ahead of the boot-time clock.
  private var clockAhead: Int64 = 0
  /// One instant on both clocks, in milliseconds: that of the last claim.
  private var instant: (bootTime: Int64, loop: Int64)
  /// Milliseconds of the boot-time clock.
  private var wake: Int64?
  private var plannedLook: Int64?
  /// Readings since an instant.
  private var read: (since: Int64, count: Int) = (0, 0)

  init(of owner: TokenOwner, at place: RecordPlace, _ link: StoreLink) {
    self.owner = owner
    loop = owner.loop
    self.link = link
    self.place = place
    plan = place.plan
    sealed = place.sealed
    // Not the process's number: an owner that a reload has replaced may hold a claim yet.
    record = SharedRecord(holder: place.plan.holder, process: UInt64.random(in: 0 ... .max), terms: place.terms)
    instant = (bootTimeMilliseconds(), owner.now)
  }

  /// Reads the record, and from now on what changes there.
  func begin() { link.join(self) }

  var key: String { place.name.key }

  /// Takes over another configuration's keys and number of replicas.
  /// - Returns: false: the record is elsewhere, or its claims hold otherwise.
  func follow(_ next: RecordPlace) -> Bool {
    guard next.name == place.name, next.terms == place.terms else { return false }
    let isSame = sealed == next.sealed
    sealed = next.sealed
    plan = next.plan
    // What could not be opened perhaps can.
    if !isSame { handle(record.notified(now: bootTimeMilliseconds())) }
    return true
  }

  /// Answers what is asked, and tells nothing more.
  func end() {
    hasEnded = true
    link.leave(self)
    loop.forget(self)
    for id in asked.sorted() {
      news.append(.answer(id: id, .unreachable("token store \(plan.address): \(Self.replaced)"), clock: nil))
    }
    asked = []
  }

  /// Leaves: its owner asks nothing any more. What it asked last is still done.
  func leave() {
    link.leave(self)
    loop.forget(self)
  }

  // MARK: The owner

  /// A request of the owner's machine. Its answer is news, perhaps at once.
  func perform(_ request: TokenStoreRequest, id: UInt64) {
    asked.insert(id)
    handle(record.perform(request, id: id, now: bootTimeMilliseconds()))
  }

  /// What the machine is to be told next.
  func take() -> News? { news.isEmpty ? nil : news.removeFirst() }

  /// - Parameter time: milliseconds of the loop's clock, which the machine has counted from the last claim.
  func bootTime(of time: Int64) -> Int64 { instant.bootTime + time - instant.loop }

  // MARK: The store

  func connected() {
    handle(record.connected(now: bootTimeMilliseconds()))
    owner?.storeReturned()
  }

  func lost() { record.lost() }

  /// The record may have changed. If a request waits, or the machine for another process, it is read at once.
  /// - Parameter spread: milliseconds within which it is read otherwise.
  func changed(spread: Int64) {
    guard let owner else { return }
    let now = bootTimeMilliseconds()
    let waits = owner.waitsForStore
    // Who draws again with each announcement of many is always early.
    if !waits, plannedLook != nil { return }
    look(at: waits || spread == 0 ? now : now + Int64.random(in: 0...spread), waits: waits, now)
  }

  private func look(at wanted: Int64, waits: Bool, _ now: Int64) {
    if now - read.since >= Self.readingInterval { read = (now, 0) }
    let isPaused = read.count >= (waits ? Self.readings.waiting : Self.readings.idle)
    let due = isPaused ? max(wanted, read.since + Self.readingInterval) : wanted
    if due <= now {
      look(now)
      owner?.takeNews()
    } else if plannedLook.map({ due < $0 }) ?? true {
      plannedLook = due
      arm()
    }
  }

  private func look(_ now: Int64) {
    plannedLook = nil
    if now - read.since >= Self.readingInterval { read = (now, 0) }
    read.count += 1
    handle(record.notified(now: now))
  }

  private func handle(_ actions: [SharedRecord.Action]) {
    for action in actions {
      switch action {
      case .perform(let id, let operation): send(id, operation)
      case .answer(let id, let answer, let clock):
        guard asked.remove(id) != nil else { continue }
        news.append(.answer(id: id, translated(answer), clock: clock))
      case .seen(let answer, let clock): if !hasEnded { news.append(.seen(answer, clock: clock)) }
      case .wakeAt(let time):
        wake = time
        arm()
      case .report(let report): owner?.report(report)
      }
    }
  }

  private func send(_ id: UInt64, _ operation: SharedOperation) {
    let began = loop.clock()
    let command: SealedRecord.Command
    do throws(OpenSSLError) {
      command = try sealed.command(for: operation, clock: bootTimeMilliseconds() + clockAhead)
    } catch {
      // Not before its own action has been handled.
      Later.run(on: loop, afterMilliseconds: 1) { [self] in take(.failed("it cannot be sealed: \(error.message)"), of: id) }
      return
    }
    // As long as a reply is missing, its part lives: what a stopped owner gives up is given up.
    link.perform(command, under: plan) { [self] reply in
      owner?.desk.observer.storeAnswered(operation.kind, reply.result, nanoseconds: loop.clock() - began)
      if let clock = reply.clock { clockAhead = clock - bootTimeMilliseconds() }
      take(sealed.answer(reply, to: command), of: id)
      if case .failed = reply, let owner, !owner.desk.registry.store.keeps(plan) { owner.storeRemoved() }
    }
  }

  private func take(_ answer: Credentials.SharedAnswer, of id: UInt64) {
    handle(record.answered(id: id, answer, now: bootTimeMilliseconds()))
    owner?.takeNews()
    // A reading that was planned while nothing waited: the announcement may have been that of what is waited for now.
    if plannedLook != nil, owner?.waitsForStore == true {
      let now = bootTimeMilliseconds()
      look(at: now, waits: true, now)
    }
  }

  private func translated(_ answer: TokenStoreAnswer) -> TokenStoreAnswer {
    switch answer {
    case .claimed(let since?):
      instant = (since, owner.map { $0.now - (bootTimeMilliseconds() - since) } ?? 0)
      return .claimed(since: instant.loop)
    case .failed(let why): return .failed("token store \(plan.address): \(why)")
    case .unreachable(let why): return .unreachable("token store \(plan.address): \(why)")
    default: return answer
    }
  }

  // MARK: Time

  private func arm() {
    guard !hasEnded, let next = [wake, plannedLook].compactMap({ $0 }).min() else { return loop.disarm(self) }
    loop.arm(self, at: loop.clock() + max(0, next - bootTimeMilliseconds()) * 1_000_000)
  }

  override func expired(on loop: EventLoop) {
    let now = bootTimeMilliseconds()
    if let wake, now >= wake {
      self.wake = nil
      handle(record.timer(now: now))
    }
    if let plannedLook, now >= plannedLook { look(now) }
    arm()
    owner?.takeNews()
  }
}
