import Crypto
import TLS
import Trust

extension TLSContext {
  /// A context for client connections that the origin's trust policy judges.
  static func client(for origin: Origin) throws(OpenSSLError) -> TLSContext {
    guard let trust = origin.trust else { throw OpenSSLError(.configuration, "an http origin has no TLS") }
    return try .client(trust.evaluation.clientOptions(anchors: trust.anchors, identity: origin.clientIdentity))
  }
}
