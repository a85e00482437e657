import Cache
import Credentials
import Settings

/// `cache` of an entry.
extension Reading {
  /// nil: nothing is stored, or there is an error.
  /// - Parameters:
  ///   - credential: the entry's.
  ///   - limit: `limits.cache`, in bytes.
  func cache(_ entry: Section<UpstreamKeys>, credential: CredentialDraft?, limit: Int) -> CacheRules? {
    switch entry.read(\.cache) {
    case nil: return nil
    case .text(let text, let path)?:
      if text.value != CacheKeys.off {
        error(
          text.place,
          "\(path.shown) \(notAmong(text.value, [CacheKeys.off])), or a section, of which {} is the one with all defaults")
      }
      return nil
    case .section(let section)?:
      checkCredential(entry, credential)
      if limit == 0 {
        error(entry.keyPlace(\.cache), "\(entry.path(\.cache).shown) needs memory, and limits.cache is 0B")
      }
      return rules(section, entry, credential, limit: limit)
    }
  }

  /// One app's token is another app's identity: what one of them gets says nothing about the others.
  private func checkCredential(_ entry: Section<UpstreamKeys>, _ credential: CredentialDraft?) {
    guard case .oauth2(let policy)? = credential?.policy?.kind, policy.isPerSubject else { return }
    error(
      entry.keyPlace(\.cache),
      "\(entry.path(\.cache).shown): credential \(shown(credential?.policy?.name ?? "")) exchanges the token that the app "
        + "sends, so each request is a user's own; nothing of it can be stored")
  }

  private func rules(
    _ section: Section<CacheKeys>, _ entry: Section<UpstreamKeys>, _ credential: CredentialDraft?, limit: Int
  ) -> CacheRules {
    let share = section.read(\.share)
    let lifetime = section.read(\.defaultLifetime)
    let rules = CacheRules(
      share: share, maxObject: section.read(\.maxObject), defaultLifetime: lifetime ?? .seconds(0),
      minimumLifetime: section.read(\.minimumLifetime), staleWhileRevalidate: section.read(\.staleWhileRevalidate),
      staleIfError: section.read(\.staleIfError), collapse: section.read(\.collapse),
      ignored: ignored(section, credential?.policy, isShared: share != .client),
      honoursClientDirectives: section.read(\.clientDirectives) == .honour)

    if limit > 0, rules.maxObject > limit / 8 {
      let subject = section.path(\.maxObject).shown + (section.has(\.maxObject) ? "" : " is 1MiB by default, and")
      error(
        section.valuePlace(\.maxObject),
        "\(subject) must be at most \(Units.text(size: limit / 8)), an eighth of 'limits.cache'")
    }
    if case .seconds(let seconds)? = lifetime, seconds < rules.minimumLifetime {
      error(
        section.valuePlace(\.defaultLifetime),
        "\(section.path(\.defaultLifetime).shown) is less than 'minimum_ttl', which counts for every answer; leave it out")
    }
    if rules.collapse == .all, rules.share == .everyone {
      error(
        section.valuePlace(\.collapse),
        "\(section.path(\.collapse).shown) cannot be all with 'share: public': an answer that says nothing about caching is not "
          + "said to be for everyone")
    }
    checkShare(rules.share, section, entry)
    return rules
  }

  private func checkShare(_ share: CacheRules.Share, _ section: Section<CacheKeys>, _ entry: Section<UpstreamKeys>) {
    let path = section.path(\.share).shown
    switch share {
    case .all where entry.read(\.clientAuthorization) == .keep:
      error(
        section.valuePlace(\.share),
        "\(path) cannot be all with 'client_authorization: keep': what an app gets with its own login is its own")
    case .credential where !entry.has(\.credential) && !entry.has(\.clientCertificate):
      error(
        section.valuePlace(\.share),
        "\(path) cannot be credential: the entry has neither 'credential' nor 'client_certificate', whose answers it would keep"
      )
    default: break
    }
  }

  /// Warns of an origin that another host can stand in for: its answers stay after it is gone.
  func warnOfPlanted(_ settings: UpstreamSettings, _ entry: Section<UpstreamKeys>, _ trust: TrustRules) {
    guard settings.cache != nil, settings.origin.scheme == .https, let gap = trust.gap(settings.trust) else { return }
    warning(
      entry.keyPlace(\.cache),
      "\(entry.path(\.cache).shown): trust \(shown(gap.name)) \(gap.what), so whoever answers once in the origin's place is "
        + "read from the store as long as the answer lasts")
  }

  // MARK: - Fields that tell nothing

  private static let all = "*"

  private func ignored(
    _ section: Section<CacheKeys>, _ credential: CredentialPolicy?, isShared: Bool
  ) -> IgnoredFields {
    let items = section.read(\.ignoreHeaders) ?? []
    if items.contains(where: { $0.text.value == Self.all }) {
      for item in items where item.text.value != Self.all {
        error(item.text.place, "\(item.path.shown): \(shown(item.text.value)) has no effect beside '*', which means all fields")
      }
    }
    let good = items.filter { mayIgnore($0, credential) }
    if isShared { warnOfUsers(good) }
    return IgnoredFields(good.map(\.text.value))
  }

  /// Reports a name that is none, and one whose field decides what the answer is.
  private func mayIgnore(_ item: TextItem, _ credential: CredentialPolicy?) -> Bool {
    let (text, path) = (item.text, item.path)
    if text.value == Self.all { return true }
    let name = text.value.hasSuffix(Self.all) ? String(text.value.dropLast()) : text.value
    guard FieldText.isToken(name), !name.contains(Self.all) else {
      error(text.place, "\(path.shown) must be an HTTP field name, which may end in *, not \(shown(text.value))")
      return false
    }
    let pattern = IgnoredFields([text.value])
    func report(_ field: String, _ reason: String) {
      let isIt = field.lowercased() == text.value.lowercased()
      error(text.place, "\(path.shown): \(shown(text.value))\(isIt ? "" : " covers '\(field)', which") \(reason)")
    }
    if let credential {
      let own = (credential.fieldName.map { [$0] } ?? []) + credential.moreFields
      if let field = own.map({ String(decoding: $0, as: UTF8.self) }).first(where: { pattern.contains($0) }) {
        report(field, "is written by credential \(shown(credential.name)), whose answers are its own")
        return false
      }
    }
    if pattern.contains("Host") {
      report("Host", "says which host is asked")
    } else if pattern.contains("Authorization") {
      report("Authorization", "says who asks")
    } else if let field = ["Range", "Cache-Control"].first(where: { pattern.contains($0) }) {
      report(field, "is obeyed by the store itself")
    } else if name.lowercased().hasPrefix("if-") || pattern.contains("If-Match") {
      report(name.lowercased().hasPrefix("if-") ? text.value : "If-Match", "is a condition, and the store itself obeys those")
    } else {
      return true
    }
    return false
  }

  /// Of a shared store whose answers for one user may be read by another.
  private func warnOfUsers(_ items: [TextItem]) {
    for item in items {
      if item.text.value == Self.all {
        warning(
          item.text.place,
          "\(item.path.shown): one answer serves several clients, and '*' lets no field of a request tell users apart unless the "
            + "API lists it in Vary")
      } else if IgnoredFields([item.text.value]).contains("Cookie") {
        warning(
          item.text.place,
          "\(item.path.shown): one answer serves several clients, and without Cookie one user's answer may serve another")
      }
    }
  }
}
