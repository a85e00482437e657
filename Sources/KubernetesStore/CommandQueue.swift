import Credentials
import EventIO
import JSON

/// The commands that wait, and the requests that answer them. Confined to its loop.
final class CommandQueue: EventHandler {
  private struct Waiting {
    let command: SealedRecord.Command
    /// Nanoseconds of the loop's clock.
    let deadline: Int64
    let deliver: (SealedRecord.Reply) -> Void

    func fail(_ failure: KubernetesFailure) { deliver(.failed("\(failure)")) }

    func answer(_ object: SecretObject, clock: Int64) {
      guard case .read(let key) = command else { return }
      switch object.entry(key) {
      case .absent: deliver(.value(nil, clock: clock))
      case .value(let value): deliver(.value(value, clock: clock))
      case .unreadable: deliver(.failed("\(KubernetesFailure.malformed("has an entry that is not Base64"))"))
      }
    }
  }

  private struct Write {
    let task: CompareAndSet
    let waiting: Waiting
    var conflicts = 0
    /// Nanoseconds: the object is read again then.
    var resumes: Int64?
    /// What it waits for, if it waits too long.
    var reason = KubernetesFailure.crowded(attempts: 0)
    var exchange: APIExchange?
  }

  private static let mostWaiting = 16_384

  private let client: APIClient
  private unowned let loop: EventLoop
  private let chance: () -> Double
  /// Told of each failure of a request, whatever became of its command.
  var failed: (KubernetesFailure) -> Void = { _ in }

  private var isConnected = false
  private var isStopped = false
  /// In the order of their deadlines, as all have the same time.
  private var reads: [Waiting] = []
  private var writes: [Waiting] = []
  private var rejected: [(Waiting, KubernetesFailure)] = []
  private var reading: (exchange: APIExchange, [Waiting])?
  private var writing: Write?
  /// The server asked for quiet until then; nanoseconds.
  private var quietUntil = Int64.min
  /// The newest state that was seen, for a first attempt without reading.
  private var latest: SecretObject?

  init(_ client: APIClient, on loop: EventLoop, chance: @escaping () -> Double) {
    self.client = client
    self.loop = loop
    self.chance = chance
  }

  /// Something waits for a connection.
  var isWaiting: Bool { !reads.isEmpty || !writes.isEmpty }

  func add(_ command: SealedRecord.Command, _ deliver: @escaping (SealedRecord.Reply) -> Void) {
    let waiting = Waiting(
      command: command, deadline: loop.now + Int64(client.settings.timeout) * 1_000_000, deliver: deliver)
    guard !isStopped, reads.count + writes.count < Self.mostWaiting else {
      rejected.append((waiting, isStopped ? .stopped : .tooManyWaiting))
      return loop.again(self)
    }
    switch command {
    case .read: reads.append(waiting)
    case .compareAndSet: writes.append(waiting)
    }
  }

  func saw(_ object: SecretObject) { latest = object }

  func stop() {
    isStopped = true
    isConnected = false
    loop.forget(self)
    reading?.exchange.cancel()
    writing?.exchange?.cancel()
    let all = (reading?.1 ?? []) + (writing.map { [$0.waiting] } ?? [])
    reading = nil
    writing = nil
    for waiting in all { waiting.fail(.stopped) }
    failWaiting(.stopped)
    failRejected()
  }

  func failWaiting(_ failure: KubernetesFailure) {
    let all = reads + writes
    reads = []
    writes = []
    for waiting in all { waiting.fail(failure) }
  }

  private func failRejected() {
    let all = rejected
    rejected = []
    for (waiting, failure) in all { waiting.fail(failure) }
  }

  // MARK: Time

  /// What waits goes on waiting, for its time.
  func disconnected() { isConnected = false }

  func advance(isConnected: Bool) {
    self.isConnected = isConnected
    advance()
  }

  override func ready(_ events: UInt32, on loop: EventLoop) { advance() }
  override func expired(on loop: EventLoop) { advance() }

  private func advance() {
    failRejected()
    expire()
    if isConnected, quietUntil <= loop.now {
      if reading == nil, !reads.isEmpty { read() }
      if let write = writing {
        if let resumes = write.resumes, resumes <= loop.now { lookAgain() }
      } else if !writes.isEmpty {
        beginWrite()
      }
    }
    schedule()
  }

  private func expire() {
    let late = reads.prefix { $0.deadline <= loop.now } + writes.prefix { $0.deadline <= loop.now }
    reads = Array(reads.drop { $0.deadline <= loop.now })
    writes = Array(writes.drop { $0.deadline <= loop.now })
    for waiting in late { waiting.fail(.timedOut(milliseconds: client.settings.timeout)) }
    if let write = writing, write.resumes != nil, write.waiting.deadline <= loop.now {
      finish(failing: write.reason)
    }
  }

  private func schedule() {
    var next = min(reads.first?.deadline ?? Int64.max, writes.first?.deadline ?? Int64.max)
    if let write = writing, let resumes = write.resumes { next = min(next, resumes, write.waiting.deadline) }
    if isConnected, quietUntil > loop.now, isWaiting || writing?.resumes != nil { next = min(next, quietUntil) }
    if next == Int64.max { loop.disarm(self) } else { loop.arm(self, at: max(next, loop.now)) }
  }

  /// Milliseconds for a request of it.
  private func timeLeft(_ waiting: Waiting) -> Int {
    max(1, Int((waiting.deadline - loop.now) / 1_000_000))
  }

  /// Sends nothing as long as the server asks for quiet. Commands wait for that if they have the time.
  private func observe(_ failure: KubernetesFailure) -> Bool {
    guard case .overloaded(let seconds) = failure else { return false }
    let pause = seconds.map { min($0, WatchPlan.longestWait / WatchPlan.second) * 1_000 } ?? 500 + Int64(chance() * 500)
    quietUntil = max(quietUntil, loop.now + pause * 1_000_000)
    return true
  }

  // MARK: Reading

  private func read() {
    let all = reads
    reads = []
    let exchange = client.send(.get(client.settings), timeout: all.last.map(timeLeft) ?? 1) { [unowned self] in hasRead($0) }
    reading = (exchange, all)
  }

  private func hasRead(_ result: Result<APIAnswer, KubernetesFailure>) {
    guard let all = reading?.1 else { return }
    reading = nil
    switch result.flatMap({ answer in object(of: answer).flatMap { clock(of: answer, $0) } }) {
    case .success(let (object, clock)):
      for waiting in all { waiting.answer(object, clock: clock) }
    case .failure(let failure):
      let isPatient = observe(failure)
      reads = all.filter { isPatient && $0.deadline > quietUntil } + reads
      for waiting in all where !isPatient || waiting.deadline <= quietUntil { waiting.fail(failure) }
      failed(failure)
    }
    advance()
  }

  /// The object of a GET or a PATCH.
  func object(of answer: APIAnswer) -> Result<SecretObject, KubernetesFailure> {
    guard let json = try? JSONParser.parse(answer.body) else { return .failure(.malformed("is not JSON")) }
    let settings = client.settings
    guard let object = SecretObject(json, name: settings.secret, namespace: settings.namespace) else {
      return .failure(.malformed("is not the \(settings.object)"))
    }
    latest = object
    return .success(object)
  }

  private func clock(of answer: APIAnswer, _ object: SecretObject) -> Result<(SecretObject, Int64), KubernetesFailure> {
    answer.clock.map { .success((object, $0)) } ?? .failure(.malformed("has no Date"))
  }

  // MARK: Writing

  private func beginWrite() {
    let waiting = writes.removeFirst()
    guard case .compareAndSet(let key, let expected, let new, _, _) = waiting.command else { return }
    writing = Write(task: CompareAndSet(key: key, expected: expected, new: new), waiting: waiting)
    if let latest, writing?.task.verdict(on: latest) == .patch { patch(latest) } else { lookAgain() }
  }

  /// Reads the object: what is decided is decided by that.
  private func lookAgain() {
    guard let write = writing else { return }
    writing?.resumes = nil
    let exchange = client.send(.get(client.settings), timeout: timeLeft(write.waiting)) { [unowned self] result in
      guard let write = writing else { return }
      switch result.flatMap({ answer in object(of: answer).flatMap { clock(of: answer, $0) } }) {
      case .failure(let failure): writeFailed(failure)
      case .success(let (object, clock)):
        switch write.task.verdict(on: object) {
        case .patch: return patch(object)
        case .stored: finish(.stored(acknowledgements: 0, clock: clock))
        case .conflict(let value): finish(.conflict(value, clock: clock))
        case .unreadable: finish(failing: .malformed("has an entry that is not Base64"))
        }
      }
      advance()
    }
    writing?.exchange = exchange
  }

  private func patch(_ object: SecretObject) {
    guard let write = writing else { return }
    let body = object.patch(write.task.key, to: write.task.new)
    let request = APIRequest.patch(client.settings, body)
    let exchange = client.send(request, timeout: timeLeft(write.waiting)) { [unowned self] result in
      guard let write = writing else { return }
      switch result.flatMap({ answer in self.object(of: answer).flatMap { clock(of: answer, $0) } }) {
      case .success(let (object, clock)):
        if object.entry(write.task.key) == .value(write.task.new) {
          finish(.stored(acknowledgements: 0, clock: clock))
        } else {
          finish(failing: .malformed("does not have what was written"))
        }
      case .failure(.outdated):
        latest = nil
        writing?.conflicts += 1
        writing?.reason = .crowded(attempts: write.conflicts + 1)
        writing?.resumes =
          loop.now + CompareAndSet.pause(afterConflicts: write.conflicts + 1, chance: chance()) * 1_000_000
      case .failure(let failure): writeFailed(failure)
      }
      advance()
    }
    writing?.exchange = exchange
  }

  private func writeFailed(_ failure: KubernetesFailure) {
    guard let write = writing else { return }
    latest = nil
    if observe(failure), write.waiting.deadline > quietUntil {
      writing?.resumes = quietUntil
      writing?.reason = failure
    } else {
      finish(failing: failure)
    }
    failed(failure)
  }

  private func finish(_ reply: SealedRecord.Reply) {
    guard let write = writing else { return }
    writing = nil
    write.waiting.deliver(reply)
  }

  private func finish(failing failure: KubernetesFailure) { finish(.failed("\(failure)")) }
}
