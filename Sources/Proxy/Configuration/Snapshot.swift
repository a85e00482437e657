import Credentials
import Crypto
import EventIO
import Fetch
import Forwarding
import Interception
import Routing
import Settings
import Synchronization
import TLS
import Trust
import Upstreams

/// Builds snapshots, and keeps what outlives one configuration: loaded anchors and token stores.
public final class SnapshotBuilder: Sendable {
  private let anchors = AnchorStores()
  private let warn: @Sendable (TrustWarning) -> Void
  private let stores = TokenStores()
  private let credentialSerial = Atomic<UInt64>(0)
  private let authorities: AuthoritySource

  /// - Parameters:
  ///   - makesAuthorities: false: CAs that `intercept.ca` lacks are not made, and nothing is written.
  ///   - warn: called inside handshakes, on any loop; must not block.
  public init(makesAuthorities: Bool = true, warn: @escaping @Sendable (TrustWarning) -> Void = { _ in }) {
    authorities = AuthoritySource(makes: makesAuthorities)
    self.warn = warn
  }

  public struct LoadError: Error, Sendable, CustomStringConvertible {
    public let message: String
    public var description: String { message }
  }

  /// Builds a snapshot. Blocks while it loads anchors, so it must not run on a loop.
  /// - Parameters:
  ///   - sources: where the secrets came from, by key path.
  ///   - previous: the snapshot in use. A credential that is the same in it keeps its identity.
  public func build(
    _ settings: Settings, sources: [String: SecretSource] = [:], generation: Int, after previous: Snapshot? = nil
  ) throws(LoadError) -> Snapshot {
    let intercept = try intercept(settings, after: previous?.intercept)
    let refused = Set(intercept?.authorities.list.map(\.publicKeyDigest) ?? [])
    var trust: [String: TrustMaterial] = [:]
    for (name, policy) in settings.trust { trust[name] = try material(policy, settings.systemRoots, refused) }
    let fallback: TrustMaterial
    if let own = trust["default"] {
      fallback = own
    } else {
      fallback = try material(.systemDefault, settings.systemRoots, refused)
    }
    let certificates = try ClientIdentities(settings)
    let identities = certificates.upstreams
    let responders = try material(
      TrustPolicy(
        name: "responders", anchors: fallback.policy.effectiveAnchors, evaluators: [.chain(TrustPolicy.Validation())]),
      settings.systemRoots, refused)
    // Drops anchors that this configuration does not use. They live on where older snapshots still use them.
    anchors.prune(keeping: trust.values.map(\.policy) + [fallback.policy], system: settings.systemRoots)
    let store: any TokenStore
    do throws(FileTokenStore.Problem) { store = try stores.store(settings.tokenStore) } catch {
      throw LoadError(message: "token_store: its key is not 32 bytes long")
    }
    let fleet = try storePlan(settings, trust, fallback, certificates.store, refused, generation: generation)
    var setups: [String: CredentialSetup] = [:]
    let patience = Int64(settings.upstreams.map(\.timeouts.credential).max() ?? settings.timeouts.credential)
    for policy in settings.credentials.values.inOrderOfExchange {
      var endpoint = fallback
      if let name = policy.tokens?.trust { endpoint = trust[name] ?? fallback }
      let grants = settings.upstreams.lazy.filter { $0.credential == policy.name }.map { upstream in
        Self.grant(upstream, upstream.trust.flatMap { trust[$0] } ?? fallback, identities[upstream.name])
      }
      let parents = settings.parents.lazy.filter { $0.credential == policy.name }.map { parent in
        Self.grant(parent, parent.trust.flatMap { trust[$0] } ?? fallback, certificates.parents[parent.name])
      }
      let before = previous?.credentials.first { $0.name == policy.name }
      let exchanged = policy.sourceNames.compactMap { setups[$0] }
      let identity = CredentialIdentity(
        policy.name,
        digest: CredentialIdentity.digest(of: policy, grants: Array(grants) + parents, exchanged: exchanged.map(\.identity)),
        after: before?.identity,
        serial: credentialSerial.add(1, ordering: .relaxed).newValue)
      setups[policy.name] = CredentialSetup(
        policy, identity, generation: generation, trust: endpoint,
        certificate: certificates.credentials[policy.name], store: store, fleet: fleet,
        sources: CredentialSources(of: policy.name, in: sources), exchanged: exchanged,
        subjects: Self.subjects(of: policy, identity, settings.limits, patience, after: before), limits: settings.limits,
        patience: patience)
    }
    let credentials = setups.values.sorted { $0.name < $1.name }
    var listeners: [ListenerTLS: ListenerIdentity] = [:]
    for tls in settings.listeners.compactMap(\.tls) where listeners[tls] == nil {
      do { listeners[tls] = try ListenerIdentity(tls) } catch { throw LoadError(message: "listen.tls: \(error)") }
    }
    return Snapshot(
      settings, generation: generation, trust: trust, defaultTrust: fallback, responderTrust: responders,
      identities: certificates, credentials: credentials, store: fleet, intercept: intercept, listeners: listeners,
      leavingListeners: previous?.listeners ?? [:])
  }

  /// nil: no credential is shared.
  private func storePlan(
    _ settings: Settings, _ trust: [String: TrustMaterial], _ fallback: TrustMaterial, _ identity: TLSIdentity?,
    _ refused: Set<[UInt8]>, generation: Int
  ) throws(LoadError) -> StorePlan? {
    guard let shared = settings.tokenStore.shared, settings.credentials.values.contains(where: { $0.tokens?.sharing != nil })
    else { return nil }
    let material: TrustMaterial?
    switch shared.engine {
    case .redis(let redis): material = redis.location.isTLS ? redis.trust.flatMap { trust[$0] } ?? fallback : nil
    case .kubernetes(let kubernetes):
      switch kubernetes.trust {
      case .serviceAccount(let policy): material = try self.material(policy, settings.systemRoots, refused)
      case .named(let name):
        material = kubernetes.address.hasPrefix("https:") ? name.flatMap { trust[$0] } ?? fallback : nil
      }
    }
    return StorePlan(shared, name: settings.name, generation: generation, trust: material, identity: identity)
  }

  private func intercept(_ settings: Settings, after previous: InterceptSettings?) throws(LoadError) -> InterceptSettings? {
    do throws(AuthoritySupply.Failure) {
      return try authorities.complete(settings, after: previous, now: wallClockSeconds())
    } catch {
      throw LoadError(message: "intercept.ca: \(error)")
    }
  }

  /// The table of the same credential before, or a new one; nil: it has one token for all requests.
  private static func subjects(
    of policy: CredentialPolicy, _ identity: CredentialIdentity, _ limits: Limits, _ patience: Int64,
    after before: CredentialSetup?
  ) -> SubjectTokens? {
    guard let oauth2 = policy.tokens, oauth2.isPerSubject else { return nil }
    if let before, before.identity == identity, let kept = before.subjects { return kept }
    return SubjectTokens(policy.name, oauth2, limit: limits.subjectTokens, patience: patience, after: before?.subjects)
  }

  /// Digest of where an entry lets its credential be sent, and under which trust.
  private static func grant(_ upstream: UpstreamSettings, _ trust: TrustMaterial, _ identity: TLSIdentity?) -> [UInt8] {
    let origins = upstream.origins.flatMap { origin in
      // Below a wildcard each host is an origin of its own.
      let host = origin.host.isEmpty ? "*." + upstream.match.host : origin.host
      return [Array(origin.scheme.rawValue.utf8), Array(host.utf8), Array("\(origin.port)".utf8)]
    }
    return SHA256.digest(parts: origins + [trust.digest, PolicyDigest.of(identity)])
  }

  /// The same of the parent that it is for.
  private static func grant(_ parent: ParentSettings, _ trust: TrustMaterial, _ identity: TLSIdentity?) -> [UInt8] {
    let isTLS = parent.scheme == .https
    return SHA256.digest(parts: [
      Array("parent \(parent.scheme.rawValue)".utf8), Array(parent.host.utf8), Array("\(parent.port)".utf8),
      isTLS ? trust.digest : [], isTLS ? PolicyDigest.of(identity) : [],
    ])
  }

  /// - Parameter refused: digests of the keys that sign for apps: no server is trusted by one of them.
  private func material(
    _ policy: TrustPolicy, _ system: SystemRoots?, _ refused: Set<[UInt8]>
  ) throws(LoadError) -> TrustMaterial {
    do {
      return try TrustMaterial(
        TrustEvaluation(policy, refusedKeys: refused, warn: warn), anchors: anchors.store(for: policy, system: system))
    } catch { throw LoadError(message: "trust.\(policy.name): \(error)") }
  }
}

/// One configuration as requests see it: immutable. Each loop holds a reference, and gets the next snapshot by message. A
/// request keeps the snapshot that it began with.
public final class Snapshot: Sendable {
  public let generation: Int
  public let settings: Settings
  /// Tokens or revocation answers will be fetched.
  var mayFetch: Bool {
    settings.trust.values.contains(where: \.checksRevocation) || settings.credentials.values.contains { $0.tokens != nil }
  }
  public let entries: [Entry]
  /// How many origins the entries name.
  let originCount: Int
  public let credentials: [CredentialSetup]
  /// The token store that a fleet shares; nil: no credential is shared.
  let store: StorePlan?
  /// The configured trust policies by name. Entries and token endpoints refer to them.
  public let trust: [String: TrustMaterial]
  let router: Router
  let unlisted: Entry?
  /// The hosts to which redirects may lead without a credential; nil: there are none.
  let redirected: Entry?
  let upstreamRules: UpstreamRules
  let defaultTrust: TrustMaterial
  /// With all authorities, also those that the proxy made.
  public let intercept: InterceptSettings?
  /// What TLS listeners show.
  let listeners: [ListenerTLS: ListenerIdentity]
  /// What those of the configuration before showed: one that goes accepts what its queue holds.
  let leavingListeners: [ListenerTLS: ListenerIdentity]
  let clientCertificates: ClientCertificateNames
  /// How hosts are reached.
  let ways: WayPlan
  let name: ProxyName
  /// nil: no entry has a cache.
  let cacheOrigins: CacheOrigins?

  init(
    _ settings: Settings, generation: Int, trust: [String: TrustMaterial], defaultTrust: TrustMaterial,
    responderTrust: TrustMaterial, identities certificates: ClientIdentities, credentials: [CredentialSetup],
    store: StorePlan?, intercept: InterceptSettings?, listeners: [ListenerTLS: ListenerIdentity],
    leavingListeners: [ListenerTLS: ListenerIdentity]
  ) {
    self.generation = generation
    self.settings = settings
    let identities = certificates.upstreams
    let ways = WayPlan(settings, trust, defaultTrust, certificates.parents, credentials)
    self.ways = ways
    self.trust = trust
    self.defaultTrust = defaultTrust
    self.credentials = credentials
    self.store = store
    self.intercept = intercept
    self.listeners = listeners
    self.leavingListeners = leavingListeners
    clientCertificates = ClientCertificateNames(settings.clients)
    let proxyName = ProxyName(settings.name)
    name = proxyName
    var entries: [Entry] = []
    var originCount = 0
    let redirects = settings.upstreams.map { $0.redirects?.rules(among: settings.upstreams) }
    let redirectTargets = Set(redirects.flatMap { $0?.entries ?? [] })
    for upstream in settings.upstreams {
      let index = entries.count
      let material = upstream.trust.flatMap { trust[$0] } ?? defaultTrust
      let credential = upstream.credential.flatMap { name in credentials.firstIndex { $0.name == name } }
      let policy = credential.map { credentials[$0].policy }
      // By the identity, as after a reload a name can mean another credential.
      let account = credential.flatMap { index in
        credentials[index].policy.authenticatesConnections ? "\(credentials[index].serial) \(upstream.name)" : nil
      }
      let origins = upstream.origins.filter { !$0.host.isEmpty }.map { origin in
        Self.origin(
          origin, material, identities[upstream.name], checksAddresses: !upstream.originIsExplicit,
          account: account ?? "", route: ways.route(to: origin, of: upstream))
      }
      entries.append(
        Entry(
          index: index, settings: upstream, redirects: redirects[index],
          isRedirectTarget: redirects[index] != nil || redirectTargets.contains(index),
          origin: origins.first, origins: origins.count > 1 ? OriginList(origins) : nil, firstOrigin: originCount,
          trust: material, identity: identities[upstream.name],
          credential: credential, takesSubject: credential.map { credentials[$0].subjects != nil } ?? false,
          isSigned: policy?.isSigned ?? false, account: account ?? "",
          rules: upstream.matches.map { ForwardingRules(upstream, $0, credential: policy, name: proxyName) }))
      originCount += origins.count
    }
    router = Router(
      settings.upstreams.map(\.routed), forwardsUnlisted: settings.unlistedHosts == .forward,
      connectAllow: settings.connectAllow)
    // The router's index for hosts that no entry lists is the one behind the entries'.
    unlisted =
      settings.unlistedHosts == .forward
      ? Entry(forHostsOf: settings, index: entries.count, trust: defaultTrust, name: name) : nil
    if let unlisted { entries.append(unlisted) }
    let leadsToHosts = entries.contains { $0.redirects?.hosts.isEmpty == false }
    redirected =
      leadsToHosts
      ? Entry(forHostsOf: settings, index: entries.count, isRedirected: true, trust: defaultTrust, name: name) : nil
    if let redirected { entries.append(redirected) }
    self.entries = entries
    cacheOrigins = CacheOrigins(entries)
    self.originCount = originCount
    let writtenHosts =
      entries.flatMap(\.writtenOrigins).map(\.identity.host) + settings.connectAllow.filter { !$0.isWildcard }.map(\.host)
    var rules = UpstreamRules(settings, writtenHosts: Set(writtenHosts), responderTrust: responderTrust)
    rules.parentAccounts = Set(ways.parents.map(\.account))
    rules.judgedHops = Set(ways.parents.filter(\.needsRevocationAnswers).map(\.hop))
    for entry in entries {
      for origin in entry.origins?.origins ?? [] where rules.origins[origin.hop] == nil {
        rules.origins[origin.hop] = (entry.name, origin.authority.url)
      }
    }
    rules.route = { ways.route(to: $0, port: $1, isTLS: $2) }
    upstreamRules = rules
  }

  /// What upstreams keep of older configurations under this one.
  func kept(entry: @escaping (OriginIdentity) -> String?) -> Upstreams.Kept {
    let certificates = entries.map(\.identity) + credentials.map(\.certificate) + ways.identities
    return Upstreams.Kept(
      policies: Set(trust.values.map(\.digest) + [defaultTrust.digest]),
      certificates: Set(certificates.map { PolicyDigest.of($0) } + [[]]), entry: entry)
  }

  /// Whether a host below the entry's wildcard, or an unlisted one, has this origin under this trust.
  func mayLead(_ entry: Entry, to identity: OriginIdentity) -> Bool {
    guard identity.checksAddresses, identity.account == entry.account,
      ways.route(to: identity, of: entry)?.digest ?? [] == identity.route
    else { return false }
    if identity.isTLS {
      guard (entry.trust ?? defaultTrust).digest == identity.trustDigest,
        PolicyDigest.of(entry.identity) == identity.certificateDigest
      else { return false }
    }
    if entry.isUnlisted { return true }
    return identity.isTLS && identity.port == entry.settings.origin.port
      && entry.settings.matches.contains { $0.matches(host: identity.host) }
  }

  /// Who signs for a host now.
  func signer(for host: String) -> SigningCA? {
    intercept?.authorities.signer(for: PeerName(host), at: wallClockSeconds())
  }

  /// Whether it is what these settings say, and no authority that the proxy made in a folder is gone from there.
  /// - Parameter now: seconds since 1970.
  public func isOf(_ other: Settings, at now: Int64) -> Bool {
    guard settings == other else { return false }
    guard let intercept, case .generated = intercept.source else { return true }
    let found = other.intercept?.authorities.list ?? []
    return intercept.authorities.list.allSatisfy { $0.isExpired(at: now) || found.contains($0) }
  }

  /// Whether `intercept` is to sign for a name that none of its authorities may sign for now: one has expired.
  /// - Parameter now: seconds since 1970.
  public func lacksSigners(at now: Int64) -> Bool {
    guard let intercept else { return false }
    return intercept.authorities.lacks(settings.signedNames, together: settings.namesTogether, at: now)
  }

  /// A reload on demand changes something about a credential's source, although the configuration is the same.
  public var hasSourcesToAsk: Bool { credentials.contains { $0.policy.tokens?.source != nil } }

  /// The origin of a request that the entry serves.
  func origin(of entry: Entry, host: String, port: UInt16, isHTTPS: Bool) -> Origin {
    if let origin = entry.origin { return origin }
    // A wildcard or unlisted host is an origin of its own. A listed host uses https, an unlisted one what the app asked for.
    let https = entry.isUnlisted ? isHTTPS : true
    let origin = UpstreamSettings.Origin(
      scheme: https ? .https : .http, host: host, port: entry.isUnlisted ? port : entry.settings.origin.port)
    return Snapshot.origin(
      origin, entry.trust ?? defaultTrust, entry.identity, checksAddresses: true, account: entry.account,
      route: ways.route(to: origin, of: entry.settings))
  }

  static func origin(
    _ origin: UpstreamSettings.Origin, _ trust: TrustMaterial, _ identity: TLSIdentity?, checksAddresses: Bool, account: String,
    route: Route? = nil
  ) -> Origin {
    let isTLS = origin.scheme == .https
    return Origin(
      OriginIdentity(
        scheme: origin.scheme, host: origin.host, port: origin.port, trustDigest: isTLS ? trust.digest : [],
        certificateDigest: isTLS ? PolicyDigest.of(identity) : [], checksAddresses: checksAddresses, account: account,
        route: route?.digest ?? []),
      trust: isTLS ? trust : nil, clientIdentity: isTLS ? identity : nil, route: route)
  }
}

extension CredentialPolicy {
  /// What an app's own credential looks like where this one is sent.
  var form: ForwardingRules.CredentialForm { if case .sigv4 = kind { .awsSignature } else { .field } }
}

/// Token stores by their settings. They outlive configurations, because they hold locks, or the tokens themselves.
private final class TokenStores: Sendable {
  private let stores = Mutex<[TokenStoreSettings: any TokenStore]>([:])

  func store(_ settings: TokenStoreSettings) throws(FileTokenStore.Problem) -> any TokenStore {
    if let known = stores.withLock({ $0[settings] }) { return known }
    let store: any TokenStore
    switch settings {
    case .memory: store = MemoryTokenStore()
    case .file(let path, let key): store = try FileTokenStore(path: path, key: key)
    // Records of a fleet's store are not read here. Credentials that are not shared have no record.
    case .shared: store = MemoryTokenStore()
    }
    return stores.withLock { stores in
      if let known = stores[settings] { return known }
      stores[settings] = store
      return store
    }
  }
}
