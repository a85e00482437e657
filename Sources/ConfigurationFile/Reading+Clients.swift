import Credentials
import Routing
import Settings

extension Reading {
  /// The names of a list's entries, read before the entries themselves. So a reference to an entry with a mistake in it is not
  /// reported as a second error. nil: unknown, because the section's key is misspelt.
  /// - Parameter keys: the keys that may hold an entry's name; the first one present counts.
  func entryNames<Keys: KeySet>(
    _ root: Section<RootKeys>, _ section: PartialKeyPath<RootKeys>, _ keys: [PartialKeyPath<Keys>]
  ) -> Set<String>? {
    if !root.has(section) && root.isMisspelt([section]) { return nil }
    guard case .sequence(let items)? = root.written(section)?.node.content else { return [] }
    let keys = keys.map(Keys.table.name)
    var names: Set<String> = []
    for case .mapping(let entries) in items.map(\.content) {
      let texts = keys.compactMap { key in
        entries.first { $0.key == key }.flatMap { entry -> String? in
          if case .scalar(let text, _) = entry.value.content { text } else { nil }
        }
      }
      if let name = texts.first { names.insert(name) }
    }
    return names
  }

  /// What an `allow` list may mean.
  struct AccessContext {
    /// nil: unknown, because the section's key is misspelt.
    var upstreams: Set<String>?
    /// The unlisted hosts and tunnels that the configuration allows at all; nil = every host.
    var reachable: [HostPattern]?
  }

  func clients(_ root: Section<RootKeys>, _ context: AccessContext) -> [ClientSettings] {
    var clients: [ClientSettings] = []
    var names: [String: Place] = [:]
    var blocks: [AddressRange: Place] = [:]
    for entry in root.read(\.clients)?.items ?? [] {
      let name = entry.read(\.name)
      let password = entry.read(\.password)
      let from = entry.read(\.from)
      let ranges = from.map { self.ranges($0, blocks: &blocks) }
      let allow = access(entry.read(\.access.allow), context) ?? .all
      let maxRequests = entry.read(\.access.maxRequests)
      if !entry.has(\.password) && !entry.has(\.from) && !entry.isMisspelt([\.password, \.from]) {
        error(entry.place, "\(entry.path.shown) needs 'password', 'from' or both")
      }
      if entry.hasEmptyList(\.from) { error(entry.valuePlace(\.from), "\(entry.path(\.from).shown) is empty") }
      if let password, !FieldText.hasNoControls(password.value.bytes) {
        error(password.place, "\(entry.path(\.password).shown) contains a control character, possibly a line break")
      }
      guard let name, checkName(name, entry.path(\.name)) else { continue }
      if name.value.utf8.contains(UInt8(ascii: ":")) {
        error(name.place, "\(entry.path(\.name).shown) must not contain ':', which ends the user name in Basic authentication")
      }
      if let first = names[name.value] {
        error(name.place, "\(entry.path.shown): there is already a client named \(shown(name.value)) at \(first)")
      }
      names[name.value] = name.place
      clients.append(
        ClientSettings(name: name.value, password: password?.value, from: ranges ?? [], allow: allow, maxRequests: maxRequests))
    }
    if root.hasEmptyList(\.clients) {
      error(root.valuePlace(\.clients), "clients is empty; leave it out if everybody may use the proxy")
    }
    return clients
  }

  private func ranges(_ items: [TextItem], blocks: inout [AddressRange: Place]) -> [AddressRange] {
    var ranges: [AddressRange] = []
    for item in items {
      guard let range = range(item.text, item.path) else { continue }
      if let first = blocks[range] {
        error(item.text.place, "\(item.path.shown): the same block is at \(first); a block can identify only one client")
      }
      blocks[range] = item.text.place
      ranges.append(range)
    }
    return ranges
  }

  func range(_ text: Located<String>, _ path: KeyPath) -> AddressRange? {
    do throws(HostError) { return try AddressRange(parsing: text.value) } catch {
      self.error(text.place, "\(path.shown): \(shown(text.value)) \(error)")
      return nil
    }
  }

  func pattern(_ text: Located<String>, _ path: KeyPath) -> HostPattern? {
    do throws(HostError) { return try HostPattern(parsing: text.value) } catch {
      self.error(text.place, "\(path.shown): \(shown(text.value)) \(error)")
      return nil
    }
  }

  /// An `allow` list. A text that names an upstream means that upstream. Any other text must be a host or a pattern with a dot,
  /// a colon or a star, so that a mistyped name is not read as a host.
  private func access(_ items: [TextItem]?, _ context: AccessContext) -> Access? {
    guard let items else { return nil }
    var upstreams: Set<String> = []
    var hosts: [HostPattern] = []
    for item in items {
      if context.upstreams?.contains(item.text.value) ?? true {
        upstreams.insert(item.text.value)
        continue
      }
      guard item.text.value.contains(where: { ".:*".contains($0) }), !item.text.value.contains("/") else {
        error(
          item.text.place,
          "\(item.path.shown): there is no upstream named "
            + "\(shown(item.text.value))\(suggestion(for: item.text.value, among: context.upstreams ?? []))"
        )
        continue
      }
      guard let pattern = pattern(item.text, item.path) else { continue }
      hosts.append(pattern)
      if let reachable = context.reachable, !reachable.contains(where: pattern.overlaps) {
        warning(
          item.text.place,
          "\(item.path.shown) allows nothing: no upstream is named "
            + "\(shown(item.text.value))\(suggestion(for: item.text.value, among: context.upstreams ?? [])), unlisted "
            + "hosts are denied, and no tunnel may go there"
        )
      }
    }
    return .only(upstreams: upstreams, hosts: hosts)
  }

  func anonymous(
    _ root: Section<RootKeys>, _ context: AccessContext, clientsConfigured: Bool, listeners: [ListenerSettings]
  ) -> (allow: Access, maxRequests: Int?) {
    let standard: Access = clientsConfigured ? .only(upstreams: [], hosts: []) : .all
    guard let section = root.read(\.anonymous) else { return (standard, nil) }
    let maxRequests = section.read(\.access.maxRequests)
    if !section.has(\.access.maxRequests) { section.require(\.access.allow) }
    let access = access(section.read(\.access.allow), context) ?? standard
    if !listeners.isEmpty && listeners.allSatisfy(\.clientsRequired) {
      warning(root.keyPlace(\.anonymous), "anonymous has no effect: every listener requires clients")
    }
    return (access, maxRequests)
  }

  func connectAllow(_ root: Section<RootKeys>) -> [HostPattern] {
    guard let items = root.read(\.connect)?.read(\.allow) else { return [] }
    return items.compactMap { pattern($0.text, $0.path) }
  }

  func forbiddenAddresses(_ root: Section<RootKeys>) -> [AddressRange] {
    guard let items = root.read(\.forbiddenAddresses) else { return AddressRange.defaults }
    var ranges: [AddressRange] = []
    for item in items {
      if item.text.value == "default" {
        ranges += AddressRange.defaults
      } else if let hint = Suggestion.nearest(to: item.text.value, among: ["default"]) {
        error(
          item.text.place, "\(item.path.shown): \(shown(item.text.value)) is not an address block (did you mean '\(hint)'?)")
      } else if let range = range(item.text, item.path) {
        ranges.append(range)
      }
    }
    return ranges
  }
}
