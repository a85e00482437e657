import Routing
import Settings

/// `redirects` of an entry.
extension Reading {
  struct RedirectDraft {
    var settings: RedirectSettings
    /// The entries of `to`.
    var targets: [TextItem]
  }

  private static let standardPort: UInt16 = 443

  /// nil: they are relayed, or there is an error.
  /// - Parameter names: of all entries; nil: unknown.
  func redirects(_ entry: Section<UpstreamKeys>, names: Set<String>?) -> RedirectDraft? {
    switch entry.read(\.redirects) {
    case nil: return nil
    case .text(let text, let path)?:
      if text.value != RedirectKeys.relay {
        error(
          text.place, "\(path.shown) \(notAmong(text.value, [RedirectKeys.relay])), or a section such as {follow: 5}")
      }
      return nil
    case .section(let section)?:
      let follow = section.read(\.follow)
      let methods = redirectedMethods(section)
      let (hosts, targets) = targets(section.read(\.to) ?? [], names)
      guard let follow else { return nil }
      return RedirectDraft(
        settings: RedirectSettings(follow: follow, methods: methods, hosts: hosts, upstreams: targets.map(\.text.value)),
        targets: targets)
    }
  }

  private func redirectedMethods(_ section: Section<RedirectKeys>) -> AllowedMethods {
    guard let items = section.read(\.methods) else { return AllowedMethods(RedirectKeys.methods) }
    if section.hasEmptyList(\.methods) {
      error(
        section.valuePlace(\.methods),
        "\(section.path(\.methods).shown) is empty; to follow no redirect, say 'redirects: \(RedirectKeys.relay)'")
    }
    let never = [
      "CONNECT": "CONNECT opens a tunnel, and is never redirected",
      "TRACE": "TRACE is for the server that it was sent to, and no redirect of it is followed",
    ]
    return AllowedMethods(items.filter { isMethod($0, never: never) }.map(\.text.value))
  }

  private func targets(_ items: [TextItem], _ names: Set<String>?) -> (hosts: [HostPattern], entries: [TextItem]) {
    var hosts: [HostPattern] = []
    var entries: [TextItem] = []
    for item in items {
      if names?.contains(item.text.value) ?? true {
        if entries.contains(where: { $0.text.value == item.text.value }) { reportRepeated(item) } else { entries.append(item) }
      } else if let host = targetHost(item, names ?? []) {
        if hosts.contains(host) { reportRepeated(item) } else { hosts.append(host) }
      }
    }
    return (hosts, entries)
  }

  private func reportRepeated(_ item: TextItem) {
    error(item.text.place, "\(item.path.shown): \(shown(item.text.value)) is there twice")
  }

  /// A text that names no entry must be a host or a pattern with a dot, a colon or a star, so that a mistyped name is not read as a
  /// host.
  private func targetHost(_ item: TextItem, _ names: Set<String>) -> HostPattern? {
    let (text, path) = (item.text, item.path)
    guard !text.value.contains("/") else {
      error(
        text.place,
        "\(path.shown): \(shown(text.value)) must be a host without scheme and path; it is asked over https, whatever the path")
      return nil
    }
    guard text.value.contains(where: { ".:*".contains($0) }) else {
      error(
        text.place,
        "\(path.shown): there is no upstream named \(shown(text.value))\(suggestion(for: text.value, among: names))")
      return nil
    }
    guard var pattern = pattern(text, path) else { return nil }
    guard !pattern.host.isEmpty else {
      error(text.place, "\(path.shown): \(shown(text.value)) would let an answer lead the proxy anywhere; list the hosts")
      return nil
    }
    pattern.port = pattern.port ?? Self.standardPort
    return pattern
  }

  /// Reports entries in `to` to which no redirect can lead.
  func checkRedirects(_ drafts: [UpstreamDraft]) {
    let byName = Dictionary(drafts.map { ($0.settings.name, $0.settings) }, uniquingKeysWith: { first, _ in first })
    for draft in drafts {
      for item in draft.redirectTargets {
        guard let target = byName[item.text.value] else { continue }
        let what = "\(item.path.shown): upstream \(shown(target.name))"
        switch target.origin.scheme {
        case .unix: error(item.text.place, "\(what) is behind a unix socket, to which no URL leads")
        case .http where draft.settings.origin.scheme == .https:
          error(item.text.place, "\(what) has an http:// origin, and the proxy follows no redirect from https to http")
        case .http, .https:
          if !target.origin.host.isEmpty, target.matches.allSatisfy(\.isWildcard) {
            error(
              item.text.place,
              "\(what) serves many hosts, and one origin behind them: the proxy cannot tell by which of them to ask")
          }
        }
      }
    }
  }
}
