import EventIO
import HTTPWire
import Routing

enum TunnelStart {
  /// TLS record type `handshake` (RFC 8446 section 5.1): no HTTP request begins with it.
  static let clientHello: UInt8 = 0x16
}

/// CONNECT. What may follow its 200 is decided before it (`Router.decideConnect`): a TLS handshake that the proxy answers itself, one for
/// the real host (a tunnel, where `connect.allow` has it), clear HTTP for an entry (`find` in Request+Route), or a tunnel from the start.
extension Request {
  func routeConnect(
    _ target: RequestTarget, _ bytes: UnsafeRawBufferPointer, _ identity: ClientIdentity
  ) throws(ProxyError) -> RequestMachine.Input {
    let host = normalisedHost(target.host.bytes(in: bytes))
    guard let port = target.port else { throw .malformed(.port) }
    record.target.isTunnel = true
    switch try decideConnect(host, port, identity) {
    case .served(let served):
      var isIntercepted = false
      if case .intercepted = served.tls {
        guard snapshot.signer(for: host) != nil else { throw .noSigner(host: host) }
        isIntercepted = true
      }
      let field = services.requestHead.fields.first(.proxyAuthorization)
      app.connectedAuthority = ConnectedAuthority(
        host: host, port: port, text: record.target.authority, authorization: field.map { Array($0.value.bytes(in: bytes)) },
        isIntercepted: isIntercepted, established: loop.now)
      return answering(.established)
    case .tunnel:
      tunnel = TunnelState(TunnelTarget(host: host, port: port))
      return .tunnelAllowed(isAnswered: false)
    }
  }

  func decideConnect(
    _ host: String, _ port: UInt16, _ identity: ClientIdentity
  ) throws(ProxyError) -> ConnectDecision {
    do { return try snapshot.router.decideConnect(host: host, port: port, for: identity) } catch { throw ProxyError(error) }
  }

  /// A CONNECT to an entry was followed by a TLS handshake, for the real host: a tunnel where that is allowed. The 200 has gone.
  /// - Throws: nothing was begun, and nothing is recorded.
  func beginDeferredTunnel(_ authority: ConnectedAuthority) throws(ProxyError) {
    record.target.method = "CONNECT"
    record.target.isTunnel = true
    record.target.authority = authority.text
    // The tunnel begins now: a reload since the CONNECT may have changed the clients.
    let identity = try ClientAccess.identify(earlier: authority.authorization, on: app, in: snapshot)
    try admit(identity)
    switch try decideConnect(authority.host, authority.port, identity) {
    case .tunnel: break
    case .served(let served):
      guard case .tunnelled = served.tls else { throw .connectNotAllowed(target: authority.text) }
    }
    tunnel = TunnelState(TunnelTarget(host: authority.host, port: authority.port))
    take(.tunnelAllowed(isAnswered: true))
  }
}
