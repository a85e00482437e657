@testable import Credentials

/// A store of one record, with compare-and-set, fail-over to an older state, and a clock of its own.
struct ModelStore {
  struct Value {
    let record: TokenRecord?
    let version: Int
    let process: Int
    let purpose: SharedOperation.Purpose?
    let time: Int64
  }

  /// Unix milliseconds at the simulation's time 0.
  static let epoch: Int64 = 1_800_000_000_000

  private(set) var history: [Value]
  /// All that ever stood, also those that a fail-over has lost.
  private var claims: [Value] = []
  /// Versions that a fail-over has lost.
  private(set) var lost: Set<Int> = []
  private var versions = 0
  /// An older record, or another one of the same generation, was written over a newer one.
  private(set) var wentBack = false

  init(_ record: TokenRecord?) {
    history = [Value(record: record, version: 0, process: -1, purpose: nil, time: 0)]
  }

  var current: Value { history[history.count - 1] }

  func reading(at time: Int64) -> SharedReading { Self.reading(current, at: time) }

  static func reading(_ value: Value, at time: Int64) -> SharedReading {
    SharedReading(
      value.record.map { .record($0) } ?? .absent, version: value.record.map { _ in version(value.version) },
      clock: epoch + time)
  }

  private static func version(_ number: Int) -> RecordVersion {
    RecordVersion([UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)])
  }

  /// - Parameter isBlind: without comparing.
  mutating func perform(
    _ operation: SharedOperation, of process: Int, at time: Int64, isBlind: Bool = false
  ) -> (answer: SharedAnswer, hasChanged: Bool) {
    guard case .write(let record, let expected, let purpose) = operation else { return (.read(reading(at: time)), false) }
    let old = current
    guard isBlind || expected == old.record.map({ _ in Self.version(old.version) }) else {
      return (.conflict(reading(at: time)), false)
    }
    if let known = old.record {
      let isSame = known.generation == record.generation && known.refreshToken == record.refreshToken
      if !isSame, record.generation <= known.generation { wentBack = true }
    }
    versions += 1
    let value = Value(record: record, version: versions, process: process, purpose: purpose, time: time)
    history.append(value)
    if purpose == .claim { claims.append(value) }
    return (.stored(Self.version(versions), isAcknowledged: true, clock: Self.epoch + time), true)
  }

  mutating func failOver(losing writes: Int) {
    for _ in 0..<min(writes, history.count - 1) { lost.insert(history.removeLast().version) }
  }

  mutating func flush(at time: Int64) {
    lost.formUnion(history.map(\.version))
    versions += 1
    history = [Value(record: nil, version: versions, process: -1, purpose: nil, time: time)]
  }

  /// The claim of a process that came last.
  func claim(of process: Int) -> Value? { claims.last { $0.process == process } }
}
