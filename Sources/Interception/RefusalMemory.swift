/// Decides which handshakes that apps gave up are told in the log, and what with: the first of a client and host, then one line a minute
/// with a count, and at most `linesAnInterval` in all; apps that close without an alert only from the third in a row on, as closing alone proves nothing.
///
/// A value without clock or I/O. Bounded: of too many clients and hosts the ones that were told longest ago are forgotten.
public struct RefusalMemory {
  public enum Outcome: Sendable, Hashable {
    case served
    /// By an alert about the certificate.
    case refused
    /// Without an alert: during the handshake, or after it without a byte.
    case closed
  }

  /// What is worth a line.
  public struct Report: Sendable, Hashable {
    /// How many handshakes of this client for this host the line stands for, this one included.
    public let count: Int
  }

  private struct Key: Hashable {
    let client: String
    let host: String
  }

  private struct State {
    var closedInARow = 0
    /// Not told yet.
    var silent = 0
    /// Seconds; nil: never.
    var told: Int64?
    var last: Int64
  }

  /// Seconds between two lines about one client and host.
  static let interval: Int64 = 60
  /// Lines in one interval about all clients and hosts: under a wildcard a client can invent hosts.
  static let linesAnInterval = 60
  /// Of these, about one client: it silences no other.
  static let linesOfAClient = 10
  /// Closings in a row from which on they are told.
  static let patience = 3

  private let capacity: Int
  private var states: [Key: State] = [:]
  private var intervalBegan: Int64 = 0
  /// How many were told in this interval, by client.
  private var lines: [String: Int] = [:]
  private var linesLeft = linesAnInterval

  /// - Parameter capacity: clients and hosts that are remembered.
  public init(capacity: Int = 1000) {
    precondition(capacity > 0)
    self.capacity = capacity
  }

  /// How many clients and hosts are remembered.
  public var count: Int { states.count }

  /// - Parameters:
  ///   - client: a name, or an address.
  ///   - now: seconds, by any clock that does not go back.
  /// - Returns: nil: no line.
  public mutating func note(_ outcome: Outcome, client: String, host: String, at now: Int64) -> Report? {
    let key = Key(client: client, host: host)
    guard outcome != .served else {
      // What was told stays known, or an app that fails half of the time would be told each time.
      if states[key]?.told == nil { states[key] = nil } else { states[key]?.closedInARow = 0 }
      return nil
    }
    if states[key] == nil, states.count >= capacity { forget() }
    var state = states[key] ?? State(last: now)
    defer { states[key] = state }
    state.last = now
    state.silent += 1
    if outcome == .closed {
      state.closedInARow += 1
      guard state.closedInARow >= Self.patience else { return nil }
    } else {
      state.closedInARow = 0
    }
    if let told = state.told, now - told < Self.interval { return nil }
    if now - intervalBegan >= Self.interval { (intervalBegan, linesLeft, lines) = (now, Self.linesAnInterval, [:]) }
    guard linesLeft > 0, lines[client, default: 0] < Self.linesOfAClient else { return nil }
    linesLeft -= 1
    lines[client, default: 0] += 1
    state.told = now
    defer { state.silent = 0 }
    return Report(count: state.silent)
  }

  /// Makes room for one in four at once, so that a flood of names costs little for each.
  private mutating func forget() {
    let ages = states.values.map(\.last).sorted()
    let limit = ages[min(ages.count - 1, max(0, capacity / 4))]
    states = states.filter { $0.value.last > limit }
  }
}
