import EventIO
import HTTPWire
import Routing

enum TunnelStart {
  /// TLS record type `handshake` (RFC 8446 section 5.1): no HTTP request begins with it.
  static let clientHello: UInt8 = 0x16
}

/// CONNECT to a host and port that an entry serves in clear HTTP opens no tunnel: the answer is 200, and the requests that
/// follow in origin-form go to that entry (`find` in Request+Route). If a TLS handshake follows instead, it is for the real host:
/// it becomes a tunnel if `connect.allow` has that host. `ClientConnection.parse` tells the two apart by the first byte. CONNECT
/// to any other host opens a tunnel from the start.
extension Request {
  /// Routes CONNECT: to an entry, or to a tunnel if that is allowed.
  func routeConnect(
    _ target: RequestTarget, _ bytes: UnsafeRawBufferPointer, _ identity: ClientIdentity
  ) throws(ProxyError) -> RequestMachine.Input {
    guard app.connectedAuthority == nil else { throw .malformed(.targetForm) }
    let host = normalisedHost(target.host.bytes(in: bytes))
    guard let port = target.port else { throw .malformed(.port) }
    record.target.isTunnel = true
    let way: Router.ConnectWay
    do { way = try snapshot.router.wayOfConnect(host: host, port: port, for: identity) } catch { throw ProxyError(error) }
    switch way {
    case .entries:
      let field = services.requestHead.fields.first(.proxyAuthorization)
      app.connectedAuthority = ConnectedAuthority(
        host: host, port: port, text: record.target.authority, authorization: field.map { Array($0.value.bytes(in: bytes)) })
      return answering(.established)
    case .tunnel:
      tunnel = TunnelState(TunnelTarget(host: host, port: port))
      return .tunnelAllowed(isAnswered: false)
    }
  }

  /// Opens a tunnel, because a TLS handshake followed the CONNECT to an entry. The app already has the 200.
  /// - Throws: no tunnel is allowed. Nothing was begun, and nothing is recorded.
  func beginDeferredTunnel(_ authority: ConnectedAuthority) throws(ProxyError) {
    record.target.method = "CONNECT"
    record.target.isTunnel = true
    record.target.authority = authority.text
    // The tunnel begins now: a reload since the CONNECT may have changed the clients.
    let identity = try ClientAccess.identify(earlier: authority.authorization, on: app, in: snapshot)
    try admit(identity)
    do { try snapshot.router.checkTunnel(host: authority.host, port: authority.port, for: identity) } catch {
      throw ProxyError(error)
    }
    tunnel = TunnelState(TunnelTarget(host: authority.host, port: authority.port))
    take(.tunnelAllowed(isAnswered: true))
  }
}
