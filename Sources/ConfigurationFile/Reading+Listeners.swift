import Settings

extension Reading {
  struct Address {
    var endpoint: ListenerSettings.Endpoint
    var text: String
    var place: Place
    /// Loopback or unix. False for an inherited descriptor: its address is unknown here.
    var isLocal: Bool
  }

  /// `listen`: a text, a mapping or a list of these.
  func listeners(_ root: Section<RootKeys>, clientsConfigured: Bool) -> [Listener] {
    if root.hasEmptyList(\.listen) { error(root.valuePlace(\.listen), "listen is empty: the proxy needs at least one address") }
    var listeners: [Listener] = []
    for item in root.read(\.listen)?.items ?? [] {
      guard let listener = listener(item, clientsConfigured) else { continue }
      if let other = listeners.first(where: { $0.address.endpoint == listener.address.endpoint && !listener.address.hasAnyPort }
      ) {
        error(listener.address.place, "\(listener.address.text) is already in use, at \(other.address.place)")
      }
      listeners.append(listener)
    }
    return listeners
  }

  struct Listener {
    var settings: ListenerSettings
    var address: Address
    var path: KeyPath
    /// Of `tls.names`.
    var namesPlace: Place?
    /// The first item of `proxy_protocol` that means processes of this machine.
    var localPeers: TextItem?
  }

  private func listener(_ item: TextOr<ListenerKeys>, _ clientsConfigured: Bool) -> Listener? {
    switch item {
    case .text(let text, let path):
      guard let address = parsed(text, path) else { return nil }
      warnOfClearText(address)
      return Listener(settings: listenerSettings(address, nil, path, nil, clientsConfigured), address: address, path: path)
    case .section(let section):
      let address = address(in: section, \.socket)
      let clients = section.read(\.clients)
      let written = section.read(\.tls)
      let tls = written.flatMap(self.tls)
      let (peers, localPeers) = proxyProtocol(section)
      guard let address else { return nil }
      if !section.mentions(\.tls) && !section.isMisspelt(\.tls) { warnOfClearText(address) }
      let place = section.has(\.clients) ? section.valuePlace(\.clients) : nil
      var settings = listenerSettings(address, clients, section.path, place, clientsConfigured)
      settings.tls = tls
      settings.proxyProtocol = peers
      return Listener(
        settings: settings, address: address, path: section.path, namesPlace: written?.valuePlace(\.names),
        localPeers: localPeers)
    }
  }

  private func warnOfClearText(_ address: Address) {
    // An inherited one may be local, and nobody could say so.
    guard !address.isLocal, !address.isInherited else { return }
    warning(
      address.place,
      "\(address.text) is reachable from other machines without TLS: passwords and answers are readable on the way; 'tls' prevents "
        + "that")
  }

  private func listenerSettings(
    _ address: Address, _ clients: ListenerKeys.Clients?, _ path: KeyPath, _ place: Place?, _ clientsConfigured: Bool
  ) -> ListenerSettings {
    switch clients {
    case .required where !clientsConfigured:
      error(
        place ?? address.place, "\(path.key(ListenerKeys.table.name(\.clients)).shown) is required, but there are no 'clients'")
    case nil where !clientsConfigured && !address.isLocal:
      let why = address.isInherited ? "may be reachable from other machines" : "is reachable from other machines"
      error(address.place, "\(address.text) \(why) and needs 'clients', or 'clients: optional' if everybody may use the proxy")
    case .optional where !clientsConfigured && !address.isLocal:
      warning(place ?? address.place, "\(address.text) lets everybody who reaches it use the proxy")
    default: break
    }
    let required = clients == .required || (clients == nil && (clientsConfigured || !address.isLocal))
    return ListenerSettings(endpoint: address.endpoint, clientsRequired: required)
  }

  /// `address`, and `mode`, `owner` and `group` where it is a unix socket.
  private func address<Keys: KeySet>(in section: Section<Keys>, _ keys: @escaping (Keys) -> SocketKeys) -> Address? {
    let mode = section.read { keys($0).mode }
    let owner = section.read { keys($0).owner }
    let group = section.read { keys($0).group }
    guard let text = section.read({ keys($0).address }), var address = parsed(text, section.path { keys($0).address })
    else {
      return nil
    }
    guard case .unix(let file, _, _, _) = address.endpoint else {
      section.refuse([{ keys($0).mode }, { keys($0).owner }, { keys($0).group }], because: "is for unix sockets only")
      return address
    }
    var bits: UInt32?
    if let mode {
      bits = UInt32(mode.value, radix: 8)
      if !(3...4).contains(mode.value.utf8.count) || bits.map({ $0 <= 0o777 }) != true || mode.value.hasPrefix("+") {
        error(
          mode.place, "\(section.path { keys($0).mode }.shown) must be permissions such as \"0660\", not \(shown(mode.value))"
        )
      }
    }
    address.endpoint = .unix(path: file, mode: bits, owner: owner?.value, group: group?.value)
    return address
  }

  private func parsed(_ text: Located<String>, _ path: KeyPath) -> Address? {
    do throws(HostError) {
      let (endpoint, isLocal) = try endpoint(text.value)
      return Address(endpoint: endpoint, text: text.value, place: text.place, isLocal: isLocal)
    } catch {
      self.error(text.place, "\(path.shown): \(shown(text.value)) \(error)")
      return nil
    }
  }

  private func endpoint(_ text: String) throws(HostError) -> (ListenerSettings.Endpoint, isLocal: Bool) {
    if text.hasPrefix("unix:") {
      let path = resolve(String(text.dropFirst(5)))
      // sun_path holds 108 bytes with the closing zero (unix(7)).
      guard text.utf8.count > 5, path.utf8.count < 108, !path.utf8.contains(0) else {
        throw HostError("has no path, or one of more than 107 bytes")
      }
      return (.unix(path: path, mode: nil, owner: nil, group: nil), true)
    }
    if text.hasPrefix("fd:") {
      guard let descriptor = try? Units.integer(String(text.dropFirst(3))), (3...65535).contains(descriptor) else {
        throw HostError("must name a descriptor of 3 or more")
      }
      return (.inherited(descriptor: Int32(descriptor)), false)
    }
    let (host, port) = try HostName.split(text)
    guard let port else { throw HostError("needs a port, as in 127.0.0.1:3128; unix:/path and fd:3 are possible, too") }
    let inner = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
    guard let address = IPAddress.parse(inner) else {
      switch inner {
      case "", "*": throw HostError("must start with an IP address; 0.0.0.0 is every IPv4 address, [::] every address")
      case "localhost": throw HostError("must start with an IP address: 127.0.0.1:\(port)")
      default: throw HostError("must start with an IP address")
      }
    }
    let literal = inner.utf8.contains(UInt8(ascii: ":")) ? (try HostName.normalized("[\(inner)]")) : IPAddress.text(address)
    return (.tcp(host: literal, port: port), IPAddress.isLoopback(address))
  }

  func admin(_ item: TextOr<AdminKeys>, listeners: [Address]) -> AdminSettings? {
    var found: Address?
    var pages: [TextItem]?
    var hosts: [TextItem] = []
    switch item {
    case .text(let text, let path): found = parsed(text, path)
    case .section(let section):
      found = address(in: section, \.socket)
      pages = section.read(\.expose)
      hosts = section.read(\.hosts) ?? []
    }
    guard let found else { return nil }
    if !found.hasAnyPort, let other = listeners.first(where: { $0.endpoint == found.endpoint }) {
      error(found.place, "\(found.text) is already in use, at \(other.place)")
    }
    var expose: Set<AdminSettings.Page> = [.healthz, .readyz, .metrics]
    if found.isLocal { expose.formUnion([.status, .dashboard]) }
    // Every process on the machine reaches a loopback address, and could empty the store.
    if case .unix = found.endpoint { expose.insert(.purge) }
    if let pages {
      expose = []
      for page in pages {
        if let known = AdminSettings.Page(rawValue: page.text.value) {
          expose.insert(known)
        } else {
          error(page.text.place, "\(page.path.shown) \(notAmong(page.text.value, AdminSettings.Page.allCases.map(\.rawValue)))")
        }
      }
    }
    // The page updates itself from it.
    if expose.contains(.dashboard) { expose.insert(.status) }
    return AdminSettings(endpoint: found.endpoint, expose: expose, hosts: Set(hosts.compactMap(adminHost)))
  }

  private func adminHost(_ item: TextItem) -> AdminSettings.Host? {
    do throws(HostError) {
      let (host, port) = try HostName.split(item.text.value)
      return AdminSettings.Host(name: try HostName.normalized(host), port: port)
    } catch {
      self.error(item.text.place, "\(item.path.shown): \(shown(item.text.value)) \(error)")
      return nil
    }
  }
}

extension Reading.Address {
  fileprivate var hasAnyPort: Bool {
    if case .tcp(_, port: 0) = endpoint { return true }
    return false
  }
  fileprivate var isInherited: Bool {
    if case .inherited = endpoint { return true }
    return false
  }
}
