import TLS

/// Which hosts an authority may sign for, as the strictest of the verifiers hold it.
extension NameConstraints {
  public func permits(_ host: PeerName) -> Bool {
    if let address = host.address {
      return permits(isOfForm: \.isAddresses) { $0.contains(address: address) }
    }
    return permits(isOfForm: \.isNames) { $0.contains(name: host.text) }
  }

  /// Whether every name below `base` is permitted, as `*.base` in a match wants it.
  /// - Parameter base: lower-case, without a trailing dot.
  public func permits(namesBelow base: String) -> Bool {
    let isExcluded = excluded.contains { $0.contains(namesBelow: base) || $0.isWithin(base) }
    guard !isExcluded else { return false }
    let names = permitted.filter(\.isNames)
    return names.isEmpty || names.contains { $0.contains(namesBelow: base) }
  }

  /// Whether there are names that it does not permit. One for addresses alone leaves every name open.
  public var boundsNames: Bool {
    let names = permitted.filter(\.isNames)
    return !names.isEmpty && !names.contains(.dns(""))
  }

  private func permits(
    isOfForm: (Subtree) -> Bool, contains: (Subtree) -> Bool
  ) -> Bool {
    let ofForm = permitted.filter(isOfForm)
    return (ofForm.isEmpty || ofForm.contains(where: contains)) && !excluded.contains(where: contains)
  }
}

extension NameConstraints.Subtree {
  fileprivate var isNames: Bool { if case .dns = self { true } else { false } }
  /// IPv4 and IPv6 are one form (RFC 5280 section 4.2.1.10).
  fileprivate var isAddresses: Bool { if case .addresses = self { true } else { false } }

  fileprivate func contains(name: String) -> Bool {
    guard case .dns(let base) = self else { return false }
    return base.isEmpty || name == base || isBelow(name, base)
  }

  fileprivate func contains(namesBelow name: String) -> Bool {
    guard case .dns(let base) = self else { return false }
    return base.isEmpty || name == base || "." + name == base || isBelow(name, base)
  }

  /// Whether the subtree's own base is `name` or below it.
  fileprivate func isWithin(_ name: String) -> Bool {
    guard case .dns(let base) = self else { return false }
    return isBelow(base, name)
  }

  private func isBelow(_ name: String, _ base: String) -> Bool { name.hasSuffix(base.hasPrefix(".") ? base : "." + base) }

  fileprivate func contains(address: [UInt8]) -> Bool {
    guard case .addresses(let network, let mask) = self, address.count == network.count, mask.count == network.count else {
      return false
    }
    return address.indices.allSatisfy { address[$0] & mask[$0] == network[$0] & mask[$0] }
  }
}
