import Credentials
import Routing
import Settings

extension Reading {
  /// The names of a list's entries, read before the entries themselves. So a reference to an entry with a mistake in it is not
  /// reported as a second error. nil: unknown, because the section's key is misspelt.
  /// - Parameter keys: the keys that may hold an entry's name; the first one present counts.
  func entryNames<Keys: KeySet>(
    _ root: Section<RootKeys>, _ section: (RootKeys) -> DescribedKey, of type: Keys.Type, _ keys: [(Keys) -> DescribedKey]
  ) -> Set<String>? {
    if !root.has(section) && root.isMisspelt(section) { return nil }
    guard case .sequence(let items)? = root.written(section)?.node.content else { return [] }
    let keys = keys.map(Keys.table.name)
    var names: Set<String> = []
    for case .mapping(let entries) in items.map(\.content) {
      let texts = keys.compactMap { key in
        entries.first { $0.key == key }.flatMap { entry -> String? in
          // Of a list the first.
          let node = if case .sequence(let items) = entry.value.content { items.first } else { entry.value }
          if case .scalar(let text, _)? = node?.content { return text }
          return nil
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

  /// - Parameter verifiesCertificates: some listener asks clients for certificates.
  func clients(_ root: Section<RootKeys>, _ context: AccessContext, verifiesCertificates: Bool) -> [ClientSettings] {
    var clients: [ClientSettings] = []
    var names: [String: Place] = [:]
    var blocks: [AddressRange: Place] = [:]
    var certificates: [ClientCertificateName: Place] = [:]
    for entry in root.read(\.clients)?.items ?? [] {
      let name = entry.read(\.name)
      let password = entry.read(\.password)
      let certificate = entry.read(\.certificate).flatMap(certificateName)
      let from = entry.read(\.from)
      let ranges = from.map { self.ranges($0, blocks: &blocks) }
      let allow = access(entry.read(\.access.allow), context) ?? .all
      let maxRequests = entry.read(\.access.maxRequests)
      if !entry.has(\.password) && !entry.has(\.certificate) && !entry.has(\.from)
        && !entry.isMisspelt([\.password, \.certificate, \.from])
      {
        error(entry.place, "\(entry.path.shown) needs 'password', 'certificate' or 'from'")
      }
      if let certificate {
        let place = entry.valuePlace(\.certificate)
        if let first = certificates[certificate] {
          error(place, "\(entry.path(\.certificate).shown): the same stands at \(first); whose is it?")
        }
        certificates[certificate] = place
        if !verifiesCertificates {
          error(
            entry.keyPlace(\.certificate),
            "\(entry.path(\.certificate).shown) needs a listener with 'tls.client_certificates': none verifies certificates")
        }
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
        ClientSettings(
          name: name.value, password: password?.value, certificate: certificate, from: ranges ?? [], allow: allow,
          maxRequests: maxRequests))
    }
    if root.hasEmptyList(\.clients) {
      error(root.valuePlace(\.clients), "clients is empty; leave it out if everybody may use the proxy")
    }
    return clients
  }

  private func certificateName(_ section: Section<ClientCertificateNameKeys>) -> ClientCertificateName? {
    let uri = section.read(\.uri)
    let dns = section.read(\.dns)
    let pin = section.read(\.pin)
    guard section.countOfAlternatives == 1 else {
      if section.countOfAlternatives > 1 || !section.isMisspelt(ClientCertificateNameKeys.alternatives) {
        error(section.place, "\(section.path.shown) must have one of 'uri', 'dns' and 'pin'")
      }
      return nil
    }
    if let uri {
      guard uri.value.utf8.contains(UInt8(ascii: ":")), FieldText.hasNoControls(uri.value.utf8) else {
        error(
          uri.place, "\(section.path(\.uri).shown) must be a URI such as spiffe://example.com/billing, not \(shown(uri.value))")
        return nil
      }
      return .uri(uri.value)
    }
    if let dns { return host(TextItem(text: dns, path: section.path(\.dns))).map { .dns($0) } }
    return pin.flatMap { self.pin($0, section.path(\.pin)) }.map { .pin($0) }
  }

  /// A host without port and star, as the routing compares it.
  func host(_ item: TextItem) -> String? {
    do throws(HostError) { return try HostName.normalized(item.text.value) } catch {
      self.error(item.text.place, "\(item.path.shown): \(shown(item.text.value)) \(error)")
      return nil
    }
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

  func connectAllow(_ root: Section<RootKeys>) -> [(pattern: HostPattern, item: TextItem)] {
    guard let items = root.read(\.connect)?.read(\.allow) else { return [] }
    return items.compactMap { item in pattern(item.text, item.path).map { ($0, item) } }
  }

  func forbiddenAddresses(_ root: Section<RootKeys>) -> [AddressRange] {
    guard let items = root.read(\.forbiddenAddresses) else { return AddressRange.defaults }
    return items.flatMap { item -> [AddressRange] in
      switch block(item, or: "default") {
      case .word: AddressRange.defaults
      case .range(let range): [range]
      case nil: []
      }
    }
  }

  enum BlockOrWord {
    case range(AddressRange)
    case word
  }

  /// An item that is an address block, or this one word.
  func block(_ item: TextItem, or word: String) -> BlockOrWord? {
    if item.text.value == word { return .word }
    if let hint = Suggestion.nearest(to: item.text.value, among: [word]) {
      error(
        item.text.place, "\(item.path.shown): \(shown(item.text.value)) is not an address block (did you mean '\(hint)'?)")
      return nil
    }
    return range(item.text, item.path).map { .range($0) }
  }
}
