/// What an `OAuth2Machine` asks of a store, and what it is told. A store is spoken to by message: whoever owns the machine
/// carries the request to where it may take its time, and the answer back. Requests of one credential are carried out in
/// their order.
public enum TokenStoreRequest: Sendable, Hashable {
  /// Take this credential's lock without waiting, and read its record.
  case lock
  /// Replace the record, durably, under the lock.
  case write(TokenRecord)
  /// Give the lock back. Its answer is of no interest.
  case release
}

public enum TokenStoreAnswer: Sendable, Hashable {
  /// `setAside`: there was a record, but nobody can make sense of it; it was kept beside the others.
  case locked(TokenRecord?, setAside: Bool = false)
  /// Another process, or an older configuration of this one, is refreshing.
  case busy
  case written
  case released
  /// Nothing was changed. The text holds no secret.
  case failed(String)
  /// The record is there but sealed with another key: no first token must be tried in its stead.
  case wrongKey
}

/// Calls may block; the file store's belong into the lane for files.
public protocol TokenStore: Sendable {
  /// - Parameter credential: its name in the configuration.
  func perform(_ request: TokenStoreRequest, for credential: String) -> TokenStoreAnswer
}
