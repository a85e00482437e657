import Cache
import EventIO
import Forwarding

/// The partition of an app connection's last request to an entry with a cache. Most connections ask one entry as one client, so the
/// digests are seldom made again.
final class PartitionMemo {
  /// What the partition follows from. The rules stand for the entry of one configuration, and its match.
  struct Key {
    let rules: ForwardingRules
    let host: String
    let port: UInt16
    let isHTTPS: Bool
    /// Host as the origin gets it; empty: it is the origin's own.
    let field: [UInt8]
    let epoch: CredentialEpoch?
    let takesGzip: Bool?
    let client: String?
  }

  /// Without a key, which would be a dozen references more.
  func isFor(
    _ rules: ForwardingRules, _ place: (host: String, port: UInt16, isHTTPS: Bool), _ field: [UInt8],
    _ epoch: CredentialEpoch?, _ takesGzip: Bool?, _ client: String?
  ) -> Bool {
    key.rules === rules && key.epoch == epoch && key.takesGzip == takesGzip && key.client == client
      && key.port == place.port && key.isHTTPS == place.isHTTPS && key.host == place.host && key.field == field
  }

  let key: Key
  let partition: Partition

  init(_ key: Key, _ partition: Partition) {
    self.key = key
    self.partition = partition
  }
}

extension AppConnection {
  /// Whose answers a private cache keeps: by name, else by address, on a unix socket by user.
  func cacheClient(named name: String?) -> Partition.Client {
    if let name { return .name(name) }
    if let address = peer.bytes { return .address(address) }
    return .user(Socket.peerUser(descriptor) ?? .max)
  }
}
