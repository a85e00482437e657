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
    switch try snapshot.wayOfConnect(host: host, port: port, for: identity) {
    case .entries(let route):
      let field = worker.requestHead.fields.first(.proxyAuthorization)
      return .entryThroughConnect(
        ConnectedAuthority(
          host: host, port: port, text: summary.authority, route: route,
          authorization: field.map { Array($0.value.bytes(in: bytes)) }))
    case .tunnel: return .tunnel(TunnelTarget(host: host, port: port))
    }
  }

  func checkTunnel(host: String, port: UInt16, _ identity: ClientIdentity) throws(ProxyError) {
    try snapshot.checkTunnel(host: host, port: port, for: identity)
  }
}
