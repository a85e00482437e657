import Crypto
import TLS
import Trust

extension TLSContext {
  /// A context whose connections the origin's policy judges.
  static func client(for origin: Origin) throws(OpenSSLError) -> TLSContext {
    guard let trust = origin.trust else { throw OpenSSLError(.configuration, "an http origin has no TLS") }
    return try .client(trust.evaluation.clientOptions(anchors: trust.anchors, identity: origin.clientIdentity))
  }
}
