import HTTPWire
import Routing
import Upstreams

/// A request keeps the configuration that it began with. But a redirect begins an exchange with somebody else, maybe long after: what
/// a reload has taken out, or would serve otherwise now, is not asked.
extension Request {
  /// Whether the present configuration has no such exchange any more.
  func isWithdrawn(_ hop: Hop, of redirection: Redirection) -> Bool {
    let present = services.snapshot
    guard present !== snapshot else { return false }
    guard let client = present.identity(of: redirection.client) else { return true }
    // Whether it would be followed is for the entry that the app asked to say, as it says now. Whoever may not ask it is led nowhere by it.
    guard let own = present.entry(named: redirection.entry.name), let rules = own.redirects, redirection.count < rules.limit,
      let first = present.arrival(at: own, rules, of: redirection, client, self)
    else { return true }
    let from = redirection.place.flatMap { place in
      present.entry(named: snapshot.entries[place.entry].name).map {
        $0 === own ? first : RoutePlace(entry: $0.index, match: min(place.match, $0.rules.count - 1))
      }
    }
    let destination = try? present.router.destination(
      of: hop.redirect.target, from: from, first: first, asked: redirection.host, by: rules, for: client)
    // A host has no credential that could be withdrawn.
    guard hop.place != nil else {
      return destination != .host || !present.reaches(snapshot.origins(of: hop), as: hop.entry)
    }
    guard case .entry(let found, _) = destination, let entry = present.entry(named: hop.entry.name), found.entry == entry.index
    else { return true }
    // A name says nothing: it can mean another credential now, or be shown with another certificate.
    return present.credential(of: entry) != snapshot.credential(of: hop.entry)
      || present.origins(of: hop, as: entry) != snapshot.origins(of: hop)
  }
}

extension Snapshot {
  /// Where the app's request would come in now; nil: nowhere, at another entry, or where its method is not followed.
  fileprivate func arrival(
    at entry: Entry, _ rules: RedirectRules, of redirection: Redirection, _ client: ClientIdentity, _ request: Request
  ) -> RoutePlace? {
    // Behind a CONNECT, for whatever is inside of it.
    let isBound = request.app.connectedAuthority != nil
    let (host, port, isHTTPS) = (redirection.host, redirection.port, redirection.isHTTPS)
    let routes =
      isBound && isHTTPS
      ? router.findIntercepted(host: host, port: port) : router.find(host: host, port: port, isHTTPS: isHTTPS)
    return redirection.head.withUnsafeBytes { bytes -> RoutePlace? in
      var head = RequestHead()
      guard case .complete = head.parse(bytes, limit: bytes.count), let target = try? RequestTarget(of: head, in: bytes),
        rules.methods.contains(head.method, head.methodText, in: bytes)
      else { return nil }
      let found = try? router.place(
        routes, method: head.method, methodText: head.methodText, host: host, port: port, isHTTPS: isHTTPS, path: target.path,
        in: bytes, for: client, isBound: isBound)
      return found?.entry == entry.index ? found : nil
    }
  }

  fileprivate func entry(named name: String) -> Entry? { entries.first { !$0.isUnlisted && $0.name == name } }

  /// What this configuration says of a client of an older one; nil: it does not know the client.
  fileprivate func identity(of client: ClientIdentity) -> ClientIdentity? {
    guard let name = client.name else { return ClientIdentity(anonymousIn: settings) }
    return settings.clients.first { $0.name == name }.map { ClientIdentity($0) }
  }

  fileprivate func credential(of entry: Entry) -> CredentialIdentity? { entry.credential.map { credentials[$0].identity } }

  /// What connections for a hop are bound to, under this configuration: trust, client certificate and way among it.
  /// - Parameter entry: of this configuration; nil: the hop's is.
  fileprivate func origins(of hop: Request.Hop, as entry: Entry? = nil) -> [OriginIdentity] {
    let entry = entry ?? hop.entry
    let written = entry.writtenOrigins
    if !written.isEmpty { return written.map(\.identity) }
    return [origin(of: entry, host: hop.url.host, port: hop.url.effectivePort, isHTTPS: hop.url.isHTTPS).identity]
  }

  /// Whether hosts without an entry are still reached under the same trust and by the same way.
  fileprivate func reaches(_ hosts: [OriginIdentity], as entry: Entry) -> Bool {
    hosts.allSatisfy { host in
      host.trustDigest == defaultTrust.digest && host.route == ways.route(to: host, of: entry)?.digest ?? []
    }
  }
}
