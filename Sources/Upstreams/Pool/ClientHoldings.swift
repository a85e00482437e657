import EventIO

/// What one app connection has of the origins' connections: those that belong to it alone, and its client's share of the origin that
/// it asked last. Owned by the app connection.
public final class ClientHoldings {
  /// NTLM or Negotiate was spoken over them (RFC 4559 section 6): they answer for whoever authenticated there, and so serve no other
  /// client connection, whatever stands in line. They end with it.
  private var bound: [UpstreamConnection] = []
  private(set) var share: OriginShare?
  private(set) var account: ClientAccount?

  public init() {}

  var isEmpty: Bool { bound.isEmpty }
  func add(_ connection: UpstreamConnection) { bound.append(connection) }
  func remove(_ connection: UpstreamConnection) { bound.removeAll { $0 === connection } }
  func contains(_ connection: UpstreamConnection) -> Bool { bound.contains { $0 === connection } }

  /// One to that origin that rests.
  func resting(in pool: OriginPool) -> UpstreamConnection? { bound.first { $0.pool === pool && $0.phase == .idle } }

  /// The account of the client: the one of the last request as a rule, as a connection seldom changes its name.
  /// - Parameter name: nil: anonymous.
  public func account(named name: String?, at peer: Address, in accounts: ClientAccounts) -> ClientAccount {
    if let account, account.name == name { return account }
    let found = accounts.account(named: name, at: peer)
    account = found
    return found
  }

  /// `share` becomes that of this account of this origin's connections. A client connection asks the same origin again as a rule: no
  /// table is looked at then.
  func takeShare(of limit: OriginLimit, for account: ClientAccount) {
    if let share, share.belongs(to: limit), share.account === account { return }
    share = limit.share(for: account)
  }

  /// The app connection serves nothing more. A connection of an exchange under way ends with that.
  public func end() {
    guard !bound.isEmpty else { return }
    let ending = bound
    bound = []
    for connection in ending where connection.phase == .idle { connection.close() }
  }
}
