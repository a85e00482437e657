import Glibc

/// A credential's lock in a store, and the record found under it: what `login` and `logout` hold while they write. The lock
/// ends with `release`, with each write, and with the process.
public struct LockedRecord: Sendable {
  /// Tokens of failed logouts that a login keeps.
  private static let mostUnrevoked = 16

  private let store: any TokenStore
  private let credential: String
  private let policy: OAuth2Policy
  /// Whatever configuration it belongs to.
  private let found: TokenRecord?
  /// The store had an unreadable record, and kept it separately.
  public let setAside: Bool

  /// Blocks until the lock is free, as after a refresh in flight, at most for `milliseconds`.
  public init(
    of credential: String, policy: OAuth2Policy, in store: any TokenStore, within milliseconds: Int64
  ) throws(TokenStoreFailure) {
    var left = milliseconds
    while true {
      switch store.perform(.read, for: credential) {
      case .record(let record, let setAside):
        self.store = store
        self.credential = credential
        self.policy = policy
        self.setAside = setAside
        found = record
        return
      case .busy(let holder):
        guard left > 0 else {
          throw TokenStoreFailure("\(holder ?? "another process") holds the lock of credential \(credential)")
        }
        usleep(useconds_t(store.lockPause * 1_000))
        left -= store.lockPause
      case .wrongKey: throw TokenStoreFailure("the record of credential \(credential) is encrypted with another key")
      case .damaged: throw TokenStoreFailure("the record of credential \(credential) is damaged")
      case .failed(let why), .unreachable(let why): throw TokenStoreFailure(why)
      case .claimed, .saved, .superseded, .released, .seen, .unchanged:
        throw TokenStoreFailure("the token store gave an answer to another question")
      }
    }
  }

  /// nil if there is none of this configuration; it may be a tombstone.
  public var record: TokenRecord? { found.flatMap { $0.belongs(to: policy) ? $0 : nil } }

  /// Of the only person who may log in without `--other-account`: who is logged in, or was before a login that began with a
  /// logout; nil if nobody is, or if the server did not say.
  public var subject: String? { record?.tombstone?.subject ?? record?.login?.subject }

  /// Of the record, whatever configuration it belongs to; 0 without one.
  public var generation: UInt64 { found?.generation ?? 0 }

  /// What a logout finds.
  public enum Standing: Sendable, Hashable {
    /// A login, or the grant refresh_token with its configured token.
    case loggedIn
    case loggedOut
    /// No record, which says nothing about running processes: they may have tokens of a file that was deleted.
    case unknown
    /// A record that this configuration's logout must not touch.
    case otherConfiguration
  }

  public var standing: Standing {
    if let record { return record.tombstone == nil ? .loggedIn : .loggedOut }
    if configuredToken != nil { return .loggedIn }
    return found == nil ? .unknown : .otherConfiguration
  }

  /// What a logout revokes: the tokens in use, or what an earlier logout left.
  public var revocableTokens: [RevocableToken] {
    // What `tokens --clear` leaves in the place of an unreadable record has no tokens yet.
    if let record, record.generation > 0 || record.refreshToken != nil { return record.revocableTokens }
    return configuredToken.map { [RevocableToken($0, hint: .refreshToken)] } ?? []
  }

  private var configuredToken: Secret? {
    if case .refreshToken(let first) = policy.grant { first } else { nil }
  }

  /// Writes the login durably with the next generation, and releases the lock.
  /// - Returns: the generation.
  @discardableResult
  public func write(_ login: CompletedLogin) throws(TokenStoreFailure) -> UInt64 {
    let next = nextGeneration(at: login.loggedInAt)
    var written = TokenRecord(login, binding: TokenBinding.digest(of: policy), generation: next)
    written.login?.unrevoked = Array((record?.unrevoked ?? []).suffix(Self.mostUnrevoked))
    written.bind(to: policy.boundThumbprint)
    try write(written)
    return next
  }

  /// Logs out: writes a tombstone with the next generation, which no process replaces with an older record, and releases the
  /// lock.
  /// - Parameters:
  ///   - wall: Unix seconds.
  ///   - unrevoked: tokens that the next logout revokes. Empty for `--local`.
  ///   - subject: of the only person who may log in next; nil: anybody.
  /// - Returns: the generation.
  @discardableResult
  public func writeTombstone(
    at wall: Int64, unrevoked: [RevocableToken], subject: String? = nil
  ) throws(TokenStoreFailure) -> UInt64 {
    // A file that was deleted may have had a login of the same second.
    let next = nextGeneration(at: wall) + (found == nil ? 1 : 0)
    var record = TokenRecord(binding: TokenBinding.digest(of: policy), generation: next, refreshToken: nil)
    record.tombstone = TokenRecord.Tombstone(loggedOutAt: wall, unrevoked: unrevoked, subject: subject)
    try write(record)
    return record.generation
  }

  /// Leaves only these tokens in the tombstone of this generation, and releases the lock. Changes nothing if somebody has
  /// logged in or out since.
  public func keep(unrevoked: [RevocableToken], inTombstone generation: UInt64) throws(TokenStoreFailure) {
    guard var record, record.tombstone != nil, record.generation == generation else { return release() }
    record.tombstone?.unrevoked = unrevoked
    try write(record)
  }

  public func release() { _ = store.perform(.release, for: credential) }

  /// Refreshes raise it by one. The time makes a login or logout newer than what a running process remembers, even if the
  /// file was deleted or restored from a backup.
  private func nextGeneration(at wall: Int64) -> UInt64 { max(generation + 1, UInt64(clamping: wall)) }

  private func write(_ record: TokenRecord) throws(TokenStoreFailure) {
    defer { release() }
    switch store.perform(.save(record), for: credential) {
    case .saved: return
    case .failed(let why), .unreachable(let why): throw TokenStoreFailure(why)
    case .superseded: throw TokenStoreFailure("somebody else has logged in or out meanwhile; run the command again")
    default: throw TokenStoreFailure("the token store gave an answer to another question")
    }
  }
}
