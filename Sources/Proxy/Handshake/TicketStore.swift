import Crypto
import Synchronization
import TLS

/// The keys of session tickets, one set for each authority: all loops have the same, and they go with their authority.
final class TicketStore: Sendable {
  private let keys = Mutex<[[UInt8]: TicketKeys]>([:])

  /// The keys to use from now on, renewed if that is due.
  /// - Parameters:
  ///   - issuer: whose certificates the sessions begin with.
  ///   - now: seconds since 1970.
  func keys(of issuer: [UInt8], now: Int64) throws(OpenSSLError) -> TicketKeys {
    let known = keys.withLock { $0[issuer] }
    if let known, now < known.renewal { return known }
    let next = if let known { try known.renewed(now: now) } else { try TicketKeys(now: now) }
    return keys.withLock { keys in
      // Another loop may have been faster.
      if let theirs = keys[issuer], now < theirs.renewal { return theirs }
      keys[issuer] = next
      return next
    }
  }

  func keep(only issuers: Set<[UInt8]>) { keys.withLock { $0 = $0.filter { issuers.contains($0.key) } } }
}
