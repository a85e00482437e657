import HTTPWire
import Routing

extension Request {
  /// CONNECT: to an entry's host and port it is no tunnel but a way to that entry; elsewhere a tunnel where that is allowed.
  func routeConnect(
    _ target: RequestTarget, _ bytes: UnsafeRawBufferPointer, _ identity: ClientIdentity
  ) throws(ProxyError) -> Destination {
    guard client.connectedAuthority == nil else { throw .malformed(.targetForm) }
    let host = normalisedHost(target.host.bytes(in: bytes))
    guard let port = target.port else { throw .malformed(.port) }
    summary.isTunnel = true
    let way: Router.ConnectWay
    do { way = try snapshot.router.wayOfConnect(host: host, port: port, for: identity) } catch { throw ProxyError(error) }
    switch way {
    case .entries:
      let field = worker.requestHead.fields.first(.proxyAuthorization)
      return .entryThroughConnect(
        ConnectedAuthority(
          host: host, port: port, text: summary.authority,
          authorization: field.map { Array($0.value.bytes(in: bytes)) }))
    case .tunnel: return .tunnel(TunnelTarget(host: host, port: port))
    }
  }

  func checkTunnel(host: String, port: UInt16, _ identity: ClientIdentity) throws(ProxyError) {
    do { try snapshot.router.checkTunnel(host: host, port: port, for: identity) } catch { throw ProxyError(error) }
  }
}
