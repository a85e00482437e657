import Cache
import Routing
import Upstreams

extension Shared {
  /// Drops what the configuration no longer serves as it did. Every loop has the snapshot already.
  public func dropStored(under snapshot: Snapshot) {
    registry.forgetStandings(but: Set(snapshot.credentials.map(\.serial)))
    // With each partition, or another one could have its address once its answers are gone.
    var known: [ObjectIdentifier: (partition: Partition, isKept: Bool)] = [:]
    cache.drop(.reload) { answer in
      let id = ObjectIdentifier(answer.partition)
      let isKept = known[id]?.isKept ?? snapshot.keeps(answer.partition, registry)
      known[id] = (answer.partition, isKept)
      return !isKept
    }
  }

  /// The origin's certificate is revoked: what it has ever said counts for nothing.
  func dropStored(of origin: OriginIdentity, under snapshot: Snapshot) {
    guard let origins = snapshot.cacheOrigins else { return }
    let digest = CacheDigest(parts: [origins.canonical(of: origin)])
    cache.drop(.trust) { _, partition in partition.origin == digest }
  }
}

extension Snapshot {
  /// Whether requests of this configuration would find what is stored under the partition.
  fileprivate func keeps(_ partition: Partition, _ registry: CredentialRegistry) -> Bool {
    let base = partition.base
    guard let origins = cacheOrigins, let entry = entries.first(where: { $0.name == base.entry && !$0.isUnlisted }),
      let cache = entry.cache
    else { return false }
    if case .name(let name) = partition.client, !settings.clients.contains(where: { $0.name == name }) { return false }
    guard partition.credential == CacheDigest.none || partition.credential == epoch(of: entry, registry)?.digest else {
      return false
    }
    return entry.settings.matches.contains { match in
      guard base.match == match.text else { return false }
      guard let written = entry.origin?.identity else { return keepsHost(of: base, entry, match, cache, origins) }
      var wanted = cache.base(match: match, origin: written, canonical: origins.canonical(of: written))
      wanted.asked = base.asked
      return wanted == base
    }
  }

  /// Of a host that is an origin of its own.
  private func keepsHost(
    of base: Partition.Base, _ entry: Entry, _ match: Match, _ cache: EntryCache, _ origins: CacheOrigins
  ) -> Bool {
    guard let asked = base.asked else { return false }
    let origin = origin(of: entry, host: asked.host, port: asked.port, isHTTPS: true)
    var wanted = cache.base(match: match, origin: origin.identity, canonical: origins.canonical(of: origin.identity))
    wanted.asked = asked
    return wanted == base
  }

  private func epoch(of entry: Entry, _ registry: CredentialRegistry) -> CredentialEpoch? {
    entry.credential.flatMap { registry.standing(of: credentials[$0].serial).epoch }
  }
}
