import Settings

extension Reading {
  /// All there is at the top, for telling a misspelt section before every key has been asked for.
  static let rootKeys = [
    "name", "listen", "admin", "threads", "watch_files", "log", "limits", "timeouts", "clients", "anonymous", "unlisted_hosts",
    "connect", "forbidden_addresses", "upstreams", "credentials", "token_store", "all_hosts_must_be_evaluated", "trust",
  ]

  /// The whole file. What is wrong is in the report; the value is whole only where nothing is.
  func settings(_ root: Section) -> Settings {
    let timeouts = timeouts(root)
    let policies = trust(root)
    let allMustBeNamed = root.bool("all_hosts_must_be_evaluated", default: false)
    func isMisspelt(_ key: String) -> Bool { !root.has(key) && root.mentions(key, among: Reading.rootKeys) }
    let rules = TrustRules(policies: policies, allMustBeNamed: allMustBeNamed, isUnknown: isMisspelt("trust"))
    let tokenStore = tokenStore(root)
    let credentials = credentials(root, trust: rules, tokenStore: tokenStore)
    let clientNames = entryNames(root, "clients", ["name"])
    let upstreams = upstreams(
      root,
      UpstreamContext(
        trust: rules, credentials: isMisspelt("credentials") ? nil : credentials, clients: clientNames, timeouts: timeouts))

    let unlisted = root.choice("unlisted_hosts", among: [.deny, .forward], default: Settings.UnlistedHosts.deny)
    let connectAllow = connectAllow(root)
    let access = AccessContext(
      upstreams: entryNames(root, "upstreams", ["name", "match"]), reachable: unlisted == .forward ? nil : connectAllow)
    let clients = clients(root, access)
    let clientsConfigured = root.mentions("clients", among: Reading.rootKeys)
    let listeners = listeners(root, clientsConfigured: clientsConfigured)
    let anonymous = anonymous(
      root, access, clientsConfigured: clientsConfigured, listeners: listeners.map(\.settings))
    var settings = Settings(
      name: processName(root), listeners: listeners.map(\.settings), admin: admin(root, listeners: listeners.map(\.address)),
      threads: threads(root), watchInterval: watchInterval(root), log: log(root), limits: limits(root), timeouts: timeouts,
      clients: clients, anonymous: anonymous.allow, anonymousMaxRequests: anonymous.maxRequests, unlistedHosts: unlisted,
      connectAllow: connectAllow,
      forbiddenAddresses: forbiddenAddresses(root), upstreams: upstreams.map(\.settings),
      credentials: credentials.compactMapValues(\.policy), tokenStore: tokenStore, trust: policies.compactMapValues { $0 },
      allHostsMustBeEvaluated: allMustBeNamed)
    settings.systemRoots = systemRoots(for: settings)
    root.finish()
    if upstreams.isEmpty && unlisted == .deny && connectAllow.isEmpty && !isMisspelt("upstreams") && !root.has("upstreams") {
      warning(root.place, "there are no 'upstreams', and nothing else may be reached: every request will be refused")
    }
    warnOfUnused(root, settings)
    // What is wrong is reported where it is found; nothing may be lost in silence.
    assert(
      report.hasErrors
        || (settings.credentials.count == credentials.count && settings.trust.count == policies.count
          && upstreams.count == root.list("upstreams")?.count ?? 0 && clients.count == root.list("clients")?.count ?? 0)
    )
    return settings
  }

  /// Names that nobody refers to are mistyped elsewhere, or left over.
  private func warnOfUnused(_ root: Section, _ settings: Settings) {
    let credentials = Set(settings.upstreams.compactMap(\.credential))
    var trust = Set(settings.upstreams.compactMap(\.trust)).union(["default"])
    for case .oauth2(let policy) in settings.credentials.values.map(\.kind) {
      if let name = policy.trust { trust.insert(name) }
    }
    // Where entries are wrong, what they refer to may be missing here.
    guard !report.hasErrors else { return }
    for (name, place, _) in root.section("credentials")?.named() ?? [] where !credentials.contains(name) {
      warning(place, "\(KeyPath(shown: "credentials").named(name).shown) is used by no upstream")
    }
    for (name, place, _) in root.section("trust")?.named() ?? [] where !trust.contains(name) {
      warning(place, "\(KeyPath(shown: "trust").named(name).shown) is used by nobody")
    }
  }
}
