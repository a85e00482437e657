import Routing
import Settings
import WayOut

/// Reads `via` and `routes`.
extension Reading {
  /// The names in `parents`, for `via` to refer to, whether or not the parents have mistakes.
  struct ParentNames {
    /// Index in the order of the file.
    var indices: [String: Int] = [:]
    /// The key `parents` is misspelt, so its names are unknown.
    var isUnknown = false
  }

  /// `via` and its place.
  struct ViaDraft {
    var via: Via
    var place: Place
    var path: KeyPath
  }

  /// Most ways of a list.
  private static let mostWays = 8

  func parentNames(_ root: Section<RootKeys>) -> ParentNames {
    var names = ParentNames(isUnknown: !root.has(\.ways.parents) && root.isMisspelt(\.ways.parents))
    for (index, entry) in (root.written(\.ways.parents).flatMap(named) ?? []).enumerated() {
      names.indices[entry.name.value] = index
    }
    return names
  }

  /// nil: absent, or after an error.
  func via<Keys: KeySet>(
    _ section: Section<Keys>, _ key: (Keys) -> Key<Listed<TextItem>?>, _ names: ParentNames
  ) -> ViaDraft? {
    guard let listed = section.read(key) else { return nil }
    let path = section.path(key)
    let isList = if case .sequence? = section.written(key)?.node.content { true } else { false }
    if listed.items.isEmpty && listed.isWhole { error(listed.place, "\(path.shown) is empty") }
    if listed.items.count > Self.mostWays {
      error(listed.place, "\(path.shown) has more than \(Self.mostWays) ways")
    }
    places[path.shown] = listed.place
    if !isList, let item = listed.items.first, item.text.value == ViaWords.environment {
      return ViaDraft(via: .environment, place: item.text.place, path: path)
    }
    var ways: [WayTable.Name] = []
    var isGood = listed.isWhole && (1...Self.mostWays).contains(listed.items.count)
    for item in listed.items {
      guard let way = way(item, names) else {
        isGood = false
        continue
      }
      if ways.contains(way) {
        error(item.text.place, "\(item.path.shown): \(shown(item.text.value)) is there twice")
        isGood = false
      }
      ways.append(way)
    }
    return isGood ? ViaDraft(via: .ways(ways), place: listed.place, path: path) : nil
  }

  private func way(_ item: TextItem, _ names: ParentNames) -> WayTable.Name? {
    let name = item.text.value
    if name == ViaWords.direct { return .direct }
    if name == ViaWords.environment {
      error(item.text.place, "\(item.path.shown): environment must stand alone, not in a list")
      return nil
    }
    if let index = names.indices[name] { return .parent(index) }
    if !names.isUnknown {
      let known = names.indices.keys + [ViaWords.direct, ViaWords.environment]
      error(
        item.text.place,
        "\(item.path.shown): there is no \(shown(name)) in 'parents'\(suggestion(for: name, among: known))")
    }
    return nil
  }

  /// The items of `routes`; those with errors are left out.
  func routes(_ root: Section<RootKeys>, _ names: ParentNames) -> [(route: WayTable.Route, via: ViaDraft)] {
    (root.read(\.ways.routes)?.items ?? []).compactMap { section in
      let match = section.read(\.match)
      let via = via(section, \.via, names)
      if section.hasEmptyList(\.match) { error(section.valuePlace(\.match), "\(section.path(\.match).shown) is empty") }
      places[section.path.shown] = section.place
      let patterns = (match?.items ?? []).compactMap(wayPattern)
      guard let via, !patterns.isEmpty else { return nil }
      return (WayTable.Route(patterns: patterns, via: via.via), via)
    }
  }

  /// A host, `*.host`, an address or a block; a port may follow all but a block.
  private func wayPattern(_ item: TextItem) -> WayPattern? {
    do throws(HostError) { return try WayPattern(parsing: item.text.value) } catch {
      self.error(item.text.place, "\(item.path.shown): \(shown(item.text.value)) \(error)")
      return nil
    }
  }
}

extension WayPattern {
  init(parsing text: String) throws(HostError) {
    if text.contains("://") { throw HostError("must be a host, an address or a block, not a URL") }
    if text.contains("/") {
      let range = try AddressRange(parsing: text)
      self.init(.block(network: range.network, prefixLength: range.prefixLength))
    } else if let address = IPAddress.parse(text) {
      self.init(.block(network: address, prefixLength: 128))
    } else {
      let pattern = try HostPattern(parsing: text)
      self.init(Self.hosts(of: pattern), port: pattern.port)
    }
  }
  private static func hosts(of pattern: HostPattern) -> Hosts {
    if pattern.host.isEmpty { return .all }
    if pattern.isWildcard { return .below(pattern.host) }
    if let address = IPAddress.parse(pattern.host) { return .block(network: address, prefixLength: 128) }
    return .name(pattern.host)
  }
}
