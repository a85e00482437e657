import EventIO

/// The record of one request, filled on its way and read at its end by access log and metrics. Times are nanoseconds of the
/// monotonic clock, 0 = did not happen. Lent to its readers, never copied: a dozen references are in it.
public struct Summary: ~Copyable {
  public enum Author: UInt8, Sendable { case upstream, proxy }

  public var started: Int64 = 0
  public var ended: Int64 = 0
  public var peer: Address?
  /// Name of the configured client; nil = anonymous.
  public var client: String?
  public var method = ""
  /// Of the request target, as the app spelled it.
  public var authority = ""
  /// Without query.
  public var path = ""
  public var minorVersion: UInt8 = 1
  public var entry: Entry?
  /// 0 where the connection ended before an answer.
  public var status = 0
  public var author = Author.proxy
  /// Proxy-Status error where the proxy answered or broke off.
  public var error: String?
  public var details: String?
  public var bytesReceived: Int64 = 0
  public var bytesSent: Int64 = 0
  public var waitedForCredential: Int64 = 0
  public var connectStarted: Int64 = 0
  public var connected: Int64 = 0
  public var secured: Int64 = 0
  public var sent: Int64 = 0
  public var firstByte: Int64 = 0
  public var upstreamAddress: Address?
  public var reusedConnection = false
  public var credential: String?
  public var credentialVersion: UInt64 = 0
  public var attempts = 0
  /// Answers that refused the credential, and whether the request was sent again for one.
  public var refusals = 0
  public var wasResent = false
  public var isTunnel = false
  /// Name of the trust policy that judged the origin; nil where it is reached in clear.
  public var trust: String?

  public init() {}
}
