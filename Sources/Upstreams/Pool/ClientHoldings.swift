import EventIO

/// The upstream connections that belong to one app connection alone, and its client's share of the origin that it asked last.
/// The app connection owns it.
public final class ClientHoldings {
  /// Connections over which the app spoke NTLM or Negotiate (RFC 4559 section 6). The origin has authenticated them as one
  /// user, so they serve no other app connection, even if requests wait. They close with the app connection.
  private var bound: [UpstreamConnection] = []
  private(set) var share: OriginShare?
  private(set) var account: ClientAccount?

  public init() {}

  var isEmpty: Bool { bound.isEmpty }
  func add(_ connection: UpstreamConnection) { bound.append(connection) }
  func remove(_ connection: UpstreamConnection) { bound.removeAll { $0 === connection } }
  func contains(_ connection: UpstreamConnection) -> Bool { bound.contains { $0 === connection } }

  /// An idle connection of this app connection to the pool's origin; nil: none.
  func resting(in pool: OriginPool) -> UpstreamConnection? {
    bound.first { $0.isReserved && $0.pool === pool && $0.phase == .idle }
      ?? bound.first { $0.pool === pool && $0.phase == .idle }
  }

  /// The account of the client. It is cached, because the name rarely changes between requests of one connection.
  /// - Parameter name: nil: anonymous.
  public func account(named name: String?, at peer: Address, in accounts: ClientAccounts) -> ClientAccount {
    if let account, account.name == name { return account }
    let found = accounts.account(named: name, at: peer)
    account = found
    return found
  }

  /// Sets `share` to the account's share of this origin's connections. An app connection usually asks the same origin again;
  /// then no table is searched.
  func takeShare(of limit: OriginLimit, for account: ClientAccount) {
    if let share, share.belongs(to: limit), share.account === account { return }
    share = limit.share(for: account)
  }

  /// The app connection serves no more requests. Its idle connections close now, the others when their exchange ends.
  public func end() {
    guard !bound.isEmpty else { return }
    let ending = bound
    bound = []
    for connection in ending where connection.phase == .idle { connection.close() }
  }
}
