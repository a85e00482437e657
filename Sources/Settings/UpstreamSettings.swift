import Cache
import Credentials
import Routing
import WayOut

/// One entry of `upstreams`.
public struct UpstreamSettings: Sendable, Hashable {
  public let name: String
  /// At least one.
  public let matches: [Match]
  /// nil = for every client.
  public let clients: Set<String>?
  /// The preferred one.
  public let origin: Origin
  /// The others of a list, in order, of the same scheme and path: each takes the requests when those before it cannot be reached.
  public var otherOrigins: [Origin] = []
  /// Whether the file has `origin`; then `forbidden_addresses` does not apply.
  public let originIsExplicit: Bool
  public let credential: String?
  /// nil = the policy `default` if there is one, else the system's roots.
  public let trust: String?
  public let clientCertificate: ClientCertificate?
  public let clientAuthorization: ClientAuthorization
  public let retry: Retry
  public let rewrite: Rewrite
  public let timeouts: Timeouts
  public let decompress: Bool
  public let hostHeader: HostHeader
  /// nil = as `routes` and `via` of the file say.
  public var via: Via?
  /// nil = as the file says.
  public var outbound: OutboundAddressing?
  public var methods = AllowedMethods.all
  /// Takes the match's prefix away. Then every match has one, and the origin has no path.
  public var stripsPrefix = false
  /// nil = every redirect is relayed.
  public var redirects: RedirectSettings?
  /// nil = nothing is stored, and nothing collapsed.
  public var cache: CacheRules?
  /// As written; `httpVersion(with:)` is what holds.
  public var httpVersion = HTTPVersion.http1
  public var requestHeaders = HeaderRuleSettings()
  public var responseHeaders = HeaderRuleSettings()

  /// The first one.
  @inlinable public var match: Match { matches[0] }

  /// In the order of preference.
  public var origins: [Origin] { [origin] + otherOrigins }

  public typealias Match = Routing.Match
  public typealias ClientCertificate = CertificateFiles

  public struct Origin: Sendable, Hashable {
    public enum Scheme: String, Sendable, Hashable {
      case http, https
      /// HTTP over a unix socket.
      case unix
    }
    public var scheme: Scheme
    /// Of a unix socket its absolute path. "" only for a wildcard match without `origin`; then the proxy uses the request's own host, with this scheme and port.
    public var host: String
    /// 0 for a unix socket.
    public var port: UInt16
    /// Takes the place of the match's prefix: "" or "/v1/x", which begins with a slash and does not end with one. "" means that paths
    /// stay.
    public var path: String
    public init(scheme: Scheme, host: String, port: UInt16, path: String = "") {
      self.scheme = scheme
      self.host = host
      self.port = port
      self.path = path
    }
  }
  public enum ClientAuthorization: String, Sendable, Hashable { case replace, keep, reject }
  public enum HostHeader: String, Sendable, Hashable { case origin, app }
  public struct Retry: Sendable, Hashable {
    public var attempts = 0
    /// Upper-case, idempotent ones only.
    public var methods: Set<String> = ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"]
    public var statuses: Set<Int> = [408, 500, 502, 503, 504]
    public var backoff = 500
    public var maxWait = 15_000
    public init() {}
  }
  public struct Rewrite: Sendable, Hashable {
    public var location = true
    public var link = true
    public var secureCookies = false
    public init() {}
  }
  public init(
    name: String, matches: [Match], clients: Set<String>? = nil, origin: Origin, originIsExplicit: Bool = false,
    credential: String? = nil, trust: String? = nil, clientCertificate: ClientCertificate? = nil,
    clientAuthorization: ClientAuthorization = .replace, retry: Retry = Retry(), rewrite: Rewrite = Rewrite(),
    timeouts: Timeouts, decompress: Bool = false, hostHeader: HostHeader = .origin
  ) {
    self.name = name
    self.matches = matches
    self.clients = clients
    self.origin = origin
    self.originIsExplicit = originIsExplicit
    self.credential = credential
    self.trust = trust
    self.clientCertificate = clientCertificate
    self.clientAuthorization = clientAuthorization
    self.retry = retry
    self.rewrite = rewrite
    self.timeouts = timeouts
    self.decompress = decompress
    self.hostHeader = hostHeader
  }
  public init(
    name: String, match: Match, clients: Set<String>? = nil, origin: Origin, originIsExplicit: Bool = false,
    credential: String? = nil, trust: String? = nil, clientCertificate: ClientCertificate? = nil,
    clientAuthorization: ClientAuthorization = .replace, retry: Retry = Retry(), rewrite: Rewrite = Rewrite(),
    timeouts: Timeouts, decompress: Bool = false, hostHeader: HostHeader = .origin
  ) {
    self.init(
      name: name, matches: [match], clients: clients, origin: origin, originIsExplicit: originIsExplicit,
      credential: credential, trust: trust, clientCertificate: clientCertificate, clientAuthorization: clientAuthorization,
      retry: retry, rewrite: rewrite, timeouts: timeouts, decompress: decompress, hostHeader: hostHeader)
  }
}
