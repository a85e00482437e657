import Settings

/// Reads `hosts`, `bind` and `address_family`.
extension Reading {
  func hosts(_ root: Section<RootKeys>) -> [String: [[UInt8]]] {
    var hosts: [String: [[UInt8]]] = [:]
    for entry in root.read(\.ways.hosts) ?? [] {
      let addresses = entry.value.map { self.addresses($0) }
      if entry.value?.isEmpty == true { error(entry.name.place, "\(entry.path.shown) lists no address") }
      guard let name = host(TextItem(text: entry.name, path: entry.path)) else { continue }
      if IPAddress.parse(name) != nil {
        error(entry.name.place, "\(entry.path.shown) is an address already, which needs no other")
      } else if hosts[name] != nil {
        error(entry.name.place, "\(entry.path.shown): \(shown(name)) is there twice")
      }
      hosts[name] = addresses ?? []
    }
    return hosts
  }

  private func addresses(_ items: [TextItem]) -> [[UInt8]] {
    var addresses: [[UInt8]] = []
    for item in items {
      guard let address = address(item) else { continue }
      if addresses.contains(address) {
        error(item.text.place, "\(item.path.shown): \(shown(item.text.value)) is there twice")
      }
      addresses.append(address)
    }
    return addresses
  }

  /// 16 bytes.
  private func address(_ item: TextItem) -> [UInt8]? {
    let text = item.text.value
    // People write IPv6 addresses with and without brackets.
    let inner = text.hasPrefix("[") && text.hasSuffix("]") ? String(text.dropFirst().dropLast()) : text
    if let address = IPAddress.parse(inner) { return address }
    error(
      item.text.place,
      "\(item.path.shown) must be an address such as 192.0.2.7 or 2001:db8::7, without port and prefix, not \(shown(text))")
    return nil
  }

  /// - Parameters:
  ///   - keys: of the section.
  ///   - outer: the file's, for an entry.
  /// - Returns: nil: the section has none of the keys.
  func outbound<Keys: KeySet>(
    _ section: Section<Keys>, _ keys: (Keys) -> OutboundKeys, outer: OutboundAddressing? = nil
  ) -> OutboundAddressing? {
    func bindKey(_ all: Keys) -> Key<[TextItem]?> { keys(all).bind }
    func familyKey(_ all: Keys) -> Key<OutboundAddressing.Family?> { keys(all).family }
    let written = section.read(bindKey)
    let family = section.read(familyKey)
    guard section.has(bindKey) || section.has(familyKey) else { return nil }
    var result = OutboundAddressing(bind: [], family: family ?? outer?.family ?? .auto)
    for item in written ?? [] {
      guard let address = address(item), isOwn(address, item) else { continue }
      let isIPv4 = IPAddress.isMappedIPv4(address)
      if result.bind.contains(where: { IPAddress.isMappedIPv4($0) == isIPv4 }) {
        error(item.text.place, "\(item.path.shown) is a second \(isIPv4 ? "IPv4" : "IPv6") address; at most one per family")
      } else if result.family == (isIPv4 ? .ipv6 : .ipv4) {
        error(
          item.text.place,
          "\(item.path.shown) is an \(isIPv4 ? "IPv4" : "IPv6") address, which address_family \(result.family.rawValue) excludes"
        )
      } else {
        result.bind.append(address)
      }
    }
    if written == nil, let outer, !outer.bind.isEmpty {
      result.bind = outer.bind.filter { result.family != (IPAddress.isMappedIPv4($0) ? .ipv6 : .ipv4) }
      if result.bind.isEmpty {
        error(
          section.valuePlace(familyKey),
          "\(section.path(familyKey).shown) \(result.family.rawValue) excludes every address of the file's 'bind'")
      }
    }
    return result
  }

  private func isOwn(_ address: [UInt8], _ item: TextItem) -> Bool {
    let isIPv4 = IPAddress.isMappedIPv4(address)
    let isUnspecified = (isIPv4 ? address[12...] : address[...]).allSatisfy { $0 == 0 }
    let isMulticast = isIPv4 ? address[12] >= 224 : address[0] == 0xff
    guard isUnspecified || isMulticast else { return true }
    error(
      item.text.place,
      isUnspecified
        ? "\(item.path.shown) must be an address of this machine; for one family say 'address_family: \(isIPv4 ? "ipv4" : "ipv6")'"
        : "\(item.path.shown) must be an address of this machine, not a multicast or broadcast address")
    return false
  }
}
