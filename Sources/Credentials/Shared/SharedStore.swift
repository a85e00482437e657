/// What a store that many processes share offers for one record: read, compare-and-set, and a notification that it has changed. Values
/// only: sealing and the wire are the engine's part.

/// Identifies a state of a record: of Redis the sealed bytes, of Kubernetes the resourceVersion. A version never comes back, as each
/// sealing has its own nonce.
public struct RecordVersion: Sendable, Hashable {
  public let bytes: [UInt8]
  public init(_ bytes: [UInt8]) { self.bytes = bytes }
}

public struct SharedReading: Sendable, Hashable {
  public enum Content: Sendable, Hashable {
    case absent
    case record(TokenRecord)
    /// Sealed with a key that this process does not have.
    case unknownKey
    case damaged
  }
  public var content: Content
  /// nil: absent.
  public var version: RecordVersion?
  /// Unix milliseconds by the store's clock.
  public var clock: Int64

  public init(_ content: Content, version: RecordVersion?, clock: Int64) {
    self.content = content
    self.version = version
    self.clock = clock
  }

  public var record: TokenRecord? { if case .record(let record) = content { record } else { nil } }
}

public enum SharedOperation: Sendable, Hashable {
  /// Why a record is written, for metrics and logs.
  public enum Purpose: String, Sendable, Hashable, CaseIterable {
    case claim
    case save
    /// The outcome of a refresh that brought no token.
    case note
    /// Gives a claim up with which nothing was done.
    case withdraw
    case putBack = "put_back"
  }
  case read
  /// Replace the record if this version stands, nil being none. `claim` is acknowledged by replicas, where the configuration says so.
  case write(TokenRecord, replacing: RecordVersion?, Purpose)
}

/// The engine gives exactly one answer to each operation.
public enum SharedAnswer: Sendable, Hashable {
  case read(SharedReading)
  /// - Parameter isAcknowledged: enough replicas have it.
  case stored(RecordVersion, isAcknowledged: Bool, clock: Int64)
  /// Nothing was written: this stands.
  case conflict(SharedReading)
  /// Whether a write was done is not known. The text has the reason and no secret.
  case failed(String)
}

extension SharedAnswer {
  /// Unix milliseconds.
  var clock: Int64? {
    switch self {
    case .read(let reading), .conflict(let reading): reading.clock
    case .stored(_, _, let clock): clock
    case .failed: nil
    }
  }

  /// Nobody knows when between question and answer the store's clock was read. The later it is thought to be now, the earlier tokens
  /// expire.
  func aged(by milliseconds: Int64) -> SharedAnswer {
    switch self {
    case .read(var reading):
      reading.clock += milliseconds
      return .read(reading)
    case .conflict(var reading):
      reading.clock += milliseconds
      return .conflict(reading)
    case .stored(let version, let isAcknowledged, let clock):
      return .stored(version, isAcknowledged: isAcknowledged, clock: clock + milliseconds)
    case .failed: return self
    }
  }
}
