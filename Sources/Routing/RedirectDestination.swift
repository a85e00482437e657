import HTTPWire

/// Who serves the next request of a redirect.
public enum RedirectDestination: Sendable, Hashable {
  /// An entry.
  /// - Parameter url: as an app would ask for it.
  case entry(RoutePlace, url: String)
  /// A host that the rules list: without a credential, whatever entries there are for it.
  case host
}

extension Router {
  /// Finds who serves the target of a redirect: the entry that answered, an entry that the rules name, or a host that they name.
  /// - Parameters:
  ///   - place: the entry that answered, and its match; nil: a host did.
  ///   - first: the entry that the app asked, and its match: of several, it is the one that the app knows.
  ///   - asked: the host that the app asked for, as `normalisedHost` gives it: of many below a wildcard.
  public func destination(
    of target: AskedTarget, from place: RoutePlace?, first: RoutePlace, asked: String, by rules: RedirectRules,
    for client: ClientIdentity
  ) throws(RedirectRefusal) -> RedirectDestination {
    var candidates = place.map { [($0.entry, [$0.match], asked as String?)] } ?? []
    for entry in rules.entries where entry != place?.entry {
      let known = entry == first.entry ? first.match : 0
      candidates.append((entry, [known] + entries[entry].matches.indices.filter { $0 != known }, nil))
    }
    var refusal: RedirectRefusal?
    for (index, matches, asked) in candidates {
      for match in matches {
        guard let url = entries[index].url(of: target.url, by: match, asked: asked) else { continue }
        if let found = serves(target.method, url, client), found.entry == index { return .entry(found, url: url.text) }
        refusal = .notServed(entry: entries[index].name)
      }
    }
    // The credential of an entry that the rules name is not evaded by going there without it.
    if let refusal { throw refusal }
    let url = target.url
    guard url.isHTTPS, rules.hosts.contains(where: { $0.matches(host: url.host, port: url.effectivePort) }) else {
      throw .notListed(host: url.host)
    }
    return .host
  }

  /// The entry that serves what an app would ask for like this, and no other way.
  private func serves(_ method: String, _ url: HTTPURL, _ client: ClientIdentity) -> RoutePlace? {
    let port = url.effectivePort
    let routes =
      url.isHTTPS
      ? findIntercepted(host: url.host, port: port) : find(host: url.host, port: port, isHTTPS: false)
    let text = Array((method + url.pathAndQuery).utf8)
    return text.withUnsafeBytes { bytes in
      let name = ByteSlice(start: 0, count: method.utf8.count)
      let end = bytes.firstIndex(of: UInt8(ascii: "?")) ?? bytes.count
      return try? place(
        routes, method: Method(name.bytes(in: bytes)), methodText: name, host: url.host, port: port, isHTTPS: url.isHTTPS,
        path: ByteSlice(start: name.count, count: end - name.count), in: bytes, for: client, isBound: true)
    }
  }
}

extension RoutedEntry {
  /// A URL of one of the entry's origins as an app asks for it; nil: it is none of them.
  /// - Parameters:
  ///   - asked: the host below a wildcard whose requests all go to one origin; nil: unknown.
  fileprivate func url(of target: HTTPURL, by index: Int, asked: String?) -> HTTPURL? {
    let match = matches[index]
    let found = origins.first { origin in
      target.isHTTPS == origin.isHTTPS && target.effectivePort == origin.port
        && (origin.host.isEmpty || target.host == origin.host)
    }
    guard let origin = found else { return nil }
    let host: String
    if origin.host.isEmpty {
      guard match.isWildcard, match.matches(host: target.host) else { return nil }
      host = target.host
    } else {
      guard let written = match.isWildcard ? asked : match.host else { return nil }
      host = written
    }
    guard let path = path(of: target.pathAndQuery, by: match) else { return nil }
    let isHTTPS = match.scheme == .https
    let standard: UInt16 = isHTTPS ? 443 : 80
    let authority = Authority.text(host: host, port: match.port ?? standard, defaultPort: standard)
    return try? HTTPURL((isHTTPS ? "https://" : "http://") + authority + path)
  }

  /// With the match's prefix in place of the origin's path, where one takes the place of the other.
  private func path(of target: String, by match: Match) -> String? {
    guard origins.first?.changesPath == true else { return target }
    var target = target
    let isUnder = target.withUTF8 { bytes in
      let path = bytes.firstIndex(of: UInt8(ascii: "?")).map { bytes[..<$0] } ?? bytes[...]
      return HostRoutes.matches(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: path)), Array(originPath.utf8))
    }
    guard isUnder else { return nil }
    let rest = match.pathPrefix + target.dropFirst(originPath.utf8.count)
    return rest.first == "/" ? rest : "/" + rest
  }
}
