import EventIO

/// How the signature of a request covers its body.
public enum SignedPayload: String, Sendable, CaseIterable {
  /// There is none, or the signature does not cover it.
  case none
  /// By a hash that the proxy computed ahead of it.
  case hashed
  /// By a hash that the app declared.
  case declared
  /// It says that it does not.
  case unsigned
  /// Piece by piece.
  case streaming
}

/// The peer that named another address in a PROXY header. An object, as most connections have none.
public final class HeaderSender: Sendable {
  public let address: Address
  init(_ address: Address) { self.address = address }
}

/// The record of one request. The request fills it, and access log and metrics read it at the end. It is lent to its readers,
/// never copied, because it holds a dozen references.
public struct RequestRecord: ~Copyable {
  public enum Author: UInt8, Sendable { case upstream, proxy }

  /// What the app asked for.
  public struct Target {
    public var method = ""
    /// As the app spelled it.
    public var authority = ""
    /// Without query.
    public var path = ""
    public var isTunnel = false
    /// It came inside of TLS that was answered for its authority.
    public var isSecure = false
  }

  /// The answer that the app got.
  public struct Answer {
    /// 0: the connection ended before an answer.
    public var status = 0
    public var author = Author.proxy
    /// Proxy-Status error, if the proxy answered or broke off.
    public var error: String?
    public var details: String?
  }

  /// Nanoseconds of the monotonic clock; 0: it did not happen.
  public struct Times {
    public var started: Int64 = 0
    public var ended: Int64 = 0
    public var connectStarted: Int64 = 0
    public var connected: Int64 = 0
    public var secured: Int64 = 0
    /// The last byte of the request was sent to the origin.
    public var sent: Int64 = 0
    public var firstByte: Int64 = 0
    /// How long the request waited for its credential.
    public var waitedForCredential: Int64 = 0
  }

  /// How it was sent to its origin.
  public struct Upstream {
    public var entry: Entry?
    /// Of the far end of the connection: the origin's, or the parent's.
    public var address: Address?
    /// Name of the parent proxy through which it was reached; nil: directly.
    public var parent: String?
    public var isReused = false
    /// Redirects that the proxy followed.
    public var redirects: UInt8 = 0
    public var attempts = 0
    /// Name of the trust policy that judged the origin; nil: reached without TLS.
    public var trust: String?
  }

  public struct Credential {
    public var name: String?
    public var version: UInt64 = 0
    /// Number of answers that refused the credential, and whether the request was sent again for one.
    public var refusals = 0
    public var wasResent = false
    /// How its signature covers the body; nil: the credential signs nothing.
    public var payload: SignedPayload?
  }

  public internal(set) var peer: Address?
  /// nil: no PROXY header named `peer`.
  public internal(set) var sender: HeaderSender?
  /// Name of the configured client; nil: anonymous.
  public internal(set) var client: String?
  public var target = Target()
  public var answer = Answer()
  public var times = Times()
  public var upstream = Upstream()
  public var credential = Credential()
  /// Bytes of the body that the app sent, and of the answer that it was sent.
  public var bytesReceived: Int64 = 0
  public var bytesSent: Int64 = 0

  public init() {}
}
