import RedisProtocol
import TLS
import Trust

/// How a fleet's store is reached. Its secrets are in `RedisLogin`, which says nothing of itself.
public struct RedisSettings: Sendable {
  public typealias Location = RedisLocation

  public var location: Location
  /// nil: the server wants none.
  public var login: RedisLogin?
  public var database = 0
  /// Of keys, and of the channel of changes.
  public var prefix = Array("authproxy:".utf8)
  /// Milliseconds for connecting, and for each reply.
  public var timeout = 2_000
  /// Required for rediss://.
  public var trust: TrustMaterial?
  /// For servers that ask for a client's certificate.
  public var identity: TLSIdentity?
  /// Whether servers beyond loopback may be spoken to in clear.
  public var allowsPlaintext = false

  public init(_ location: Location) { self.location = location }

  var channel: [UInt8] { prefix + Array("changed".utf8) }
}
