import EventIO
import Synchronization

/// One client in the whole process: how many of its requests are in flight, whatever loop they are on and whatever configuration
/// they began with. Owned by its connections and requests; a client without any is forgotten in time.
public final class ClientAccount: Sendable {
  let name: String?
  private let requests = Atomic<Int>(0)

  init(name: String?) { self.name = name }

  /// Counts one more request.
  /// - Parameter limit: `max_requests` of the configuration that the request began with; nil: none.
  /// - Returns: false, and nothing is counted, where it would be one too many.
  public func begin(upTo limit: Int?) -> Bool {
    if let limit { return requests.increment(upTo: limit) }
    requests.add(1, ordering: .relaxed)
    return true
  }

  public func end() { requests.subtract(1, ordering: .relaxed) }
}

/// All clients of the process.
public final class ClientAccounts: Sendable {
  /// By name where it has one, else by address; all who come through unix sockets are one.
  private enum Key: Hashable, Sendable {
    case name(String)
    case address(high: UInt64, low: UInt64)
    case unix
  }
  private let table = SharedTable<Key, ClientAccount>()

  public init() {}

  /// - Parameter name: nil: anonymous.
  func account(named name: String?, at peer: Address) -> ClientAccount {
    let key: Key =
      if let name { .name(name) } else if let words = peer.words { .address(high: words.high, low: words.low) } else { .unix }
    return table.value(of: key) { ClientAccount(name: name) }
  }
}
