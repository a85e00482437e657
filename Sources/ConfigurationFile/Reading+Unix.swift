import Settings

/// `origin: unix:/path`.
extension Reading {
  /// The socket's absolute path; nil: the origin is no unix socket.
  func unixSocket(_ origin: String) throws(HostError) -> String? {
    let prefix = UpstreamSettings.Origin.unixPrefix
    guard origin.hasPrefix(prefix) else { return nil }
    let written = origin.dropFirst(prefix.count)
    guard !written.hasPrefix("//") else {
      throw HostError("has the path of a socket right behind 'unix:', as in unix:/run/docker.sock")
    }
    let path = resolve(String(written))
    // sun_path holds 108 bytes with the closing zero (unix(7)).
    guard !written.isEmpty, path.utf8.count < 108, !path.utf8.contains(0) else {
      throw HostError("has no path, or one of more than 107 bytes")
    }
    return path
  }

  /// Reports keys that are about a network or TLS, of which a unix socket has none.
  func refuseNetworkKeys(_ entry: Section<UpstreamKeys>) {
    entry.refuse(
      [\.trust, \.clientCertificate, \.ways.via, \.ways.outbound.bind, \.ways.outbound.family],
      because: "has no effect: the origin is a unix socket")
  }
}
