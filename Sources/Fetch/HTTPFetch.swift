import EventIO
import TLS
import Trust

/// A request by the proxy itself: to a token endpoint, for a discovery document, to an OCSP responder, or for a revocation
/// list.
public struct HTTPFetch {
  public enum Method: Sendable { case get, post, put, patch }
  public var method: Method
  /// `http` or `https`. Redirects are not followed.
  public var url: String
  /// Names and values without line breaks.
  public var fields: [(name: String, value: [UInt8])]
  public var body: [UInt8]
  /// Milliseconds, from name resolution to the response's last byte.
  public var timeout: Int
  /// Bytes of the response's body; a longer one is a failure.
  public var limitBytes: Int
  /// False: use a new connection. For requests that must not be sent twice: libcurl sends a request again if its pooled
  /// connection was closed, and the server may have processed it already.
  public var sharesConnections: Bool
  /// Decides which addresses are allowed; nil = all.
  public var permits: ((Address) -> Bool)?
  /// Never through a parent proxy.
  public var goesDirectly = false
  /// The first byte of the request goes out earlier or not at all, in milliseconds of `bootTimeMilliseconds`; nil: at any time.
  public private(set) var notAfter: Int64?
  /// It is asked in order to judge a parent proxy.
  public var judgesParent = false
  /// Takes the body of a 2xx answer line by line as it arrives; nil: the body is part of the answer.
  public private(set) var stream: FetchStream?

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

  public mutating func receive(into stream: FetchStream?) { self.stream = stream }

  public mutating func send(notAfter: Int64?) { self.notAfter = notAfter }

  public struct Answer: Sendable {
    public var status: Int
    /// Seconds; nil if the response had no Retry-After.
    public var retryAfter: Int64?
    /// The DPoP-Nonce field (RFC 9449 section 8), unchecked; nil if the response had none, or several.
    public var dpopNonce: String?
    /// Unix seconds of the Date field; nil if the response had none, or has an Age, as a cache's answer has.
    public var date: Int64?
    /// The Metadata-Flavor field, with which Google's metadata server marks its answers; nil if the response had none, or several.
    public var metadataFlavor: String?
    public var body: [UInt8]
  }

  /// Texts contain nothing that was sent.
  public enum Failure: Error, Sendable {
    case timedOut
    /// `notAfter` was over before anything was sent.
    case tooLate
    /// Name resolution, connection or TLS failed, or the connection ended before the response.
    case unreachable(String)
    /// The server did not satisfy the trust policy.
    case untrusted(PeerRefusal)
    /// The address rule allows none of the host's addresses.
    case addressForbidden
    case tooLarge
    /// The response is not HTTP.
    case malformed(String)
  }

  public typealias Outcome = Result<Answer, Failure>
}

/// Called between a handshake, or the choice of a pooled connection, and the first byte of a request, to judge revocation.
/// Confined to the client's loop. Called from inside libcurl, so it must not start or cancel fetches before it returns.
public protocol FetchGate: AnyObject {
  /// - Parameters:
  ///   - handshake: the connection's, with chain and host judged. It is never a resumed one, as sessions are off.
  ///   - staple: the OCSP answer in DER that the server sent, unverified.
  func judge(_ handshake: ForeignHandshake, staple: [UInt8]?, under trust: TrustMaterial) -> FetchGateVerdict
}

public enum FetchGateVerdict {
  case pass
  case refuse(PeerRefusal)
  /// An answer must be fetched first. The transfer, which has sent nothing, stops, and starts again when the passed closure is
  /// called.
  case wait((_ resume: @escaping () -> Void) -> Void)
}

/// How a fetch reaches its server.
public enum FetchWay {
  case direct
  /// libcurl's own proxying judges no parent before the password has left, so the way is made behind a socket.
  case through(any FetchPassage)
  /// Not at all: nobody can say where its URL leads.
  case refused
}

/// Makes the ways of fetches. Confined to the client's loop.
public protocol FetchWays: AnyObject {
  func way(of fetch: HTTPFetch) -> FetchWay
}

/// A socket of this process behind which the server lies, for one transfer.
public protocol FetchPassage: AnyObject {
  /// Of an abstract unix socket.
  var name: String { get }
  /// Why no connection came about; nil: none has failed.
  var failure: String? { get }
  /// The fetch has taken too long.
  /// - Returns: what it waited for, if that lies on the way; nil: for the server.
  func timeUp() -> String?
  func close()
}
