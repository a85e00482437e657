import EventIO
import Synchronization

/// Counts one client's requests in flight in the whole process, across loops and configurations. The client's connections and
/// requests own it; `ClientAccounts` drops it some time after the last of them has ended.
public final class ClientAccount: Sendable {
  let name: String?
  private let requests = Atomic<Int>(0)
  private let kept = Atomic<Int>(0)

  init(name: String?) { self.name = name }

  /// Counts one more request.
  /// - Parameter limit: `max_requests` of the configuration that the request began with; nil: no limit.
  /// - Returns: false if the client has reached the limit; then nothing is counted.
  public func begin(upTo limit: Int?) -> Bool {
    if let limit { return requests.increment(upTo: limit) }
    requests.add(1, ordering: .relaxed)
    return true
  }

  /// Changes how many bytes of its bodies the process keeps.
  /// - Returns: how many there are now.
  @discardableResult
  public func keep(_ bytes: Int) -> Int { kept.add(bytes, ordering: .relaxed).newValue }

  public func end() { requests.subtract(1, ordering: .relaxed) }
}

/// The accounts of all clients of the process.
public final class ClientAccounts: Sendable {
  /// The client's name if it has one, else its address. All clients on unix sockets share one key.
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
