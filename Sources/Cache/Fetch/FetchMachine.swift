/// A fetch whose answer several requests may read. It belongs to none of them: it lives on one loop, and readers on any loop tell it by
/// message that they join, read or leave. Times are nanoseconds of the steady clock. Each input returns what to do.
public struct FetchMachine: Sendable {
  /// After an answer that was not storable its key does not collapse for so long.
  public static let uncollapsed: Int64 = 10_000_000_000
  /// How long a reader may hold up the others.
  public static let patience: Int64 = 1_000_000_000
  /// Without readers a fetch goes on if no more than so many bytes are missing.
  public static let worthFinishing = 256 << 10

  private enum Phase: Sendable { case waiting, streaming, ended }

  private struct Reader: Sendable {
    /// Until when it waits for the head.
    var until: Int64
    var isReading = false
    /// It has sent bytes to its app.
    var hasBytes = false
    let isSecondTry: Bool
    var position = 0
    /// Since when it is a window behind; nil once it has caught up half of it.
    var behindSince: Int64?
  }

  private let collapse: Int64
  private let maxObject: Int
  /// A validation in the background: it needs no readers.
  private let isBackground: Bool
  private var phase = Phase.waiting
  private var readers: [ReaderID: Reader] = [:]
  private var leader: ReaderID?
  private var isDetached = false
  private var isInvalidated = false
  private var isStored = false
  private var length: Int?
  private var written = 0
  /// The body is not kept: blocks go as readers pass them, and the fetch stays so many bytes ahead of the slowest.
  private var window: Int?
  private var isPaused = false
  private var deadline: Int64?

  /// - Parameters:
  ///   - leader: the request that fetches; nil: a validation in the background.
  ///   - collapse: how long others wait for the head.
  ///   - maxObject: bytes.
  public init(leader: ReaderID?, collapse: Int64, maxObject: Int, now: Int64) {
    self.leader = leader
    self.collapse = collapse
    self.maxObject = maxObject
    isBackground = leader == nil
    if let leader { readers[leader] = Reader(until: .max, isSecondTry: false) }
  }

  public var isFinished: Bool { phase == .ended }
  public var readerCount: Int { readers.count }
  /// The fetch depends on how far its readers are.
  public var isWindowed: Bool { window != nil }

  // MARK: - Readers

  /// - Parameter isSecondTry: it has been told `askAgain` before.
  public mutating func join(_ reader: ReaderID, isSecondTry: Bool = false, now: Int64) -> FetchStep {
    var step = FetchStep()
    // It found the fetch in the store a moment ago.
    guard phase != .ended, !isDetached else {
      step.messages = [(reader, .lookAgain)]
      return finish(step)
    }
    var state = Reader(until: now + collapse, isSecondTry: isSecondTry)
    if phase == .streaming {
      state.isReading = true
      step.messages = [(reader, .read)]
    } else {
      deadline = min(deadline ?? .max, state.until)
    }
    readers[reader] = state
    return finish(step)
  }

  /// Its app has left, or it has read all that it wants.
  public mutating func leave(_ reader: ReaderID, now: Int64) -> FetchStep {
    var step = FetchStep()
    guard readers.removeValue(forKey: reader) != nil else { return finish(step) }
    if leader == reader { leader = nil }
    endIfUnread(&step)
    checkWindow(&step, now)
    return finish(step)
  }

  /// It has sent bytes to its app, of the head or the body.
  public mutating func progress(_ reader: ReaderID, position: Int, now: Int64) -> FetchStep {
    var step = FetchStep()
    readers[reader]?.hasBytes = true
    readers[reader]?.position = position
    checkWindow(&step, now)
    return finish(step)
  }

  // MARK: - The origin

  /// The final head is there, after the credential's and the entry's own retries.
  /// - Parameter matches: whether a reader's fields are those that the answer's Vary wants. Not asked for the one that fetches.
  public mutating func head(_ verdict: FetchVerdict, now: Int64, matches: (ReaderID) -> Bool) -> FetchStep {
    var step = FetchStep()
    guard phase == .waiting else { return finish(step) }
    switch verdict {
    case .release: release(&step, .relay)
    case .renewedForOne: release(&step, .answer)
    case .store(let length?) where length > maxObject, .share(let length?) where length > maxObject: release(&step, .relay)
    case .renewed:
      for reader in readers.keys { step.messages.append((reader, reader == leader || matches(reader) ? .answer : .lookAgain)) }
      end(&step, [])
    case .store(let length):
      isStored = !isInvalidated
      stream(length, &step, matches)
    case .share(let length):
      detach(&step)
      if length == nil {
        window = maxObject
        step.effects.insert(.discard)
      }
      stream(length, &step, matches)
    }
    return finish(step)
  }

  /// - Parameter total: bytes of the body that are written.
  public mutating func wrote(_ total: Int, now: Int64) -> FetchStep {
    var step = FetchStep()
    guard phase == .streaming else { return finish(step) }
    written = total
    if window == nil, total > maxObject { outgrow(maxObject, &step) }
    checkWindow(&step, now)
    return finish(step)
  }

  /// The store has no room for more of the body.
  public mutating func noRoom(now: Int64) -> FetchStep {
    var step = FetchStep()
    guard phase == .streaming, window == nil else { return finish(step) }
    outgrow(max(1, min(maxObject, written)), &step)
    checkWindow(&step, now)
    return finish(step)
  }

  /// The body has ended as it should.
  public mutating func completed(hasTrailers: Bool, now: Int64) -> FetchStep {
    var step = FetchStep()
    guard phase == .streaming else { return finish(step) }
    // Readers go on by themselves: all blocks are there.
    end(&step, isStored && !hasTrailers ? [.complete, .store] : [.complete, .discard])
    return finish(step)
  }

  /// No answer, or the body broke.
  public mutating func failed(now: Int64) -> FetchStep {
    var step = FetchStep()
    guard phase != .ended else { return finish(step) }
    for (id, reader) in readers {
      let message: ReaderMessage =
        if phase == .waiting { .failed } else if reader.hasBytes { .cut } else if reader.isSecondTry { .failed } else {
          .askAgain
        }
      step.messages.append((id, message))
    }
    end(&step, phase == .waiting ? [] : [.broken, .discard])
    return finish(step)
  }

  // MARK: - The store and the clock

  /// It began before an invalidation, a purge or a reload: who reads goes on, nobody joins, and nothing is stored.
  public mutating func invalidate(now: Int64) -> FetchStep {
    var step = FetchStep()
    guard phase != .ended else { return finish(step) }
    isInvalidated = true
    isStored = false
    detach(&step)
    if phase == .streaming, window == nil { step.effects.insert(.discard) }
    endIfUnread(&step)
    return finish(step)
  }

  public mutating func timer(now: Int64) -> FetchStep {
    var step = FetchStep()
    if phase == .waiting {
      var next: Int64?
      for (id, reader) in readers where id != leader {
        if reader.until <= now {
          readers[id] = nil
          step.messages.append((id, .goAlone))
        } else {
          next = min(next ?? .max, reader.until)
        }
      }
      deadline = next
      // A fetch that hangs keeps its key from nobody.
      if !step.messages.isEmpty { detach(&step) }
      endIfUnread(&step)
    }
    checkWindow(&step, now)
    return finish(step)
  }

  // MARK: - Parts

  private mutating func stream(_ length: Int?, _ step: inout FetchStep, _ matches: (ReaderID) -> Bool) {
    phase = .streaming
    self.length = length
    deadline = nil
    for id in readers.keys {
      if id == leader || matches(id) {
        readers[id]?.isReading = true
        step.messages.append((id, .read))
      } else {
        readers[id] = nil
        step.messages.append((id, .lookAgain))
      }
    }
    endIfUnread(&step)
  }

  private mutating func release(_ step: inout FetchStep, _ message: ReaderMessage) {
    for id in readers.keys { step.messages.append((id, id == leader ? message : .goAlone)) }
    let isTaken = leader != nil || message == .answer
    end(&step, isTaken ? [.stopCollapsing] : [.stopCollapsing, .cancel])
  }

  private mutating func outgrow(_ size: Int, _ step: inout FetchStep) {
    window = size
    isStored = false
    step.effects.formUnion([.discard, .stopCollapsing])
    detach(&step)
    endIfUnread(&step)
  }

  private mutating func detach(_ step: inout FetchStep) {
    if !isDetached { step.effects.insert(.detach) }
    isDetached = true
  }

  private mutating func end(_ step: inout FetchStep, _ effects: FetchStep.Effects) {
    step.effects.formUnion(effects)
    step.effects.insert(.finished)
    detach(&step)
    phase = .ended
    readers = [:]
    deadline = nil
  }

  /// The last reader has left. A validation in the background is for the store, as long as the store takes its answer.
  private mutating func endIfUnread(_ step: inout FetchStep) {
    guard readers.isEmpty, phase != .ended else { return }
    if isBackground, phase == .waiting || isStored { return }
    if phase == .streaming, isStored, let length, length - written <= Self.worthFinishing { return }
    end(&step, phase == .waiting ? [.cancel] : [.cancel, .broken, .discard])
  }

  /// Stays within a window of the slowest reader, and cuts a reader that holds up others for too long. A reader that only holds up itself
  /// is not cut.
  private mutating func checkWindow(_ step: inout FetchStep, _ now: Int64) {
    guard phase == .streaming, let window else { return }
    for (id, reader) in readers {
      let lag = written - reader.position
      if lag >= window {
        readers[id]?.behindSince = reader.behindSince ?? now
      } else if lag <= window / 2 {
        readers[id]?.behindSince = nil
      }
    }
    deadline = nil
    if readers.values.contains(where: { $0.behindSince == nil }) {
      for (id, reader) in readers {
        guard let since = reader.behindSince else { continue }
        if since + Self.patience <= now {
          readers[id] = nil
          if leader == id { leader = nil }
          step.messages.append((id, .cut))
        } else {
          deadline = min(deadline ?? .max, since + Self.patience)
        }
      }
    }
    let mustPause = readers.values.contains { written - $0.position >= window }
    if mustPause != isPaused { step.effects.insert(mustPause ? .pause : .resume) }
    isPaused = mustPause
  }

  private func finish(_ step: FetchStep) -> FetchStep {
    var step = step
    step.deadline = phase == .ended ? nil : deadline
    return step
  }
}
