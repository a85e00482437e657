/// What an `OAuth2Machine` asks of a store, and the answers. The machine's owner passes requests to a lane, and answers back.
/// The requests of one credential are performed in order.
public enum TokenStoreRequest: Sendable, Hashable {
  /// Take this credential's lock without waiting, and read its record.
  case lock
  /// Replace the record durably, under the lock.
  case write(TokenRecord)
  /// Release the lock. The answer does not matter.
  case release
  /// Read the record without its lock, unless nothing in the store has changed since `seen` with this mark. Cheap enough for
  /// once a second. Never changes the store.
  case look(since: TokenStoreMark?)
}

/// Identifies a state of a store: equal marks mean equal content.
public struct TokenStoreMark: Sendable, Hashable {
  let values: [Int64]
}

public enum TokenStoreAnswer: Sendable, Hashable {
  /// `setAside`: there was an unreadable record; the store kept it separately.
  case locked(TokenRecord?, setAside: Bool = false)
  /// Another process, or an older configuration of this one, refreshes now.
  case busy
  case written
  case released
  /// A readable record, or nil.
  case seen(TokenRecord?, TokenStoreMark)
  case unchanged
  /// Nothing changed. The text contains no secret.
  case failed(String)
  /// There is a record, but it is encrypted with another key. The configured first token must not be used instead.
  case wrongKey
}

/// Calls may block; run the file store's in the lane for files.
public protocol TokenStore: AnyObject, Sendable {
  /// Other processes can change its records.
  var isShared: Bool { get }
  /// - Parameter credential: its name in the configuration.
  func perform(_ request: TokenStoreRequest, for credential: String) -> TokenStoreAnswer
}
