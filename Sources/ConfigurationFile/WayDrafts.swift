import Credentials
import Settings
import WayOut

/// Everything of the file that says how origins are reached.
struct WayDrafts {
  var parents: [Reading.ParentDraft]
  var via: Reading.ViaDraft?
  var routes: [(route: WayTable.Route, via: Reading.ViaDraft)]
  var hosts: [String: [[UInt8]]]
  var outbound: OutboundAddressing
  var environment: Reading.EnvironmentDraft
  /// Of the first `environment`; nil: nothing uses it.
  var environmentPlace: Place?

  /// Those of the file, then those of `environment`. Complete only without errors.
  var settings: [ParentSettings] { parents.compactMap(\.settings) + environment.parents }

  var table: WayTable {
    WayTable(via: via?.via ?? .ways([.direct]), routes: routes.map(\.route), environment: environment.ways)
  }
}

extension Settings {
  mutating func apply(_ drafts: WayDrafts) {
    parents = drafts.settings
    ways = drafts.table
    hosts = drafts.hosts
    outbound = drafts.outbound
  }
}

extension Reading {
  /// The ways of what is no entry, for a credential that is read alone.
  /// - Parameter credentials: of the parents in question; others are not read.
  func sharedWays(
    _ root: Section<RootKeys>, _ names: ParentNames, credentials: Set<String>, trust: TrustRules,
    tokenStore: TokenStoreSettings?
  ) -> (drafts: WayDrafts, credentials: [String: CredentialPolicy]) {
    var read: [String: CredentialDraft] = [:]
    for entry in root.written(\.credentials).flatMap(named) ?? [] where credentials.contains(entry.name.value) {
      let section: Section<CredentialKeys>? = section(entry.value)
      read[entry.name.value] = section.map { credential(entry.name.value, $0, trust: trust, tokenStore: tokenStore) }
    }
    let drafts = ways(
      root, names, ParentContext(trust: trust, credentials: read, isPartial: true), entries: [],
      outbound: outbound(root, \.ways.outbound) ?? OutboundAddressing())
    return (drafts, read.compactMapValues(\.policy).merging(drafts.environment.credentials) { own, _ in own })
  }

  /// - Parameters:
  ///   - entries: the `via` of entries.
  ///   - outbound: the file's, which the entries have used already.
  func ways(
    _ root: Section<RootKeys>, _ names: ParentNames, _ context: ParentContext, entries: [ViaDraft],
    outbound: OutboundAddressing
  ) -> WayDrafts {
    let parents = parents(root, context)
    let via = via(root, \.ways.via, names)
    let routes = routes(root, names)
    let users = ([via].compactMap { $0 } + routes.map(\.via) + entries).filter { $0.via == .environment }
    let place = users.map(\.place).min()
    let environment = place.map {
      environmentWays(
        at: $0, firstIndex: names.indices.count, credentials: Set((context.credentials ?? [:]).keys), trust: context.trust)
    }
    return WayDrafts(
      parents: parents, via: via, routes: routes, hosts: hosts(root), outbound: outbound,
      environment: environment ?? EnvironmentDraft(), environmentPlace: place)
  }

  // MARK: Loops

  /// Reports parents that are listeners of ours: each request would come back.
  func checkLoops(_ ways: WayDrafts, _ listeners: [Listener], admin: AdminSettings?) {
    for parent in ways.parents {
      guard let url = parent.url, let port = url.value.port,
        let listener = listener(url.value.host, port, ways.hosts, listeners, admin)
      else { continue }
      let path = parent.path.key(ParentKeys.table.name(\.url)).shown
      error(url.place, "\(path) leads to the proxy itself, which listens on \(listener)")
    }
    guard let place = ways.environmentPlace else { return }
    let variables = ProxyVariables(environment).parents
    for parent in ways.environment.parents {
      guard let listener = listener(parent.host, parent.port, ways.hosts, listeners, admin) else { continue }
      let variable = variables.first { $0.name == parent.name }?.variable ?? parent.name
      error(place, "environment: \(variable) leads to the proxy itself, which listens on \(listener)")
    }
  }

  /// - Returns: the listener that a connection to this host and port would reach, from its text alone; nil: none.
  private func listener(
    _ host: String, _ port: UInt16, _ hosts: [String: [[UInt8]]], _ listeners: [Listener], _ admin: AdminSettings?
  ) -> String? {
    let loopback = ["127.0.0.1", "::1"].compactMap(IPAddress.parse)
    let isLocal = host == "localhost" || host.hasSuffix(".localhost")
    let addresses = hosts[host] ?? IPAddress.parse(host).map { [$0] } ?? (isLocal ? loopback : [])
    for endpoint in listeners.map(\.settings.endpoint) + [admin?.endpoint].compactMap({ $0 }) {
      guard case .tcp(let text, port) = endpoint, let own = IPAddress.parse(text) else { continue }
      if addresses.contains(where: { Self.reaches($0, own) }) {
        return text.utf8.contains(UInt8(ascii: ":")) ? "[\(text)]:\(port)" : "\(text):\(port)"
      }
    }
    return nil
  }

  /// A listener of every address has the loopback ones, and a connection to the unspecified address is one to loopback.
  private static func reaches(_ address: [UInt8], _ own: [UInt8]) -> Bool {
    func isUnspecified(_ address: [UInt8]) -> Bool {
      address.allSatisfy { $0 == 0 } || (IPAddress.isMappedIPv4(address) && address[12...].allSatisfy { $0 == 0 })
    }
    if address == own { return true }
    let isLoopback = IPAddress.isLoopback(address) || isUnspecified(address)
    if isUnspecified(own) { return isLoopback && (!IPAddress.isMappedIPv4(own) || IPAddress.isMappedIPv4(address)) }
    return isUnspecified(address) && IPAddress.isLoopback(own)
  }

  // MARK: Warnings

  /// Settings that mean what they say, but probably not what was meant.
  func warnOfWays(_ root: Section<RootKeys>, _ ways: WayDrafts, _ upstreams: [UpstreamDraft], _ settings: Settings) {
    guard !report.hasErrors, !settings.parents.isEmpty else { return }
    for draft in upstreams where draft.settings.origin.scheme == .http && draft.settings.credential != nil {
      let ways = draft.settings.origins.flatMap { origin in
        settings.ways.ways(host: origin.host, port: origin.port, isTLS: false, via: draft.settings.via).ways
      }
      guard let parent = settings.parents(of: ways).first else { continue }
      warning(
        draft.matches[0].place,
        "\(shown(draft.settings.name)): parent \(shown(parent.name)) can read the credential, as the origin is http://")
    }
    if root.has(\.forbiddenAddresses), !settings.forbiddenAddresses.isEmpty, let parent = resolver(settings) {
      warning(
        root.keyPlace(\.forbiddenAddresses),
        "forbidden_addresses do not hold for names that parent \(shown(parent.name)) resolves; 'resolve: here' makes the proxy check "
          + "them")
    }
    var used: Set<WayTable.Name> = []
    for case .ways(let names) in [settings.ways.via] + settings.ways.routes.map(\.via) + settings.upstreams.compactMap(\.via) {
      used.formUnion(names)
    }
    for (index, parent) in ways.parents.enumerated() where !used.contains(.parent(index)) {
      warning(parent.name.place, "\(parent.path.shown) is not used")
    }
  }

  /// A parent that resolves names that the file does not write out; nil: there is none.
  private func resolver(_ settings: Settings) -> ParentSettings? {
    let shared = [settings.ways.via] + settings.ways.routes.map(\.via)
    var possible: [Via] = []
    if settings.unlistedHosts == .forward || settings.connectAllow.contains(where: \.isWildcard) { possible += shared }
    for upstream in settings.upstreams where upstream.origin.host.isEmpty {
      possible += upstream.via.map { [$0] } ?? shared
    }
    for via in possible {
      let names: [WayTable.Name] =
        switch via {
        case .ways(let names): names
        case .environment:
          [settings.ways.environment.https, settings.ways.environment.http, settings.ways.environment.all].compactMap {
            $0?.name
          }
        }
      if let parent = settings.parents(of: names).first(where: { !$0.resolvesHere }) { return parent }
    }
    return nil
  }
}
