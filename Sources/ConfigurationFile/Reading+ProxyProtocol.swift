import Settings

/// `listen[].proxy_protocol`.
extension Reading {
  /// - Returns: also the first item that means processes of this machine.
  func proxyProtocol(_ section: Section<ListenerKeys>) -> (peers: ProxyProtocolPeers?, local: TextItem?) {
    guard let items = section.read(\.proxyProtocol) else { return (nil, nil) }
    if section.hasEmptyList(\.proxyProtocol) {
      error(
        section.valuePlace(\.proxyProtocol),
        "\(section.path(\.proxyProtocol).shown) is empty; leave it out if no connection begins with a PROXY header")
    }
    var peers = ProxyProtocolPeers()
    var local: TextItem?
    for item in items {
      switch block(item, or: "unix") {
      case .word:
        peers.includesUnix = true
        local = local ?? item
      case .range(let range):
        peers.ranges.append(range)
        if range.includesLoopback { local = local ?? item }
      case nil: break
      }
    }
    return (peers, local)
  }

  /// A peer that is believed can give itself any client's address.
  func warnOfClaims(_ listeners: [Listener], _ clients: [ClientSettings]) {
    guard let client = clients.first(where: { !$0.from.isEmpty }) else { return }
    for item in listeners.compactMap(\.localPeers) {
      warning(
        item.text.place,
        "\(item.path.shown): every process on this machine that can connect here can claim any address, so it can be client "
          + "\(shown(client.name)), whose 'from' says who it is")
    }
  }
}
