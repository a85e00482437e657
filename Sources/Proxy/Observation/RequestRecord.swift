import Cache
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

/// What the store of answers did for a request. An object, as most entries have no `cache`.
public final class CacheReport: Sendable {
  public let outcome: CacheOutcome
  /// Seconds since the origin made the answer; nil: it is no stored one.
  public let age: Int64?

  init(_ outcome: CacheOutcome, age: Int64? = nil) {
    self.outcome = outcome
    self.age = age
  }

  public var detail: String? { outcome.detail }
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
    /// It is a gRPC call to an entry that offers HTTP/2.
    public var isCall = false
    /// The app speaks HTTP/2.
    public var isStream = false
  }

  /// The answer that the app got.
  public struct Answer {
    /// 0: the connection ended before an answer.
    public var status = 0
    public var author = Author.proxy
    /// Proxy-Status error, if the proxy answered or broke off.
    public var error: String?
    public var details: String?
    /// What the store of answers did; nil: its entry has no `cache`.
    public internal(set) var cache: CacheReport?
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

  /// How it was sent to its origin; after redirects, to the last one.
  public struct Upstream {
    /// The one that the app asked.
    public var entry: Entry?
    /// The one that was asked last, after redirects; nil: the proxy followed none.
    public var hop: Entry?
    /// Of the far end of the connection: the origin's, or the parent's.
    public var address: Address?
    /// Name of the parent proxy through which it was reached; nil: directly.
    public var parent: String?
    public var isReused = false
    /// Redirects that the proxy followed.
    public var redirects: UInt8 = 0
    /// Number of the HTTP/2 stream; 0: HTTP/1.1, or none was connected.
    public var stream: Int32 = 0
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

  /// What the store of answers did; nil: its entry has no `cache`.
  public var cache: CacheReport? { answer.cache }

  public init() {}

  /// What was noted of the hop that redirects goes: the times, the connection, the credential and the store's part are those of the hop
  /// that comes.
  mutating func beginHop(at entry: Entry) {
    times = Times(started: times.started)
    credential = Credential()
    answer.cache = nil
    var next = Upstream(entry: upstream.entry, hop: entry)
    next.redirects = upstream.redirects + 1
    next.attempts = upstream.attempts
    upstream = next
  }
}
