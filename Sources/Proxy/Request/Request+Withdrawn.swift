import Routing

/// A request keeps the configuration that it began with. But a redirect begins an exchange with somebody else, maybe long after: what
/// a reload has taken out, or would serve otherwise now, is not asked.
extension Request {
  /// Whether the present configuration has no such exchange any more.
  func isWithdrawn(_ hop: Hop, of redirection: Redirection) -> Bool {
    let present = services.snapshot
    guard present !== snapshot else { return false }
    guard let client = present.identity(of: redirection.client) else { return true }
    // A host has no credential that could be withdrawn.
    guard let place = hop.place else { return hop.entry.trust?.digest != present.defaultTrust.digest }
    guard let entry = present.entries.first(where: { !$0.isUnlisted && $0.name == hop.entry.name }),
      entry.settings.credential == hop.entry.settings.credential,
      !hop.redirect.target.url.isHTTPS || entry.trust?.digest == hop.entry.trust?.digest
    else { return true }
    var from: RoutePlace?
    if place.entry == redirection.place?.entry {
      from = RoutePlace(entry: entry.index, match: min(place.match, entry.rules.count - 1))
    }
    let destination = try? present.router.destination(
      of: hop.redirect.target, from: from, asked: redirection.host,
      by: RedirectRules(limit: 1, methods: .all, entries: [entry.index]), for: client)
    guard case .entry(let found, _) = destination else { return true }
    return found.entry != entry.index
  }
}

extension Snapshot {
  /// What this configuration says of a client of an older one; nil: it does not know the client.
  fileprivate func identity(of client: ClientIdentity) -> ClientIdentity? {
    guard let name = client.name else { return ClientIdentity(anonymousIn: settings) }
    return settings.clients.first { $0.name == name }.map { ClientIdentity($0) }
  }
}
