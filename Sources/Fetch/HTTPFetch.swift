import EventIO
import TLS
import Trust

/// A request of the proxy's own: to a token endpoint, for a discovery document, to an OCSP responder, for a revocation list.
public struct HTTPFetch {
  public enum Method: Sendable { case get, post }
  public var method: Method
  /// `http` or `https`; redirects are not followed.
  public var url: String
  /// Names and values without line ends.
  public var fields: [(name: String, value: [UInt8])]
  public var body: [UInt8]
  /// Milliseconds, from name resolution to the answer's last byte.
  public var timeout: Int
  /// Bytes of the answer's body; a longer one is a failure.
  public var limitBytes: Int
  /// False: a connection of its own. For requests that must not be sent twice: libcurl repeats one where a pooled connection
  /// turns out closed, and a server may have acted on it already.
  public var sharesConnections: Bool
  /// Which addresses may be connected to; nil = any.
  public var permits: ((Address) -> Bool)?

  public init(
    method: Method = .get, url: String, fields: [(name: String, value: [UInt8])] = [], body: [UInt8] = [], timeout: Int,
    limitBytes: Int, sharesConnections: Bool = true, permits: ((Address) -> Bool)? = nil
  ) {
    self.method = method
    self.url = url
    self.fields = fields
    self.body = body
    self.timeout = timeout
    self.limitBytes = limitBytes
    self.sharesConnections = sharesConnections
    self.permits = permits
  }

  public struct Answer: Sendable {
    public var status: Int
    /// Seconds; nil where the answer had no Retry-After.
    public var retryAfter: Int64?
    public var body: [UInt8]
  }

  /// Texts hold nothing of what was sent.
  public enum Failure: Error, Sendable {
    case timedOut
    /// Name resolution, connection, TLS, or the connection's end before the answer's.
    case unreachable(String)
    /// The server did not satisfy the trust policy.
    case untrusted(PeerRefusal)
    /// The address rule left none of the host's addresses.
    case addressForbidden
    case tooLarge
    /// Not HTTP.
    case malformed(String)
  }

  public typealias Outcome = Result<Answer, Failure>
}

/// A trust policy as fetches use it: servers are judged by it, and connections are shared only under one policy.
public struct FetchTrust: Sendable {
  public let evaluation: TrustEvaluation
  public let anchors: AnchorStore
  /// `TrustEvaluation.digest(over:)`.
  public let digest: [UInt8]
  public init(_ evaluation: TrustEvaluation, anchors: AnchorStore) {
    self.evaluation = evaluation
    self.anchors = anchors
    digest = evaluation.digest(over: anchors)
  }
}

/// Asked between a handshake, or the choice of a pooled connection, and the first byte of a request: where revocation is judged.
/// Confined to the client's loop; called from inside libcurl, so it must not start or cancel fetches before it has returned.
public protocol FetchGate: AnyObject {
  /// - Parameters:
  ///   - handshake: that of the connection, chain and host judged already. One that was resumed cannot be, as sessions are off.
  ///   - staple: the OCSP answer in DER that the server sent along, unverified.
  func judge(_ handshake: ForeignHandshake, staple: [UInt8]?, under trust: FetchTrust) -> FetchGateVerdict
}

public enum FetchGateVerdict {
  case pass
  case refuse(PeerRefusal)
  /// An answer must be fetched first: the transfer is given up, nothing having been sent, and started again when the closure
  /// that was handed over is called.
  case wait((_ resume: @escaping () -> Void) -> Void)
}
