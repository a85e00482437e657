import CSystem
import EventIO
import Forwarding
import HTTPWire
import Routing

extension Request {
  /// From the one authority of the target to the entry, and to the head that goes there. The app's Host field decides nothing.
  func route(_ target: RequestTarget, _ bytes: UnsafeRawBufferPointer) throws(ProxyError) -> Destination {
    summary.method = methodText(bytes)
    do { try worker.requestHead.checkForwarding(by: snapshot.name, in: bytes) } catch { throw ProxyError(error, for: nil) }
    switch target.form {
    case .authority:
      summary.authority = String(decoding: target.authority.bytes(in: bytes), as: UTF8.self)
      let access = try identify(bytes)
      return try routeConnect(target, bytes, access)
    case .asterisk, .origin:
      guard let connected = client.connectedAuthority else {
        if target.form == .asterisk { return .answer(.options) }
        throw .originForm
      }
      summary.authority = connected.text
      note(path: target, bytes)
      // The route, too, is of the snapshot of the CONNECT.
      let routes = snapshot.router.find(host: connected.host, port: connected.port, isHTTPS: false)
      return try routeTo(connected.host, connected.port, routes, target, bytes, earlier: connected.authorization)
    case .absolute:
      // After CONNECT the connection speaks for one authority; a second one in the target would be another opinion.
      if client.connectedAuthority != nil { throw .malformed(.targetForm) }
      client.memo.follow(target, in: bytes, by: snapshot.router, generation: snapshot.generation)
      summary.authority = client.memo.text
      note(path: target, bytes)
      return try routeTo(client.memo.host, client.memo.port, client.memo.routes, target, bytes)
    }
  }

  private func routeTo(
    _ host: String, _ port: UInt16, _ routes: HostRoutes?, _ target: RequestTarget, _ bytes: UnsafeRawBufferPointer,
    earlier: [UInt8]? = nil
  ) throws(ProxyError) -> Destination {
    let access = try identify(bytes, earlier: earlier)
    let index: Int
    do {
      index = try snapshot.router.entry(
        routes, method: method, host: host, port: port, path: target.path, in: bytes, for: access)
    } catch { throw ProxyError(error) }
    let entry = snapshot.entries[index]
    if worker.requestHead.endsHere(in: bytes) { return .answer(OwnAnswer(toLastHop: worker.requestHead, in: bytes)) }
    do { try outbound.decide(&worker.requestHead, in: bytes, rules: entry.rules) } catch { throw ProxyError(error, for: entry) }
    let pool = worker.pool(of: entry, in: snapshot, host: host, port: port, isHTTPS: target.isHTTPS)
    renderHead(entry.rules, pool.origin.authority, target, bytes)
    return .origin(entry, pool)
  }

  private func note(path target: RequestTarget, _ bytes: UnsafeRawBufferPointer) {
    summary.path = target.path.isEmpty ? "/" : String(decoding: target.path.bytes(in: bytes), as: UTF8.self)
  }

  private func methodText(_ bytes: UnsafeRawBufferPointer) -> String {
    switch method {
    case .get: "GET"
    case .head: "HEAD"
    case .post: "POST"
    case .put: "PUT"
    default: String(decoding: worker.requestHead.methodText.bytes(in: bytes), as: UTF8.self)
    }
  }

  private func renderHead(
    _ rules: ForwardingRules, _ origin: OriginAuthority, _ target: RequestTarget, _ bytes: UnsafeRawBufferPointer
  ) {
    let head = Block(capacity: outbound.sizeLimit(of: worker.requestHead, target, to: origin, rules: rules))
    var writer = ByteWriter(head.base, capacity: head.capacity)
    outbound.write(worker.requestHead, in: bytes, target, to: origin, rules: rules, into: &writer)
    head.end = writer.count
    self.head = head
  }
}
