/// Names a reader of a fetch, whatever loop it lives on.
public struct ReaderID: Sendable, Hashable {
  public let value: UInt64
  public init(_ value: UInt64) { self.value = value }
}

/// What the origin's head means for those who wait.
public enum FetchVerdict: Sendable, Hashable {
  /// It may be stored. `length`: bytes of the body, if known.
  case store(length: Int?)
  /// It only lacks freshness, and the entry says `collapse: all`: those who wait share it, and it is not stored.
  case share(length: Int?)
  /// It is for the request alone that fetched it.
  case release
  /// A 304: the stored answer is renewed, and serves all who wait.
  case renewed
  /// A 304 after which the answer must not be stored, or serve others: it sets a cookie, or says no-store or private. The renewed answer is
  /// for the request alone that fetched it.
  case renewedForOne
}

/// What a reader is told. `read` may be followed by one of the last three; all others are the end.
public enum ReaderMessage: Sendable, Hashable {
  /// The head is there: read the body from its beginning, at your own pace.
  case read
  /// The stored answer, now renewed, is yours.
  case answer
  /// Only for the request that fetches: the exchange is yours, and nobody else reads it.
  case relay
  /// Send your request by yourself. Its answer may be stored.
  case goAlone
  /// The answer is not for you: look into the store again, where others like you fetch.
  case lookAgain
  /// Broken before you had a byte: look again, once.
  case askAgain
  /// The fetch's error is your answer.
  case failed
  /// Break off: the body is broken, or you are too slow for the others.
  case cut
}

/// What the owner of a fetch does next, in the order of the effects.
public struct FetchStep: Sendable {
  public struct Effects: OptionSet, Sendable, Hashable {
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }
    /// The body has ended as it should: `BodyWriter.finish`.
    public static let complete = Effects(rawValue: 1)
    /// The body is broken: `BodyWriter.breakOff`.
    public static let broken = Effects(rawValue: 2)
    /// Link the answer into the store.
    public static let store = Effects(rawValue: 4)
    /// The body is not stored: `BodyWriter.release`.
    public static let discard = Effects(rawValue: 8)
    /// Nobody joins any more: `CacheStore.leave`.
    public static let detach = Effects(rawValue: 16)
    /// `CacheStore.stopCollapsing`, for `FetchMachine.uncollapsed`.
    public static let stopCollapsing = Effects(rawValue: 32)
    /// Read no more from the origin.
    public static let pause = Effects(rawValue: 64)
    public static let resume = Effects(rawValue: 128)
    /// End the exchange with the origin.
    public static let cancel = Effects(rawValue: 256)
    /// The machine does nothing more.
    public static let finished = Effects(rawValue: 512)
  }

  public internal(set) var effects: Effects = []
  public internal(set) var messages: [(reader: ReaderID, message: ReaderMessage)] = []
  /// When to call `timer`, by the steady clock; nil: never.
  public internal(set) var deadline: Int64?
}
