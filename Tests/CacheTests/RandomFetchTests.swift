import Testing

@testable import Cache

/// Random schedules of a leader, waiters, leavers, slow readers, invalidations and breaks. A model with plain facts about each reader says
/// after each event what each must be told.
@Suite("A fetch in any order of events")
struct RandomFetchTests {
  /// What the model knows of a reader that has not been told its end.
  private struct Known {
    let until: Int64
    let isSecondTry: Bool
    let matches: Bool
    var isReading = false
    var hasBytes = false
    var position = 0
    var behindSince: Int64?
  }

  private struct World {
    var random: Seeded
    var machine: FetchMachine
    var now: Int64 = 0
    let maxObject = 1000
    let leader: ReaderID?
    let verdict: FetchVerdict
    /// Bytes of the body.
    let size: Int
    var known: [ReaderID: Known] = [:]
    var nextReader: UInt64 = 1
    var total: FetchStep.Effects = []
    // What happened.
    var hasHead = false
    var isDetached = false
    var isInvalidated = false
    var isOver = false
    var isWindowed = false
    var window = 0
    var isPaused = false
    var written = 0
    var hasTrailers = false
    var problems: [String] = []

    init(seed: UInt64) {
      random = Seeded(seed)
      leader = random.next() % 8 == 0 ? nil : ReaderID(0)
      machine = FetchMachine(leader: leader, collapse: 5 * second, maxObject: 1000, now: 0)
      if let leader { known[leader] = Known(until: .max, isSecondTry: false, matches: true) }
      let length = Int(random.next() % 1400)
      let isKnown = random.next() % 2 == 0
      switch random.next() % 8 {
      case 0: verdict = .release
      case 1: verdict = .renewed
      case 2: verdict = .share(length: isKnown ? length : nil)
      case 3 where isKnown: verdict = .renewedForOne
      default: verdict = .store(length: isKnown ? length : nil)
      }
      size = isKnown ? length : length * 3
      hasTrailers = random.next() % 10 == 0
    }

    mutating func wrong(_ text: String) { problems.append("\(now): \(text)") }

    /// Compares what readers are told with what they must be told, and performs it.
    mutating func take(_ step: FetchStep, expected: [ReaderID: ReaderMessage]) {
      var told: [ReaderID: ReaderMessage] = [:]
      for (reader, message) in step.messages {
        if told.updateValue(message, forKey: reader) != nil { wrong("told twice") }
      }
      if told != expected { wrong("told \(told), expected \(expected)") }
      for (reader, message) in told { if message == .read { known[reader]?.isReading = true } else { known[reader] = nil } }
      let repeated = step.effects.intersection(total).subtracting([.pause, .resume])
      // A body that is already given up may break, too.
      if !repeated.subtracting([.discard, .stopCollapsing]).isEmpty { wrong("\(repeated) twice") }
      if total.contains(.finished), !step.effects.isEmpty { wrong("an effect behind the end") }
      total.formUnion(step.effects)
      if step.effects.contains(.pause) { isPaused = true }
      if step.effects.contains(.resume) { isPaused = false }
      if step.effects.contains(.detach) { isDetached = true }
      if step.effects.contains(.finished) {
        isOver = true
        known = [:]
        if !isDetached { wrong("finished, but joined") }
        if step.deadline != nil { wrong("a deadline behind the end") }
      } else if let deadline = waitingDeadline, (step.deadline ?? .max) > deadline {
        wrong("nobody wakes a waiter")
      }
      check(step)
    }

    var waitingDeadline: Int64? { hasHead ? nil : known.values.map(\.until).filter { $0 < .max }.min() }
    var canBeStored: Bool {
      if case .store = verdict { return !isInvalidated && !isWindowed && !hasTrailers }
      return false
    }
    private var missing: Int? {
      if case .store(let length?) = verdict, length <= maxObject, canStillBeStored { return length - written }
      return nil
    }
    var canStillBeStored: Bool { !isInvalidated && !isWindowed }

    /// Those who wait get nothing of it.
    var isRelease: Bool {
      switch verdict {
      case .release, .renewedForOne: true
      case .store(let length?), .share(let length?): length > maxObject
      default: false
      }
    }

    mutating func check(_ step: FetchStep) {
      if step.effects.contains(.store), !canBeStored || written != size { wrong("stored what must not be") }
      if step.effects.contains(.store), !step.effects.contains(.complete) { wrong("stored without an end") }
      if step.effects.contains(.cancel) {
        // Only if nobody is there to read it.
        if !known.isEmpty { wrong("ended under readers") }
        if leader == nil, !isRelease, !hasHead || canBeStored { wrong("a background validation ended for want of readers") }
        if hasHead, let missing, missing <= FetchMachine.worthFinishing { wrong("ended with little missing") }
      }
      if isWindowed, !isOver {
        let behind = known.values.contains { written - $0.position >= window }
        if behind != isPaused { wrong("paused \(isPaused), behind \(behind)") }
      }
    }

    // MARK: Events

    mutating func join() {
      let reader = ReaderID(nextReader)
      nextReader += 1
      let state = Known(until: now + 5 * second, isSecondTry: random.next() % 4 == 0, matches: random.next() % 3 > 0)
      // Once the head is there, only those who match come.
      if hasHead, !state.matches { return }
      var expected: [ReaderID: ReaderMessage] = [:]
      if isOver || isDetached {
        expected[reader] = .lookAgain
      } else {
        known[reader] = state
        if hasHead { expected[reader] = .read }
      }
      take(machine.join(reader, isSecondTry: state.isSecondTry, now: now), expected: expected)
    }

    mutating func leave() {
      guard let reader = pick() else { return }
      known[reader] = nil
      let step = machine.leave(reader, now: now)
      take(step, expected: cuts())
    }

    mutating func progress() {
      guard let reader = pick(), let state = known[reader], state.isReading, written > state.position else { return }
      let position = state.position + 1 + Int(random.next() % UInt64(written - state.position))
      known[reader]?.position = position
      known[reader]?.hasBytes = true
      take(machine.progress(reader, position: position, now: now), expected: cuts())
    }

    mutating func head() {
      guard !hasHead, !isOver else { return }
      hasHead = true
      var expected: [ReaderID: ReaderMessage] = [:]
      for (id, state) in known {
        if isRelease {
          expected[id] = id != leader ? .goAlone : verdict == .renewedForOne ? .answer : .relay
        } else if !state.matches {
          expected[id] = .lookAgain
        } else {
          expected[id] = verdict == .renewed ? .answer : .read
        }
      }
      if !isRelease, case .share(nil) = verdict {
        isWindowed = true
        window = maxObject
      }
      let matching = Set(known.filter(\.value.matches).keys)
      take(machine.head(verdict, now: now) { matching.contains($0) }, expected: expected)
      if isRelease, !total.contains(.stopCollapsing) { wrong("the key goes on collapsing") }
      if isRelease || verdict == .renewed, !isOver { wrong("goes on") }
      if case .share = verdict, !isDetached { wrong("shared with those who did not wait") }
    }

    mutating func write() {
      guard hasHead, !isOver, !isPaused, written < size else { return }
      written = min(size, written + 1 + Int(random.next() % 400))
      if !isWindowed, written > maxObject {
        isWindowed = true
        window = maxObject
      }
      let step = machine.wrote(written, now: now)
      take(step, expected: cuts())
      if isWindowed, !isDetached { wrong("too large, but joined") }
    }

    mutating func noRoom() {
      guard hasHead, !isOver, !isWindowed, verdict == .store(length: nil) else { return }
      isWindowed = true
      window = max(1, min(maxObject, written))
      take(machine.noRoom(now: now), expected: cuts())
    }

    mutating func end() {
      guard hasHead, !isOver, written == size else { return }
      take(machine.completed(hasTrailers: hasTrailers, now: now), expected: [:])
      if !total.contains(.complete) || !isOver || canBeStored != total.contains(.store) { wrong("no good end") }
    }

    mutating func breaks() {
      guard !isOver else { return }
      let expected = known.mapValues { state -> ReaderMessage in
        if !hasHead { return .failed }
        return state.hasBytes ? .cut : state.isSecondTry ? .failed : .askAgain
      }
      let hadHead = hasHead
      take(machine.failed(now: now), expected: expected)
      if !isOver || total.contains(.complete) || total.contains(.store) || hadHead != total.contains(.broken) {
        wrong("a break")
      }
    }

    mutating func invalidate() {
      guard !isOver else { return }
      isInvalidated = true
      take(machine.invalidate(now: now), expected: [:])
      if !isDetached { wrong("joined behind an invalidation") }
    }

    mutating func wait() {
      now += Int64(random.next() % 2_000_000_000)
      var expected: [ReaderID: ReaderMessage] = [:]
      if !hasHead { for (id, state) in known where state.until <= now { expected[id] = .goAlone } }
      // Before the step: they are not among its readers any more.
      for id in expected.keys { known[id] = nil }
      let late = cuts()
      take(machine.timer(now: now), expected: expected.merging(late) { one, _ in one })
      if !expected.isEmpty, !isDetached { wrong("a fetch that hangs keeps its key") }
    }

    /// Those who are a window behind for a second, while another is not.
    mutating func cuts() -> [ReaderID: ReaderMessage] {
      guard isWindowed, hasHead, !isOver, !known.isEmpty else { return [:] }
      for id in known.keys {
        let lag = written - (known[id]?.position ?? 0)
        let since = known[id]?.behindSince ?? now
        if lag >= window { known[id]?.behindSince = since }
        if lag <= window / 2, lag < window { known[id]?.behindSince = nil }
      }
      guard known.values.contains(where: { $0.behindSince == nil }) else { return [:] }
      let late = known.filter { ($0.value.behindSince ?? .max) <= now - second }
      return late.mapValues { _ in .cut }
    }

    mutating func pick() -> ReaderID? {
      let all = known.keys.sorted { $0.value < $1.value }
      return all.isEmpty ? nil : all[Int(random.next() % UInt64(all.count))]
    }

    mutating func run() {
      for _ in 0..<60 where problems.isEmpty {
        switch random.next() % 24 {
        case 0...5: join()
        case 6, 7: leave()
        case 8...11: progress()
        case 12: head()
        case 13...17: write()
        case 18: if random.next() % 4 == 0 { noRoom() }
        case 19: end()
        case 20: if random.next() % 6 == 0 { breaks() }
        case 21: if random.next() % 6 == 0 { invalidate() }
        default: wait()
        }
      }
      // The origin goes away: whoever is left is told.
      if !isOver { breaks() }
      if !known.isEmpty { wrong("\(known.count) readers wait for ever") }
      if machine.readerCount > 0 || !machine.isFinished { wrong("not finished") }
    }
  }

  @Test("tells each reader what it must see, and ends")
  func schedules() {
    var (stored, released, cut, detached) = (0, 0, 0, 0)
    for seed in 0..<10_000 {
      var world = World(seed: UInt64(seed))
      world.run()
      if !world.problems.isEmpty {
        Issue.record("schedule \(seed), \(world.verdict), \(world.size) bytes: \(world.problems)")
        return
      }
      if world.total.contains(.store) { stored += 1 }
      if world.total.contains(.stopCollapsing) { released += 1 }
      if world.total.contains(.pause) { cut += 1 }
      if world.isInvalidated { detached += 1 }
    }
    // All ways were taken.
    #expect(stored > 200 && released > 200 && cut > 200 && detached > 200, "\(stored) \(released) \(cut) \(detached)")
  }
}
