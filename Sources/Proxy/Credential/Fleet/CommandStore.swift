import Credentials
import Crypto
import EventIO
import Settings
import Upstreams

/// A credential's record in the fleet's store, for commands, which run no proxy and may block. It never claims.
public final class CommandStore: TokenStore {
  private let executor: LoopExecutor
  private let address: String

  public var isShared: Bool { true }
  /// Milliseconds: it is another machine that is asked.
  public var lockPause: Int64 { 200 }

  init(_ place: RecordPlace, rules: UpstreamRules) {
    let group = LoopGroup(count: 1)
    executor = group.executors[0]
    address = place.plan.address
    group.start()
    executor.call { loop in
      let upstreams = Upstreams.install(
        on: loop, shared: SharedUpstreams(group: group), rules: rules, observer: LoopObserver())
      loop.install(CommandRecord(place, on: loop, upstreams))
    }
  }

  public func perform(_ request: TokenStoreRequest, for credential: String) -> TokenStoreAnswer {
    switch onLoop({ $0.perform(request, then: $1) }) {
    case .unreachable(let why): .unreachable("token store \(address): \(why)")
    case .failed(let why): .failed("token store \(address): \(why)")
    case let answer: answer
    }
  }

  /// The record, and the store's clock.
  public func read() throws(StoreFailure) -> (content: StoredRecord.Content?, clock: Int64) {
    switch onLoop({ $0.read(then: $1) }) {
    case .read(let reading): (StoredRecord.Content(reading), reading.clock / 1_000)
    case .failed(let why): throw StoreFailure("token store \(address): \(why)")
    case .stored, .conflict: throw StoreFailure("token store \(address) gave an answer to another question")
    }
  }

  /// Forgets that the server has refused the record's token, and its back-off. The tokens stay.
  /// - Returns: whether there was something to forget.
  public func clear() throws(StoreFailure) -> Bool {
    switch onLoop({ $0.clear(then: $1) }) {
    case .saved: return true
    case .released: return false
    case .failed(let why), .unreachable(let why): throw StoreFailure("token store \(address): \(why)")
    case .wrongKey: throw StoreFailure("its record is encrypted with another key")
    case .damaged: throw StoreFailure("its record is damaged")
    default: throw StoreFailure("token store \(address) gave an answer to another question")
    }
  }

  private func onLoop<Answer: Sendable>(
    _ body: @escaping @Sendable (CommandRecord, @escaping (Answer) -> Void) -> Void
  ) -> Answer {
    let outcome = Handover<Answer>()
    executor.call { loop in body(loop.resident(CommandRecord.self)) { outcome.put($0) } }
    return outcome.take()
  }
}

/// Why a command could not use the fleet's store, without secrets.
public struct StoreFailure: Error, Sendable, Hashable, CustomStringConvertible {
  public let description: String
  init(_ description: String) { self.description = description }
}

/// The command's side of one record. Confined to its loop.
private final class CommandRecord {
  /// Writes that may meet a conflict: the record changes with each refresh of the fleet.
  private static let mostConflicts = 16

  private let sealed: SealedRecord
  private let engine: any RecordEngine
  private var latest: SharedReading?
  /// Another process's claim, and since when it stands, in milliseconds of the boot-time clock.
  private var observed: (claim: TokenClaim, since: Int64)?

  init(_ place: RecordPlace, on loop: EventLoop, _ upstreams: Upstreams) {
    sealed = place.sealed
    engine = StoreKeeper.engine(
      for: place.plan, on: loop, gate: { [upstreams] check, done in upstreams.judge(check, done: done) }, report: { _ in })
    engine.start()
  }

  func read(then: @escaping (Credentials.SharedAnswer) -> Void) { ask(.read, then) }

  func perform(_ request: TokenStoreRequest, then: @escaping (TokenStoreAnswer) -> Void) {
    switch request {
    case .read:
      ask(.read) { [self] answer in
        guard case .read(let reading) = answer else { return then(Self.failure(of: answer)) }
        then(standing(reading))
      }
    case .save(let record): save(record, conflicts: 0, then)
    case .look:
      ask(.read) { answer in
        guard case .read(let reading) = answer else { return then(Self.failure(of: answer)) }
        then(.record(reading.record))
      }
    case .release: then(.released)
    case .claim, .confirm, .note, .putBack: then(.failed("no command does this"))
    }
  }

  /// A refresh in flight is waited for, unless its process has had all the time for it. A record that cannot be read is replaced: only a
  /// login or a logout can.
  private func standing(_ reading: SharedReading) -> TokenStoreAnswer {
    guard let record = reading.record else {
      return .record(nil, setAside: reading.content != .absent)
    }
    guard let claim = record.claim else {
      observed = nil
      return .record(record)
    }
    let now = bootTimeMilliseconds()
    if let observed, observed.claim == claim {
      return now - observed.since >= claim.duration ? .record(record) : .busy(claim.holder)
    }
    observed = (claim, now)
    return .busy(claim.holder)
  }

  private func save(_ record: TokenRecord, conflicts: Int, _ then: @escaping (TokenStoreAnswer) -> Void) {
    ask(.write(record, replacing: latest?.version, .save)) { [self] answer in
      switch answer {
      case .stored(_, let isAcknowledged, _):
        then(isAcknowledged ? .saved : .failed("it is written, but too few replicas have acknowledged it"))
      case .conflict(let reading):
        if let found = reading.record, found.generation >= record.generation { return then(.superseded(found)) }
        guard conflicts < Self.mostConflicts else { return then(.failed("the record changes whenever it is written")) }
        save(record, conflicts: conflicts + 1, then)
      case .read, .failed: then(Self.failure(of: answer))
      }
    }
  }

  func clear(then: @escaping (TokenStoreAnswer) -> Void) {
    ask(.read) { [self] answer in
      guard case .read(let reading) = answer else { return then(Self.failure(of: answer)) }
      clear(reading, conflicts: 0, then)
    }
  }

  private func clear(_ reading: SharedReading, conflicts: Int, _ then: @escaping (TokenStoreAnswer) -> Void) {
    switch reading.content {
    case .unknownKey: return then(.wrongKey)
    case .damaged: return then(.damaged)
    case .absent: return then(.released)
    case .record(var record):
      guard record.backOff != nil || record.lastError != nil && record.lastError?.isClearance == false else {
        return then(.released)
      }
      record.backOff = nil
      record.lastError = .clearance(at: reading.clock / 1_000)
      ask(.write(record, replacing: reading.version, .note)) { [self] answer in
        switch answer {
        case .stored: then(.saved)
        case .conflict(let newer) where conflicts < Self.mostConflicts: clear(newer, conflicts: conflicts + 1, then)
        default: then(Self.failure(of: answer))
        }
      }
    }
  }

  private func ask(_ operation: SharedOperation, _ then: @escaping (Credentials.SharedAnswer) -> Void) {
    let command: SealedRecord.Command
    do throws(OpenSSLError) { command = try sealed.command(for: operation, clock: latest?.clock ?? 0) } catch {
      return then(.failed("the record cannot be sealed: \(error.message)"))
    }
    engine.perform(command) { [self] reply in
      let answer = sealed.answer(reply, to: command)
      switch answer {
      case .read(let reading), .conflict(let reading): latest = reading
      case .stored, .failed: break
      }
      then(answer)
    }
  }

  private static func failure(of answer: Credentials.SharedAnswer) -> TokenStoreAnswer {
    if case .failed(let why) = answer { .unreachable(why) } else { .failed("it gave an answer to another question") }
  }
}

extension StoredRecord.Content {
  /// nil: there is none.
  fileprivate init?(_ reading: SharedReading) {
    switch reading.content {
    case .absent: return nil
    case .record(let record): self = .record(record)
    case .unknownKey: self = .wrongKey
    case .damaged: self = .damaged
    }
  }
}
