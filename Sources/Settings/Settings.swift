import Credentials
import Routing
import TLS
import Trust
import WayOut

/// The whole configuration, read and checked: names are resolved, files and secrets loaded, and nothing contradicts itself.
/// All durations are milliseconds, all sizes bytes.
public struct Settings: Sendable, Hashable {
  public let name: String
  public var listeners: [ListenerSettings]
  public let admin: AdminSettings?
  /// nil = auto.
  public let threads: Int?
  /// nil = off.
  public let watchInterval: Int?
  public var log: LogSettings
  public let limits: Limits
  public let timeouts: Timeouts
  public let clients: [ClientSettings]
  public let unnamed: AnonymousSettings
  public var unlistedHosts: UnlistedHosts
  public let connectAllow: [HostPattern]
  public let forbiddenAddresses: [AddressRange]
  public let upstreams: [UpstreamSettings]
  public let credentials: [String: CredentialPolicy]
  public let tokenStore: TokenStoreSettings
  public let trust: [String: TrustPolicy]
  public let allHostsMustBeEvaluated: Bool
  /// Read with the configuration, if a policy may use them; nil: not read, or there are none.
  public var systemRoots: SystemRoots?
  /// nil: nothing is intercepted.
  public let intercept: InterceptSettings?
  /// Those of the file in its order, then those of `environment`.
  public var parents: [ParentSettings] = []
  public var ways = WayTable()
  /// Addresses (16 bytes, IPv4 mapped) of hosts that are not resolved; at least one each.
  public var hosts: [String: [[UInt8]]] = [:]
  public var outbound = OutboundAddressing()

  @inlinable public var anonymous: Access { unnamed.access }
  @inlinable public var anonymousMaxRequests: Int? { unnamed.maxRequests }

  public static let standardName = "authproxy"

  public enum UnlistedHosts: String, Sendable, Hashable { case deny, forward }

  public init(
    name: String = standardName, listeners: [ListenerSettings], admin: AdminSettings? = nil, threads: Int? = nil,
    watchInterval: Int? = 10_000, log: LogSettings = LogSettings(), limits: Limits = Limits(), timeouts: Timeouts = Timeouts(),
    clients: [ClientSettings] = [], anonymous: Access = .all, anonymousMaxRequests: Int? = nil,
    unlistedHosts: UnlistedHosts = .deny, connectAllow: [HostPattern] = [],
    forbiddenAddresses: [AddressRange] = AddressRange.defaults,
    upstreams: [UpstreamSettings] = [], credentials: [String: CredentialPolicy] = [:],
    tokenStore: TokenStoreSettings = .memory, trust: [String: TrustPolicy] = [:], allHostsMustBeEvaluated: Bool = false,
    systemRoots: SystemRoots? = nil, intercept: InterceptSettings? = nil
  ) {
    self.name = name
    self.listeners = listeners
    self.admin = admin
    self.threads = threads
    self.watchInterval = watchInterval
    self.log = log
    self.limits = limits
    self.timeouts = timeouts
    self.clients = clients
    unnamed = AnonymousSettings(access: anonymous, maxRequests: anonymousMaxRequests)
    self.unlistedHosts = unlistedHosts
    self.connectAllow = connectAllow
    self.forbiddenAddresses = forbiddenAddresses
    self.upstreams = upstreams
    self.credentials = credentials
    self.tokenStore = tokenStore
    self.trust = trust
    self.allHostsMustBeEvaluated = allHostsMustBeEvaluated
    self.systemRoots = systemRoots
    self.intercept = intercept
  }
}

/// Those who are no client.
public struct AnonymousSettings: Sendable, Hashable {
  public var access: Access
  /// How many requests of one address may be in flight at once where it is no client's; unix sockets are one address. nil = no
  /// limit.
  public var maxRequests: Int?
}

public struct ListenerSettings: Sendable, Hashable {
  public enum Endpoint: Sendable, Hashable {
    /// `host` is a literal address, IPv6 without brackets.
    case tcp(host: String, port: UInt16)
    case unix(path: String, mode: UInt32?, owner: String?, group: String?)
    case inherited(descriptor: Int32)
  }
  public var endpoint: Endpoint
  public var clientsRequired: Bool
  /// nil: in the clear.
  public var tls: ListenerTLS?
  /// Peers whose connections begin with a PROXY header; nil: none.
  public var proxyProtocol: ProxyProtocolPeers?
  public init(
    endpoint: Endpoint, clientsRequired: Bool = false, tls: ListenerTLS? = nil, proxyProtocol: ProxyProtocolPeers? = nil
  ) {
    self.endpoint = endpoint
    self.clientsRequired = clientsRequired
    self.tls = tls
    self.proxyProtocol = proxyProtocol
  }
}

public struct AdminSettings: Sendable, Hashable {
  public enum Page: String, Sendable, Hashable, CaseIterable { case healthz, readyz, metrics, status, purge }
  public var endpoint: ListenerSettings.Endpoint
  public var expose: Set<Page>
  public init(endpoint: ListenerSettings.Endpoint, expose: Set<Page>) {
    self.endpoint = endpoint
    self.expose = expose
  }
}

public struct LogSettings: Sendable, Hashable {
  public enum Level: String, Sendable, Hashable, CaseIterable { case trace, debug, info, notice, warning, error, critical }
  public enum Format: String, Sendable, Hashable { case json, text }
  public enum Destination: Sendable, Hashable {
    case standardOutput, standardError
    case file(String)
  }
  public var level: Level
  public var format: Format
  public var access: Bool
  public var destination: Destination
  public init(level: Level = .info, format: Format = .json, access: Bool = true, destination: Destination = .standardOutput) {
    self.level = level
    self.format = format
    self.access = access
    self.destination = destination
  }
}

public struct Limits: Sendable, Hashable {
  public var connections = 10_000
  public var requestHead = 32 << 10
  public var responseHead = 64 << 10
  public var replayBody = 64 << 10
  /// Of a body that is read whole before it is sent.
  public var hashedBody = 10 << 20
  /// All kept bodies of the process together.
  public var buffers = 64 << 20
  public var ofCredentials = CredentialLimits()
  public var upstreamConnections = 256
  public var ofStreams = StreamLimits()
  /// All that the store of answers holds: bodies, heads, index, and what is evicted but still being sent.
  public var cache = 64 << 20
  public init() {}

  @inlinable public var waitingForCredential: Int { ofCredentials.waiting }
  @inlinable public var subjectTokens: Int { ofCredentials.subjectTokens }
  @inlinable public var upstreamStreams: Int { ofStreams.upstream }
  @inlinable public var clientStreams: Int { ofStreams.client }
}

/// Of each credential.
public struct CredentialLimits: Sendable, Hashable {
  /// Requests that wait for its token.
  public var waiting = 10_000
  /// Users with a token of their own.
  public var subjectTokens = 10_000
}

/// Requests at once on one HTTP/2 connection.
public struct StreamLimits: Sendable, Hashable {
  /// To an origin, whose own limit holds too.
  public var upstream = 100
  /// Of an app.
  public var client = 100
}

public struct Timeouts: Sendable, Hashable {
  public var ofClients = ClientTimeouts()
  public var ofShutdown = ShutdownTimeouts()
  public var upstreamIdle = 30_000
  public var resolve = 5_000
  public var connect = 10_000
  public var responseHead = 60_000
  public var stall = 60_000
  public var tunnel = 3_600_000
  public var credential = 15_000
  /// How long a request waits for the head of another's answer before it goes by itself.
  public var collapse = 5_000
  public init() {}

  @inlinable public var requestHead: Int { ofClients.requestHead }
  @inlinable public var idle: Int { ofClients.idle }
  @inlinable public var shutdownDelay: Int { ofShutdown.delay }
  @inlinable public var drain: Int { ofShutdown.drain }
}

/// Timeouts of client connections while no request is in flight.
public struct ClientTimeouts: Sendable, Hashable {
  public var requestHead = 30_000
  public var idle = 75_000
  /// Of an app's TLS handshake.
  public var handshake = 10_000
}

/// Timeouts from SIGTERM on; `drain` is also that of what a reload has removed.
public struct ShutdownTimeouts: Sendable, Hashable {
  /// For how long the proxy accepts before it drains.
  public var delay = 0
  public var drain = 30_000
}

/// A client of the proxy: identified by name and password, by certificate, by address, or by any of these.
public struct ClientSettings: Sendable, Hashable {
  public var name: String
  public var password: Secret?
  public var certificate: ClientCertificateName?
  public var from: [AddressRange]
  public var allow: Access
  /// Most requests in flight; nil = no limit.
  public var maxRequests: Int?
  public init(
    name: String, password: Secret? = nil, certificate: ClientCertificateName? = nil, from: [AddressRange] = [],
    allow: Access = .all, maxRequests: Int? = nil
  ) {
    self.name = name
    self.password = password
    self.certificate = certificate
    self.from = from
    self.allow = allow
    self.maxRequests = maxRequests
  }
}

/// A CIDR block. IPv4 has its IPv4-mapped IPv6 form, so that one comparison works for both.
public struct AddressRange: Sendable, Hashable {
  /// 16 bytes, host bits zero.
  public var network: [UInt8]
  /// 0...128, counted over the 16 bytes (an IPv4 /8 is 104).
  public var prefixLength: Int
  public init(network: [UInt8], prefixLength: Int) {
    self.network = network
    self.prefixLength = prefixLength
  }
}
