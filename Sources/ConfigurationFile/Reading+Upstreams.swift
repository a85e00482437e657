import Routing
import Settings
import TLS

extension Reading {
  struct UpstreamDraft {
    var settings: UpstreamSettings
    var name: Located<String>
    /// In the order of the settings'.
    var matches: [MatchDraft]
    var via: ViaDraft?
    /// The entries that its redirects may lead to.
    var redirectTargets: [TextItem]
  }

  struct MatchDraft {
    var match: UpstreamSettings.Match
    var place: Place
    var path: KeyPath
  }

  /// What an entry can refer to by name.
  struct UpstreamContext {
    /// Of the entries themselves; nil: unknown.
    var names: Set<String>?
    var trust: TrustRules
    /// nil here and below: unknown, because the section's key is misspelt.
    var credentials: [String: CredentialDraft]?
    var clients: Set<String>?
    var timeouts: Timeouts
    var parents: ParentNames
    /// The file's.
    var outbound: OutboundAddressing
    /// `limits.cache`.
    var cacheLimit: Int
  }

  func upstreams(_ root: Section<RootKeys>, _ context: UpstreamContext) -> [UpstreamDraft] {
    var drafts: [UpstreamDraft] = []
    // By hash, as there may be thousands of entries.
    var names: [String: Place] = [:]
    var matches: [UpstreamSettings.Match: [(settings: UpstreamSettings, place: Place)]] = [:]
    for entry in root.read(\.upstreams)?.items ?? [] {
      guard let draft = upstream(entry, context) else { continue }
      if let place = names[draft.name.value] {
        error(
          draft.name.place,
          "\(entry.path.shown): there is already an upstream named \(shown(draft.name.value)) at \(place); "
            + "give one of them another 'name'")
      }
      if ["none", "tunnel"].contains(draft.name.value) {
        error(
          draft.name.place,
          "\(entry.path.shown): metrics use the name \(shown(draft.name.value)) for requests without an entry; "
            + "give it another 'name'")
      }
      for match in draft.matches {
        if let other = matches[match.match]?.first(where: { collide($0.settings, draft.settings) }) {
          error(match.place, "\(entry.path.shown): the same match for the same clients is at \(other.place)")
        }
        matches[match.match, default: []].append((draft.settings, match.place))
      }
      names[draft.name.value] = draft.name.place
      drafts.append(draft)
    }
    checkRedirects(drafts)
    return drafts
  }

  /// Whether two entries with equal matches could both serve some client.
  private func collide(_ one: UpstreamSettings, _ other: UpstreamSettings) -> Bool {
    switch (one.clients, other.clients) {
    case (nil, nil): return true
    case (let left?, let right?): return !left.isDisjoint(with: right)
    // An entry with `clients` is more specific than one without.
    default: return false
    }
  }

  private func upstream(_ entry: Section<UpstreamKeys>, _ context: UpstreamContext) -> UpstreamDraft? {
    let name = entry.read(\.name)
    let written = entry.read(\.match)
    let matches = (written?.items ?? []).compactMap { match($0) }
    if entry.hasEmptyList(\.match) { error(entry.valuePlace(\.match), "\(entry.path(\.match).shown) is empty") }
    let clients = clients(entry, known: context.clients)
    let methods = methods(entry)
    let origins = origins(entry)
    let origin = origins.first
    let credential = entry.read(\.credential)
    let wildcardCredential = entry.read(\.wildcardCredential)
    let trust = entry.read(\.trust)
    let certificate = entry.read(\.clientCertificate).flatMap(clientCertificate)?.files
    let authorization = entry.read(\.clientAuthorization)
    let retry = retry(entry)
    let rewrite = rewrite(entry)
    let timeouts = timeouts(ofUpstream: entry, over: context.timeouts)
    let decompress = entry.read(\.decompress)
    let hostHeader = entry.read(\.hostHeader)
    let httpVersion = entry.read(\.httpVersion)
    let via = via(entry, \.ways.via, context.parents)
    let outbound = outbound(entry, \.ways.outbound, outer: context.outbound)
    let draft = credential.flatMap { self.credential($0, entry, context.credentials) }
    let stripsPrefix = entry.read(\.stripPrefix)
    let redirects = redirects(entry, names: context.names)
    let cache = cache(entry, credential: draft, limit: context.cacheLimit)
    let requestHeaders = headerRules(entry, \.requestHeaders, credential: draft)
    let responseHeaders = headerRules(entry, \.responseHeaders, credential: draft)

    if let name, !checkName(name, entry.path(\.name)) { return nil }
    if let trust { _ = context.trust.check(trust, entry.path(\.trust), self) }
    checkCookies(entry, rewrite, matches)
    if stripsPrefix { checkPrefix(entry, matches, origin) }
    guard let written, written.isWhole, matches.count == written.items.count, let first = matches.first,
      origin != nil || !entry.has(\.origin)
    else { return nil }
    var settings = UpstreamSettings(
      name: name?.value ?? written.items[0].text.value, matches: matches.map(\.match), clients: clients,
      origin: origin ?? standardOrigin(matches, entry),
      originIsExplicit: origin != nil, credential: credential?.value, trust: trust?.value, clientCertificate: certificate,
      clientAuthorization: authorization, retry: retry, rewrite: rewrite, timeouts: timeouts, decompress: decompress,
      hostHeader: hostHeader)
    settings.otherOrigins = Array(origins.dropFirst())
    settings.via = via?.via
    settings.outbound = outbound
    settings.methods = methods
    settings.stripsPrefix = stripsPrefix
    settings.redirects = redirects?.settings
    settings.cache = cache
    settings.httpVersion = httpVersion
    settings.requestHeaders = requestHeaders
    settings.responseHeaders = responseHeaders
    if entry.has(\.credential) {
      checkWildcard(settings, entry, wildcardCredential)
      checkSubject(settings, entry, draft)
      checkChallenges(settings, entry, draft)
      checkSegment(settings, entry, draft)
      checkSignedHost(settings, entry, draft)
      checkNegotiate(settings, entry, draft)
    } else {
      if entry.has(\.wildcardCredential) {
        warning(
          entry.keyPlace(\.wildcardCredential),
          "\(entry.path(\.wildcardCredential).shown) has no effect: there is no 'credential'")
      }
      if entry.has(\.clientAuthorization) {
        warning(
          entry.keyPlace(\.clientAuthorization),
          "\(entry.path(\.clientAuthorization).shown) has no effect: there is no 'credential'")
      }
    }
    checkHTTPVersion(settings, entry, draft)
    checkProtection(settings, entry, draft, context.trust)
    warnOfPlanted(settings, entry, context.trust)
    return UpstreamDraft(
      settings: settings, name: name ?? Located(value: settings.name, place: first.place), matches: matches, via: via,
      redirectTargets: redirects?.targets ?? [])
  }

  /// Where the requests go if it is not written. Several matches lead to one place, or nobody could tell which.
  private func standardOrigin(_ matches: [MatchDraft], _ entry: Section<UpstreamKeys>) -> UpstreamSettings.Origin {
    let origins = matches.map { draft in
      UpstreamSettings.Origin(
        scheme: .https, host: draft.match.isWildcard ? "" : draft.match.host,
        port: draft.match.scheme == .https ? draft.match.port ?? 443 : 443)
    }
    let hosts = Set(matches.map { HostPattern(host: $0.match.host, isWildcard: $0.match.isWildcard, port: nil) })
    if hosts.count > 1 || Set(origins).count > 1 {
      error(
        entry.valuePlace(\.match),
        "\(entry.path(\.match).shown) lists matches that would go to different origins; write 'origin' out")
    }
    return origins[0]
  }

  /// A cookie without Secure would go out in the clear, and an app that asks for https:// never needs it.
  private func checkCookies(_ entry: Section<UpstreamKeys>, _ rewrite: UpstreamSettings.Rewrite, _ matches: [MatchDraft]) {
    guard rewrite.secureCookies, let match = matches.first(where: { $0.match.scheme == .https }) else { return }
    error(
      entry.valuePlace(\.rewrite),
      "\(entry.path(\.rewrite).shown): 'secure_cookies: true' is for http apps, and the match at \(match.place) is https://")
  }

  private func credential(_ name: Located<String>, _ entry: Section<UpstreamKeys>, _ known: [String: CredentialDraft]?)
    -> CredentialDraft?
  {
    guard let known else { return nil }
    if let draft = known[name.value] { return draft }
    error(
      name.place,
      "\(entry.path(\.credential).shown): there is no \(shown(name.value)) in "
        + "'credentials'\(suggestion(for: name.value, among: known.keys))"
    )
    return nil
  }

  private func checkWildcard(_ settings: UpstreamSettings, _ entry: Section<UpstreamKeys>, _ wildcardCredential: Bool) {
    let path = entry.path(\.wildcardCredential).shown
    if let wildcard = settings.matches.first(where: \.isWildcard) {
      if !settings.originIsExplicit && !wildcardCredential {
        error(
          entry.keyPlace(\.credential),
          "\(entry.path.shown): any host below '*.\(wildcard.host)' would get the credential; set "
            + "'origin', or say 'wildcard_credential: true'"
        )
      }
    } else if wildcardCredential {
      warning(entry.keyPlace(\.wildcardCredential), "\(path) has no effect: 'match' is not a wildcard")
    }
  }

  /// A credential needs verified TLS, unless its `allow_plaintext` or `allow_untrusted` says otherwise.
  private func checkProtection(
    _ settings: UpstreamSettings, _ entry: Section<UpstreamKeys>, _ credential: CredentialDraft?, _ trust: TrustRules
  ) {
    if credential?.isCertificateBound == true { checkBinding(settings, entry) }
    if settings.origin.scheme == .unix { return refuseNetworkKeys(entry) }
    guard settings.origin.scheme == .https else {
      let reason = "has no effect: the origin is http://"
      entry.refuse([\.trust, \.clientCertificate], because: reason)
      if let credential, !credential.allowPlaintext {
        error(
          entry.valuePlace(\.origin),
          "\(entry.path.shown): credential \(shown(settings.credential ?? "")) would go over http:// in the "
            + "clear; say 'allow_plaintext: true' in it to allow this"
        )
      }
      return
    }
    if trust.allMustBeNamed && !entry.has(\.trust) {
      error(entry.place, "\(entry.path.shown) names no 'trust', but all_hosts_must_be_evaluated is true")
    }
    if let credential, !credential.allowUntrusted, let gap = trust.gap(settings.trust) {
      error(
        entry.has(\.trust) ? entry.valuePlace(\.trust) : entry.valuePlace(\.credential),
        "\(entry.path.shown): trust \(shown(gap.name)) \(gap.what); say 'allow_untrusted: true' in credential "
          + "\(shown(settings.credential ?? "")) to allow this"
      )
    }
  }

  /// Of tokens to the credential's certificate, which the origin must see (RFC 8705 section 3).
  private func checkBinding(_ settings: UpstreamSettings, _ entry: Section<UpstreamKeys>) {
    let reason = "credential \(shown(settings.credential ?? "")) has 'certificate_bound: true'"
    if settings.origin.scheme != .https {
      let origin = settings.origin.scheme == .unix ? "a unix socket" : "an http:// origin"
      error(entry.valuePlace(\.origin), "\(entry.path.shown): \(reason), and \(origin) sees no certificate")
    } else if entry.has(\.clientCertificate) {
      error(
        entry.keyPlace(\.clientCertificate),
        "\(entry.path(\.clientCertificate).shown): \(reason), so the entry presents that credential's certificate")
    }
  }

  private static let secureScheme = "https://"

  /// `[https://]host[:port][/path/prefix]`.
  private func match(_ item: TextItem) -> MatchDraft? {
    do throws(HostError) {
      let isSecure = item.text.value.lowercased().hasPrefix(Self.secureScheme)
      let text = isSecure ? String(item.text.value.dropFirst(Self.secureScheme.count)) : item.text.value
      guard !text.contains("://") else {
        throw HostError("must be [https://]host[:port][/path]; for http:// URLs it has no scheme, and there are no others")
      }
      guard !text.contains("@") else { throw HostError("must not contain a user or password") }
      let slash = text.firstIndex(of: "/") ?? text.endIndex
      let pattern = try HostPattern(parsing: String(text[..<slash]))
      guard !pattern.host.isEmpty else { throw HostError("must name a host; 'unlisted_hosts' is for all other hosts") }
      let match = UpstreamSettings.Match(
        scheme: isSecure ? .https : .http, host: pattern.host, isWildcard: pattern.isWildcard, port: pattern.port,
        pathPrefix: try prefix(String(text[slash...])))
      return MatchDraft(match: match, place: item.text.place, path: item.path)
    } catch {
      self.error(item.text.place, "\(item.path.shown) \(error)")
      return nil
    }
  }

  func prefix(_ text: String) throws(HostError) -> String {
    var prefix = text
    if prefix.hasSuffix("/") { prefix.removeLast() }
    guard !prefix.isEmpty else { return "" }
    // Routing refuses requests with these forms on such a host, so the prefix could never match.
    let lower = prefix.lowercased()
    let segments = lower.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    let bad = segments.contains { segment in
      let plain = segment.split(separator: "%2e", omittingEmptySubsequences: false).joined(separator: ".")
      return segment.isEmpty || plain == "." || plain == ".."
    }
    guard !bad, !lower.contains("%2f"), !lower.contains("\\") else {
      throw HostError("has a path with an empty or dot segment, %2f or a backslash")
    }
    // An origin may remove parameters and decode these characters. The prefix must be what the origin then reads.
    guard !lower.contains(";"), !lower.contains("%3b") else {
      throw HostError("has a path with a parameter (';'), which many servers cut off")
    }
    guard !hasEncodedUnreserved(Array(lower.utf8)) else {
      throw HostError("has a path with an encoded letter, digit, '-', '_' or '~'; write it unencoded")
    }
    // pchar, RFC 3986 section 3.3.
    guard prefix.utf8.allSatisfy({ isPathByte($0) }) else {
      throw HostError("has a path with a character that paths cannot have")
    }
    return prefix
  }

  /// RFC 3986 section 2.3: these characters mean the same encoded and unencoded.
  private func hasEncodedUnreserved(_ path: [UInt8]) -> Bool {
    path.indices.contains { index in
      guard path[index] == UInt8(ascii: "%"), index + 2 < path.count,
        let byte = UInt8(String(decoding: path[(index + 1)...(index + 2)], as: UTF8.self), radix: 16)
      else { return false }
      switch byte {
      case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: return true
      default: return "-._~".utf8.contains(byte)
      }
    }
  }

  private func isPathByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
    default: "/-._~%!$&'()*+,;=:@".utf8.contains(byte)
    }
  }

  private func clients(_ entry: Section<UpstreamKeys>, known: Set<String>?) -> Set<String>? {
    guard let names = entry.read(\.clients) else { return nil }
    if entry.hasEmptyList(\.clients) {
      error(entry.valuePlace(\.clients), "\(entry.path(\.clients).shown) is empty: no client could use this entry")
    }
    for name in names where known?.contains(name.text.value) == false {
      error(
        name.text.place,
        "\(name.path.shown): there is no \(shown(name.text.value)) in "
          + "'clients'\(suggestion(for: name.text.value, among: known ?? []))"
      )
    }
    return Set(names.map(\.text.value))
  }

  private func retry(_ entry: Section<UpstreamKeys>) -> UpstreamSettings.Retry {
    var retry = UpstreamSettings.Retry()
    guard let section = entry.read(\.retry) else { return retry }
    retry.attempts = section.read(\.attempts)
    if let methods = section.read(\.methods) {
      retry.methods = []
      for item in methods {
        if RetryKeys.idempotentMethods.contains(item.text.value) {
          retry.methods.insert(item.text.value)
        } else {
          let known = RetryKeys.idempotentMethods.joined(separator: ", ")
          error(
            item.text.place,
            "\(item.path.shown): \(shown(item.text.value)) is not among the idempotent methods "
              + "\(known)\(suggestion(for: item.text.value, among: RetryKeys.idempotentMethods)); repeating another one "
              + "could do twice what the app asked for once"
          )
        }
      }
      if section.hasEmptyList(\.methods) {
        error(
          section.valuePlace(\.methods), "\(section.path(\.methods).shown) is empty; to switch retries off, say 'attempts: 0'")
      }
    }
    retry.statuses = section.read(\.statuses)
    retry.backoff = section.read(\.backoff)
    retry.maxWait = section.read(\.maxWait)
    return retry
  }

  private func rewrite(_ entry: Section<UpstreamKeys>) -> UpstreamSettings.Rewrite {
    var rewrite = UpstreamSettings.Rewrite()
    guard let section = entry.read(\.rewrite) else { return rewrite }
    rewrite.location = section.read(\.location)
    rewrite.link = section.read(\.link)
    rewrite.secureCookies = section.read(\.secureCookies)
    return rewrite
  }
}
