import Settings

/// Reads `upstreams.origin`: one origin, or a list.
extension Reading {
  /// Most origins of a list.
  private static let mostOrigins = 8

  /// In the order of preference; empty: absent, or after an error.
  func origins(_ entry: Section<UpstreamKeys>) -> [UpstreamSettings.Origin] {
    guard let listed = entry.read(\.origin) else { return [] }
    let path = entry.path(\.origin).shown
    let isList = if case .sequence? = entry.written(\.origin)?.node.content { true } else { false }
    if listed.items.isEmpty && listed.isWhole { error(listed.place, "\(path) is empty") }
    if listed.items.count > Self.mostOrigins { error(listed.place, "\(path) has more than \(Self.mostOrigins) origins") }
    var origins: [UpstreamSettings.Origin] = []
    var isGood = listed.isWhole && (1...Self.mostOrigins).contains(listed.items.count)
    for item in listed.items {
      do throws(HostError) {
        let origin = try origin(item.text.value)
        if isList { try check(origin, behind: origins) }
        origins.append(origin)
      } catch {
        self.error(item.text.place, "\(item.path.shown) \(error)")
        isGood = false
      }
    }
    return isGood ? origins : []
  }

  private func origin(_ text: String) throws(HostError) -> UpstreamSettings.Origin {
    if let socket = try unixSocket(text) { return UpstreamSettings.Origin(socket: socket) }
    let url = try URLText(parsing: text)
    guard !url.target.contains("?") else { throw HostError("must not have a query; the proxy keeps the app's") }
    return UpstreamSettings.Origin(
      scheme: url.isHTTPS ? .https : .http, host: url.host, port: url.port, path: try prefix(url.target))
  }

  /// What an origin of a list cannot be. Whichever of them serves a request, its meaning and its protection are the same.
  private func check(_ origin: UpstreamSettings.Origin, behind others: [UpstreamSettings.Origin]) throws(HostError) {
    if origin.scheme == .unix { throw HostError("cannot be a unix socket: it stands in a list") }
    guard let first = others.first, first.scheme != .unix else { return }
    if origin.scheme != first.scheme {
      throw HostError("must be \(first.scheme.rawValue)://, as the first origin of the list is")
    }
    if origin.path != first.path {
      let path = first.path.isEmpty ? "no path" : "the path '\(first.path)'"
      throw HostError("must have \(path), as the first origin of the list has")
    }
    if others.contains(origin) { throw HostError("is in the list twice") }
  }
}
