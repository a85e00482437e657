import HTTPWire
import Settings

extension Request {
  /// CONNECT: to an entry's host and port it is no tunnel but a way to that entry; elsewhere a tunnel where that is allowed.
  func routeConnect(
    _ target: RequestTarget, _ bytes: UnsafeRawBufferPointer, _ identity: ClientIdentity
  ) throws(ProxyError) -> Destination {
    guard client.connectedAuthority == nil else { throw .malformed(.targetForm) }
    let host = normalised(target.host.bytes(in: bytes))
    guard let port = target.port else { throw .malformed(.port) }
    summary.isTunnel = true
    if let route = snapshot.routes.find(host: host, port: port, isHTTPS: false) {
      let field = worker.requestHead.fields.first(.proxyAuthorization)
      let authority = ConnectedAuthority(
        host: host, port: port, text: summary.authority, route: route, identity: identity,
        authorization: field.map { Array($0.value.bytes(in: bytes)) })
      let reachable = route.entries.contains { identity.mayReach($0, host: host, port: port) }
      guard reachable else { throw .notAllowed(client: identity.name, upstream: host) }
      return .entryThroughConnect(authority)
    }
    try checkTunnel(host: host, port: port, identity)
    return .tunnel(TunnelTarget(host: host, port: port))
  }

  func checkTunnel(host: String, port: UInt16, _ identity: ClientIdentity) throws(ProxyError) {
    guard snapshot.settings.connectAllow.contains(where: { $0.matches(host: host, port: port) }) else {
      throw .connectNotAllowed(target: OriginIdentity.authority(host: host, port: port, defaultPort: 0))
    }
    guard identity.mayTunnel(host: host, port: port) else { throw .notAllowed(client: identity.name, upstream: host) }
  }
}
