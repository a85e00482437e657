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

  public enum Clearance: Sendable, Hashable {
    /// There was nothing to forget.
    case nothing
    case cleared
    /// The record could not be read, and the fleet begins without it. The store has it under this name.
    case replaced(kept: String)
  }

  /// Forgets that the server has refused the record's token, and its back-off. The tokens stay. A record that these keys do not open is
  /// replaced by one without tokens: not for a credential with a login, which a login repairs.
  public func clear() throws(StoreFailure) -> Clearance {
    do throws(StoreFailure) { return try onLoop({ $0.clear(then: $1) }).get() } catch {
      throw StoreFailure("token store \(address): \(error)")
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

  init(_ answer: TokenStoreAnswer) {
    switch answer {
    case .failed(let why), .unreachable(let why): description = why
    default: description = "it gave an answer to another question"
    }
  }
}

/// The command's side of one record. Confined to its loop.
private final class CommandRecord {
  /// Writes that may meet a conflict: the record changes with each refresh of the fleet.
  private static let mostConflicts = 16

  private let sealed: SealedRecord
  private let grant: OAuth2Policy.Grant
  private let engine: any RecordEngine
  private var latest: SharedReading?
  /// Another process's claim, and since when it stands, in milliseconds of the boot-time clock.
  private var observed: (claim: TokenClaim, since: Int64)?

  init(_ place: RecordPlace, on loop: EventLoop, _ upstreams: Upstreams) {
    sealed = place.sealed
    grant = place.grant
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
    guard let unreadable = latest, unreadable.isUnreadable else { return put(record, conflicts: conflicts, then) }
    keep(unreadable) { [self] result in
      switch result {
      case .success: put(record, conflicts: conflicts, then)
      case .failure(let failure): then(.failed(failure.description))
      }
    }
  }

  private func put(_ record: TokenRecord, conflicts: Int, _ then: @escaping (TokenStoreAnswer) -> Void) {
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

  private var hasLogin: Bool {
    switch grant {
    case .authorizationCode, .deviceCode: true
    default: false
    }
  }

  typealias Cleared = (Result<CommandStore.Clearance, StoreFailure>) -> Void

  func clear(then: @escaping Cleared) {
    ask(.read) { [self] answer in
      guard case .read(let reading) = answer else { return then(.failure(StoreFailure(Self.failure(of: answer)))) }
      clear(reading, conflicts: 0, then)
    }
  }

  private func clear(_ reading: SharedReading, conflicts: Int, _ then: @escaping Cleared) {
    switch reading.content {
    case .absent: return then(.success(.nothing))
    case .record(var record):
      guard record.backOff != nil || record.lastError != nil && record.lastError?.isClearance == false else {
        return then(.success(.nothing))
      }
      record.backOff = nil
      replace(reading, by: record, conflicts, .cleared, then)
    case .unknownKey, .damaged:
      if hasLogin {
        let what = reading.content == .damaged ? "damaged" : "encrypted with another key"
        return then(.failure(StoreFailure("its record is \(what): run \"authproxy login \(sealed.name.credential)\"")))
      }
      keep(reading) { [self] result in
        switch result {
        case .failure(let failure): then(.failure(failure))
        case .success(let kept):
          // Older than all that a process knows, so that each puts back what it has.
          let record = TokenRecord(binding: sealed.name.binding, generation: 0, refreshToken: nil)
          replace(reading, by: record, conflicts, .replaced(kept: kept), then)
        }
      }
    }
  }

  private func replace(
    _ reading: SharedReading, by record: TokenRecord, _ conflicts: Int, _ clearance: CommandStore.Clearance,
    _ then: @escaping Cleared
  ) {
    var record = record
    record.lastError = .clearance(at: reading.clock / 1_000)
    ask(.write(record, replacing: reading.version, .note)) { [self] answer in
      switch answer {
      case .stored: then(.success(clearance))
      case .conflict(let newer) where conflicts < Self.mostConflicts: clear(newer, conflicts: conflicts + 1, then)
      default: then(.failure(StoreFailure(Self.failure(of: answer))))
      }
    }
  }

  /// Gives what is in the place of the record a second name in the store: others may have its key.
  private func keep(_ reading: SharedReading, then: @escaping (Result<String, StoreFailure>) -> Void) {
    let name = "\(sealed.name.key).unreadable-\(reading.clock)"
    let bytes = reading.version?.bytes ?? []
    let command = SealedRecord.Command.compareAndSet(
      key: name, expected: nil, new: bytes, expiresAfter: nil, awaitsReplicas: false)
    engine.perform(command) { reply in
      switch reply {
      case .stored: then(.success(name))
      case .conflict(let found, _) where found == bytes: then(.success(name))
      case .failed(let why): then(.failure(StoreFailure("what is in the place of its record cannot be kept: \(why)")))
      case .conflict, .value: then(.failure(StoreFailure("what is in the place of its record cannot be kept")))
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

extension SharedReading {
  fileprivate var isUnreadable: Bool { content == .unknownKey || content == .damaged }
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
