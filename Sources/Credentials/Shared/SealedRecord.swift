import Crypto

/// The border between a `SharedRecord` and an engine that keeps bytes: seals what is written, opens what is read. A value: the engine gets
/// commands, and its replies become answers.
public struct SealedRecord: Sendable, Hashable {
  /// What an engine does with one key.
  public enum Command: Sendable, Hashable {
    case read(key: String)
    /// Replace the value if it is `expected`, nil being none. `isClaim`: wait until enough replicas have it.
    /// - Parameter expiresAfter: milliseconds; nil: never.
    case compareAndSet(key: String, expected: [UInt8]?, new: [UInt8], expiresAfter: Int64?, awaitsReplicas: Bool)
  }

  /// What an engine answers. `clock`: Unix milliseconds by the store's clock.
  public enum Reply: Sendable, Hashable {
    case value([UInt8]?, clock: Int64)
    case stored(acknowledgements: Int, clock: Int64)
    case conflict([UInt8]?, clock: Int64)
    /// Whether the command was done is not known. Without secrets.
    case failed(String)
  }

  private let seal: RecordSeal
  public let name: RecordName
  /// Acknowledgements without which a claim is not acted on.
  private let replicas: Int
  /// Records without a refresh token can be had again, and end with their token.
  private let expires: Bool

  /// - Parameter grant: of the credential.
  public init(_ seal: RecordSeal, as name: RecordName, replicas: Int, of grant: OAuth2Policy.Grant) {
    self.seal = seal
    self.name = name
    self.replicas = replicas
    expires = !grant.isStored
  }

  /// - Throws: if OpenSSL fails; nothing is asked then.
  public func command(for operation: SharedOperation, clock: Int64) throws(OpenSSLError) -> Command {
    switch operation {
    case .read: return .read(key: name.key)
    case .write(let record, let version, let purpose):
      let awaits = replicas > 0 && (purpose == .claim || purpose == .save || purpose == .putBack)
      return .compareAndSet(
        key: name.key, expected: version?.bytes, new: try seal.seal(record, as: name), expiresAfter: life(of: record, clock),
        awaitsReplicas: awaits)
    }
  }

  public func answer(_ reply: Reply, to command: Command) -> SharedAnswer {
    switch (command, reply) {
    case (.read, .value(let value, let clock)): return .read(reading(value, clock))
    case (.compareAndSet(_, _, let new, _, let awaits), .stored(let acknowledgements, let clock)):
      return .stored(RecordVersion(new), isAcknowledged: !awaits || acknowledgements >= replicas, clock: clock)
    case (.compareAndSet, .conflict(let value, let clock)): return .conflict(reading(value, clock))
    case (_, .failed(let why)): return .failed(why)
    case (.read, .stored), (.read, .conflict), (.compareAndSet, .value):
      return .failed("the token store gave an answer to another question")
    }
  }

  private func reading(_ value: [UInt8]?, _ clock: Int64) -> SharedReading {
    guard let value else { return SharedReading(.absent, version: nil, clock: clock) }
    let content: SharedReading.Content =
      switch seal.open(value, as: name) {
      case .record(let record): .record(record)
      case .unknownKey: .unknownKey
      case .damaged: .damaged
      }
    return SharedReading(content, version: RecordVersion(value), clock: clock)
  }

  /// Milliseconds. A day more than the token: claims, back-offs and their reasons are of use after it.
  private func life(of record: TokenRecord, _ clock: Int64) -> Int64? {
    guard expires else { return nil }
    return max(0, min(record.expiresAt - clock / 1_000, record.lifetime)) * 1_000 + 86_400_000
  }
}
