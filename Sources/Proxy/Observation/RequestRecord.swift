import EventIO

/// The record of one request, filled on its way and read at its end by access log and metrics. Lent to its readers, never copied: a
/// dozen references are in it.
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
  }

  /// What the app was answered.
  public struct Answer {
    /// 0: the connection ended before an answer.
    public var status = 0
    public var author = Author.proxy
    /// Proxy-Status error where the proxy answered or broke off.
    public var error: String?
    public var details: String?
  }

  /// Nanoseconds of the monotonic clock; 0: did not happen.
  public struct Times {
    public var started: Int64 = 0
    public var ended: Int64 = 0
    public var connectStarted: Int64 = 0
    public var connected: Int64 = 0
    public var secured: Int64 = 0
    /// The last byte of the request has gone to the origin.
    public var sent: Int64 = 0
    public var firstByte: Int64 = 0
    /// How long it waited for its credential.
    public var waitedForCredential: Int64 = 0
  }

  /// How it was sent to its origin.
  public struct Upstream {
    public var entry: Entry?
    public var address: Address?
    public var isReused = false
    public var attempts = 0
    /// Name of the trust policy that judged the origin; nil: reached in clear.
    public var trust: String?
  }

  public struct Credential {
    public var name: String?
    public var version: UInt64 = 0
    /// Answers that refused the credential, and whether the request was sent again for one.
    public var refusals = 0
    public var wasResent = false
  }

  public internal(set) var peer: Address?
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
