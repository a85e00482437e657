import EventIO
import Routing
import Synchronization

/// One client in the whole process: how many of its requests are in flight, whatever loop they are on and whatever
/// configuration they began with. Owned by its connections and requests; a client without any is
/// forgotten in time.
final class ClientAccount: Sendable {
  /// By name where it has one, else by address; all who come through unix sockets are one.
  enum Key: Hashable, Sendable {
    case name(String)
    case address(high: UInt64, low: UInt64)
    case unix
  }

  let name: String?
  private let requests = Atomic<Int>(0)

  init(name: String?) { self.name = name }

  /// Counts one more request.
  /// - Parameter limit: `max_requests` of the configuration that the request began with; nil = none.
  /// - Returns: false, and nothing is counted, where it would be one too many.
  func begin(upTo limit: Int?) -> Bool {
    if let limit { return requests.increment(upTo: limit) }
    requests.add(1, ordering: .relaxed)
    return true
  }

  func end() { requests.subtract(1, ordering: .relaxed) }
}

extension ClientConnection {
  /// The account of the client behind this connection: its own memo as a rule, as a connection seldom changes its name.
  /// - Parameter name: nil = anonymous.
  func account(named name: String?) -> ClientAccount {
    if let account = lastAccount, account.name == name { return account }
    let key: ClientAccount.Key =
      if let name { .name(name) } else if let words = peer.words { .address(high: words.high, low: words.low) } else { .unix }
    let account = worker.shared.accounts.value(of: key) { ClientAccount(name: name) }
    lastAccount = account
    return account
  }
}

extension Request {
  /// Counts this request as one of its client's in flight, until it has ended.
  func admit(_ identity: ClientIdentity) throws(ProxyError) {
    let account = client.account(named: identity.name)
    guard account.begin(upTo: identity.maxRequests) else {
      throw .tooManyRequests(client: identity.name, limit: identity.maxRequests ?? 0)
    }
    self.account = account
  }

  /// It counts no longer.
  func leaveAccount() {
    account?.end()
    account = nil
  }
}
