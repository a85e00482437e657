/// What happens in one run of the simulation. Equal schedules run equally: the seed is all that is random.
struct Schedule: Sendable, CustomStringConvertible {
  enum Fault: String, Sendable, CaseIterable {
    case none
    /// The process ends; a new one starts later.
    case kill
    /// The process loses the store, and has it back later.
    case cut
    /// The process does nothing for a while, and its clocks go on.
    case freeze
    /// The store loses its last write, and every connection; a process that knows nothing starts.
    case lostWrite
    /// The same with the last two.
    case lostWrites
    /// The store forgets all, and no connection ends. A process that knows nothing starts, and all others meet a 401, at once.
    case flush
    /// The store is away for all.
    case down
  }

  enum Server: String, Sendable, CaseIterable {
    /// A second use of a refresh token ends the whole login.
    case detectsReuse
    /// It brings another token instead.
    case hasGrace
  }

  var seed: UInt64
  var processes = 3
  var server = Server.detectsReuse
  var fault = Fault.none
  /// The fault strikes before this event, and the process that it is for; or `delivery`.
  var step = 0
  /// Instead of a step: when a process gets a new token, before it is saved.
  static let delivery = -1
  /// Milliseconds until it is over: less than a claim holds, or more.
  var duration: Int64 = 1_000
  /// Events count from the 401s on: the fault meets the refresh that they cause.
  var isLate = false
  /// Strikes later than the first: who takes over or puts back is itself killed, cut off, frozen or forgotten.
  var second: Second?

  struct Second: Sendable {
    enum Moment: String, Sendable, CaseIterable { case takenOver, putBack }
    var fault: Fault
    var moment: Moment
    /// Events after the moment.
    var delay: Int
  }

  /// There is no record yet: the configured first token is tried.
  var startsEmpty = false
  /// Of a hundred requests to the token server so many get lost, and some notifications.
  var losses: Int64 = 0
  /// Long after the refresh, all processes meet a 401 at once.
  var hasRefusals = false

  var description: String {
    """
    seed \(seed), \(processes) processes, \(server.rawValue), \(fault.rawValue) at step \(step) for \(duration) ms\
    \(isLate ? " after the 401s" : "")\(second.map { ", \($0.fault.rawValue) \($0.delay) after \($0.moment.rawValue)" } ?? "")\
    \(startsEmpty ? ", no record" : "")\(losses > 0 ? ", \(losses) % losses" : "")\(hasRefusals ? ", 401s" : "")
    """
  }
}

/// SplitMix64.
struct SeededRandom: RandomNumberGenerator {
  private var state: UInt64
  init(_ seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var value = state
    value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
    value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
    return value ^ (value >> 31)
  }

  /// Modulo: its bias does not matter here, and it is fast in debug builds.
  mutating func within(_ range: ClosedRange<Int64>) -> Int64 {
    range.lowerBound + Int64(next() % UInt64(range.upperBound - range.lowerBound + 1))
  }

  mutating func happens(in hundred: Int64) -> Bool { within(0...99) < hundred }
}
