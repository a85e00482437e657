import Crypto
import RedisProtocol
import TLS
import Trust

/// Judges whether the certificates of a chain are revoked. Whoever has the answers, or fetches them, calls back once, with the seconds
/// since 1970 until when the verdict holds, on the same loop and perhaps at once.
public typealias RevocationGate = (RevocationCheck, @escaping (Result<Int64, PeerRefusal>) -> Void) -> Void

/// What all connections of one client need to be safe. Belongs to its loop.
final class RedisSecurity {
  let gate: RevocationGate
  let allowsPlaintext: Bool
  let trust: TrustMaterial?
  private let identity: TLSIdentity?
  private var context: TLSContext?

  init(_ settings: RedisSettings, gate: @escaping RevocationGate) {
    self.gate = gate
    allowsPlaintext = settings.allowsPlaintext
    trust = settings.trust
    identity = settings.identity
  }

  /// Made once, as it costs more than a connection.
  func tlsContext(_ trust: TrustMaterial) throws(OpenSSLError) -> TLSContext {
    if let context { return context }
    var options = trust.evaluation.clientOptions(anchors: trust.anchors, identity: identity)
    options.alpn = []
    // A session would need its verdict kept beside it, for one handshake an hour at most.
    options.keepsSessions = false
    let made = try TLSContext.client(options)
    context = made
    return made
  }
}
