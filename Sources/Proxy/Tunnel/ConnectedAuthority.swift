import Settings

/// After `CONNECT host:80` to a host that an entry matches: the authority of the requests in origin-form that follow on the
/// connection. What comes first decides whether they do, or a TLS handshake for the real host.
final class ConnectedAuthority {
  let host: String
  let port: UInt16
  /// As the app spelled it.
  let text: String
  /// Of `snapshot`; nil = no entry matches any more.
  private(set) var route: RouteTable.Host?
  private(set) var identity: ClientIdentity
  private var snapshot: Snapshot
  /// Nothing has followed yet.
  var isUnproven = true

  init(host: String, port: UInt16, text: String, route: RouteTable.Host, identity: ClientIdentity, snapshot: Snapshot) {
    self.host = host
    self.port = port
    self.text = text
    self.route = route
    self.identity = identity
    self.snapshot = snapshot
  }

  /// A reload came since: entries and clients are looked up in the configuration that holds now.
  func follow(_ next: Snapshot) throws(ProxyError) {
    guard next !== snapshot else { return }
    let access = try access(in: next)
    identity = ClientIdentity(name: identity.name, access: access)
    route = next.routes.find(host: host, port: port, isHTTPS: false)
    snapshot = next
  }

  private func access(in next: Snapshot) throws(ProxyError) -> Access {
    guard let name = identity.name else { return next.settings.anonymous }
    let before = snapshot.settings.clients.first { $0.name == name }
    guard let client = next.settings.clients.first(where: { $0.name == name }),
      client.password?.bytes == before?.password?.bytes
    else { throw .wrongPassword }
    return client.allow
  }
}

struct TunnelTarget {
  var host: String
  var port: UInt16
}

enum TunnelStart {
  /// TLS record type `handshake` (RFC 8446 section 5.1): no HTTP request begins with it.
  static let clientHello: UInt8 = 0x16
}
