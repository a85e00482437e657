/// A process refreshes the token of a shared record. The others leave the refresh token alone until the claim is old.
public struct TokenClaim: Sendable, Hashable {
  /// `name@host` of the process, as printable text for people.
  public let holder: String
  /// Random, per process: names and hosts repeat.
  public let process: UInt64
  /// Grows with each claim of the process, so that no claim looks like an earlier one.
  public let number: UInt64
  /// Milliseconds. Whoever has seen the claim unchanged for so long may take it over. It outlives the holder's token request by
  /// construction, without renewal.
  public let duration: Int64
  /// Unix seconds by the store's clock. For people: nobody compares it with a clock.
  public let since: Int64

  /// Milliseconds; a longer claim in a record is damage.
  static let longest: Int64 = 86_400_000

  public init(holder: String, process: UInt64, number: UInt64, duration: Int64, since: Int64) {
    self.holder = holder
    self.process = process
    self.number = number
    self.duration = duration
    self.since = since
  }

  /// The same claim, whatever its text.
  func isSame(as other: TokenClaim?) -> Bool { process == other?.process && number == other?.number }
}

/// The token server has failed: no process asks it before `until`.
public struct SharedBackOff: Sendable, Hashable {
  /// Unix milliseconds by the store's clock.
  public var until: Int64
  /// Failures in a row, of all processes.
  public var count: Int
  /// Bounded, printable and without secrets.
  public var text: String
  public init(until: Int64, count: Int, text: String) {
    self.until = until
    self.count = count
    self.text = text
  }
}

/// A refresh that a refusal caused. All processes together make `refresh_window` of them.
public struct RefusalStart: Sendable, Hashable {
  /// Unix milliseconds by the store's clock.
  public var at: Int64
  /// Name of the client; empty for an anonymous one.
  public var client: String
  public var inVain: Bool
  public init(at: Int64, client: String, inVain: Bool = false) {
    self.at = at
    self.client = client
    self.inVain = inVain
  }
}
