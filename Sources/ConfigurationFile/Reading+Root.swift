import Settings

extension Reading {
  /// Reads the whole file. Errors go to the report; only without errors is the result complete.
  func settings(_ root: Section<RootKeys>) -> Settings {
    let timeouts = timeouts(root)
    let limits = limits(root)
    let policies = trust(root)
    let allMustBeNamed = root.read(\.allHostsMustBeEvaluated)
    func isMisspelt(_ key: (RootKeys) -> DescribedKey) -> Bool { !root.has(key) && root.isMisspelt(key) }
    let rules = TrustRules(policies: policies, allMustBeNamed: allMustBeNamed, isUnknown: isMisspelt(\.trust))
    let tokenStore = isMisspelt(\.tokenStore) ? nil : tokenStore(root, trust: rules)
    let credentials = credentials(root, trust: rules, tokenStore: tokenStore)
    let clientNames = entryNames(root, \.clients, of: ClientKeys.self, [\.name])
    let known = isMisspelt(\.credentials) ? nil : credentials
    let parentNames = parentNames(root)
    let outbound = outbound(root, \.ways.outbound) ?? OutboundAddressing()
    let upstreamNames = entryNames(root, \.upstreams, of: UpstreamKeys.self, [\.name, \.match])
    let upstreams = upstreams(
      root,
      UpstreamContext(
        names: upstreamNames, trust: rules, credentials: known, clients: clientNames, timeouts: timeouts, parents: parentNames,
        outbound: outbound, cacheLimit: limits.cache))
    let ways = ways(
      root, parentNames, ParentContext(trust: rules, credentials: known), entries: upstreams.compactMap(\.via),
      outbound: outbound)

    let unlisted = root.read(\.unlistedHosts)
    let tunnels = connectAllow(root)
    let connectAllow = tunnels.map(\.pattern)
    let access = AccessContext(
      upstreams: upstreamNames,
      reachable: unlisted == .forward ? nil : connectAllow)
    let clientsConfigured = root.mentions(\.clients)
    let listeners = listeners(root, clientsConfigured: clientsConfigured)
    let clients = clients(
      root, access, verifiesCertificates: listeners.contains { $0.settings.tls?.clientCertificates != nil })
    warnOfClaims(listeners, clients)
    let intercept = intercept(
      root, InterceptContext(upstreams: upstreams, listeners: listeners.map(\.settings), connectAllow: tunnels))
    checkNames(of: listeners, root, intercept)
    let anonymous = anonymous(
      root, access, clientsConfigured: clientsConfigured, listeners: listeners.map(\.settings))
    var settings = Settings(
      name: processName(root), listeners: listeners.map(\.settings),
      admin: root.read(\.admin).flatMap { admin($0, listeners: listeners.map(\.address)) },
      threads: root.read(\.threads), watchInterval: root.read(\.watchFiles), log: log(root), limits: limits,
      timeouts: timeouts,
      clients: clients, anonymous: anonymous.allow, anonymousMaxRequests: anonymous.maxRequests, unlistedHosts: unlisted,
      connectAllow: connectAllow,
      forbiddenAddresses: forbiddenAddresses(root), upstreams: upstreams.map(\.settings),
      credentials: credentials.compactMapValues(\.policy).merging(ways.environment.credentials) { own, _ in own },
      tokenStore: tokenStore ?? .memory,
      trust: policies.compactMapValues { $0 },
      allHostsMustBeEvaluated: allMustBeNamed, intercept: intercept?.settings)
    settings.apply(ways)
    checkLoops(ways, listeners, admin: settings.admin)
    settings.systemRoots = systemRoots(for: settings)
    checkPublishedRoots(root, settings)
    if upstreams.isEmpty && unlisted == .deny && connectAllow.isEmpty && !root.mentions(\.upstreams) {
      warning(root.place, "there are no 'upstreams', and no other host is allowed: the proxy will refuse every request")
    }
    warnOfUnused(root, settings)
    warnOfWays(root, ways, upstreams, settings)
    // Nothing may be dropped without an error in the report.
    assert(
      report.hasErrors
        || (settings.credentials.count == credentials.count + ways.environment.credentials.count
          && settings.trust.count == policies.count
          && upstreams.count == root.read(\.upstreams)?.items.count ?? 0
          && settings.parents.count == parentNames.indices.count + ways.environment.parents.count
          && clients.count == root.read(\.clients)?.items.count ?? 0)
    )
    return settings
  }

  /// Warns of credentials and policies that nothing refers to: either a reference is mistyped, or they are left over.
  private func warnOfUnused(_ root: Section<RootKeys>, _ settings: Settings) {
    var credentials = Set(settings.upstreams.compactMap(\.credential) + settings.parents.compactMap(\.credential))
    var trust = Set(settings.upstreams.compactMap(\.trust) + settings.parents.compactMap(\.trust)).union(["default"])
    for policy in settings.credentials.values.compactMap(\.tokens) {
      if let name = policy.trust { trust.insert(name) }
      credentials.formUnion(policy.sourceNames)
    }
    if let name = settings.tokenStore.shared?.trust.name { trust.insert(name) }
    // An entry with an error is missing from `settings`, and so is what it refers to.
    guard !report.hasErrors else { return }
    for entry in root.read(\.credentials) ?? [] where !credentials.contains(entry.name.value) {
      warning(entry.name.place, "\(entry.path.shown) is used by no upstream")
    }
    for entry in root.read(\.trust) ?? [] where !trust.contains(entry.name.value) {
      warning(entry.name.place, "\(entry.path.shown) is not used")
    }
  }
}
