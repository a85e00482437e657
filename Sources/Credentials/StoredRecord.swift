/// Why a token store could not be read or written. The text has its path and no secret.
public struct TokenStoreFailure: Error, Sendable, Hashable, CustomStringConvertible {
  public let description: String
  init(_ description: String) { self.description = description }
}

/// One credential's part of a token store, as `tokens` lists it.
public struct StoredRecord: Sendable, Hashable {
  public enum Content: Sendable, Hashable {
    case record(TokenRecord)
    /// Encrypted with another key.
    case wrongKey
    /// The next process that takes the credential's lock sets it aside.
    case damaged
  }
  /// Of the credential.
  public var name: String
  public var content: Content
  public init(name: String, content: Content) {
    self.name = name
    self.content = content
  }

  init(name: String, _ reading: TokenFile.Reading) {
    self.name = name
    content =
      switch reading {
      case .record(let record): .record(record)
      case .wrongKey: .wrongKey
      case .absent, .damaged: .damaged
      }
  }
}

/// What a store knows about the login of one credential.
public enum LoginStanding: String, Sendable, Hashable {
  case loggedIn = "logged in"
  case loggedOut = "logged out"
  case never
  /// The server has refused the refresh token.
  case refused
  /// The record is of another issuer, token_url, client_id, first refresh token or DPoP key.
  case otherConfiguration = "other configuration"
  case wrongKey = "wrong key"

  /// - Parameters:
  ///   - content: nil if the store has no record of the credential.
  ///   - binding: of the configuration; nil if it is not known.
  public init(_ content: StoredRecord.Content?, binding: [UInt8]?) {
    switch content {
    case nil, .damaged: self = .never
    case .wrongKey: self = .wrongKey
    case .record(let record):
      if let binding, binding != record.binding {
        self = .otherConfiguration
      } else if record.tombstone != nil {
        self = .loggedOut
      } else {
        self = record.lastError?.isFinal == true ? .refused : .loggedIn
      }
    }
  }
}
