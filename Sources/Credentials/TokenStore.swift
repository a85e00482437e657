/// What an `OAuth2Machine` asks of a store, and the answers. The machine's owner passes requests to a lane, and answers back.
/// The requests of one credential are performed in order.
public enum TokenStoreRequest: Sendable, Hashable {
  /// Read the record in order to claim it. A file is locked with it, without waiting.
  case read
  /// Write the record in whose name the next token request is made, if what was read still stands. The store adds what it needs to
  /// keep other processes from the refresh token.
  case claim(TokenRecord)
  /// Read again under the claim: has another process been faster?
  case confirm
  /// Replace the record durably by one of a new generation. A generation that stands is never replaced by the same or an older one.
  case save(TokenRecord)
  /// The outcome of a token request that brought no token. Gives up the claim.
  case note(TokenRecord)
  /// Give up what was read or claimed: nothing was done with it. The answer does not matter.
  case release
  /// Read the record without any claim, unless nothing in the store has changed since `seen` with this mark. Cheap enough for
  /// once a second. Never changes the store.
  case look(since: TokenStoreMark?)
  /// A shared store has lost this record, or has an older one.
  case putBack(TokenRecord)
}

/// Identifies a state of a store: equal marks mean equal content.
public struct TokenStoreMark: Sendable, Hashable {
  let values: [Int64]
}

public enum TokenStoreAnswer: Sendable, Hashable {
  /// To `read`: it may be claimed; to `confirm`: it stands; to `claim`: another process has changed it, and nothing was written.
  /// `setAside`: there was an unreadable record; the store kept it separately.
  case record(TokenRecord?, setAside: Bool = false)
  /// Another process, or an older configuration of this one, refreshes now. It has a name in a shared store.
  case busy(String? = nil)
  /// - Parameter since: when other processes may have begun to wait for the claim's end; nil: they wait for the lock's.
  case claimed(since: Int64? = nil)
  case saved
  /// Nothing was saved, as this record is as new or newer.
  case superseded(TokenRecord)
  case released
  /// A readable record, or nil.
  case seen(TokenRecord?, TokenStoreMark)
  case unchanged
  /// Nothing changed. The text contains no secret.
  case failed(String)
  /// A shared store cannot be reached; whether it has done what it was asked is not known. The text contains no secret.
  case unreachable(String)
  /// There is a record, but it is encrypted with another key. The configured first token must not be used instead.
  case wrongKey
  /// There is something else in the place of a record. The same holds.
  case damaged
}

/// Calls may block; run the file store's in the lane for files.
public protocol TokenStore: AnyObject, Sendable {
  /// Other processes can change its records.
  var isShared: Bool { get }
  /// Milliseconds between attempts to get a credential's lock.
  var lockPause: Int64 { get }
  /// - Parameter credential: its name in the configuration.
  func perform(_ request: TokenStoreRequest, for credential: String) -> TokenStoreAnswer
}

extension TokenStore {
  public var lockPause: Int64 { 20 }
}
