import EventIO
import Forwarding
import HTTPWire
import Routing
import Upstreams

/// The route of a request, from its head to its entry: message, client, entry, and the head for the origin.
extension Request {
  /// - Parameter bytes: the head, which was parsed into `services.requestHead`.
  func route(_ bytes: UnsafeRawBufferPointer) -> RequestMachine.Input {
    do throws(ProxyError) {
      let target = try readMessage(bytes)
      return try find(target, bytes)
    } catch { return failing(error) }
  }

  private func readMessage(_ bytes: UnsafeRawBufferPointer) throws(ProxyError) -> RequestTarget {
    let services = services
    message.outbound = OutboundRequest(services.requestHead)
    let target: RequestTarget
    do {
      try services.requestHead.checkHost(in: bytes)
      message.outbound.framing = try services.requestHead.framing(in: bytes)
      target = try RequestTarget(of: services.requestHead, in: bytes)
    } catch { throw .malformed(error) }
    message.persists = services.requestHead.persists(in: bytes)
    if message.outbound.framing != .none, message.outbound.framing != .length(0) {
      body = AppBody(message.outbound.framing, capacity: snapshot.settings.limits.replayBody)
      message.expectsContinue = services.requestHead.expectation(in: bytes) == .continue
    }
    record.target.method = methodText(bytes)
    do { try services.requestHead.checkForwarding(by: snapshot.name, in: bytes) } catch { throw ProxyError(error, for: nil) }
    return target
  }

  /// Finds the entry for the authority of the target.
  private func find(_ target: RequestTarget, _ bytes: UnsafeRawBufferPointer) throws(ProxyError) -> RequestMachine.Input {
    switch target.form {
    case .authority:
      record.target.authority = String(decoding: target.authority.bytes(in: bytes), as: UTF8.self)
      return try routeConnect(target, bytes, try identify(bytes, earlier: nil))
    case .asterisk, .origin:
      guard let connected = app.connectedAuthority else {
        if target.form == .asterisk { return answering(.own(.options)) }
        throw .originForm
      }
      record.target.authority = connected.text
      note(path: target, bytes)
      // The route is looked up for each request, because a reload since the CONNECT may have changed the entries.
      let routes = snapshot.router.find(host: connected.host, port: connected.port, isHTTPS: false)
      return try routeTo(connected.host, connected.port, routes, target, bytes, earlier: connected.authorization)
    case .absolute:
      // After CONNECT the connection has one authority. A second one in the target could contradict it.
      if app.connectedAuthority != nil { throw .malformed(.targetForm) }
      app.route.follow(target, in: bytes, by: snapshot.router, generation: snapshot.generation)
      record.target.authority = app.route.text
      note(path: target, bytes)
      return try routeTo(app.route.host, app.route.port, app.route.routes, target, bytes, earlier: nil)
    }
  }

  private func identify(_ bytes: UnsafeRawBufferPointer, earlier: [UInt8]?) throws(ProxyError) -> ClientIdentity {
    let identity = try ClientAccess.identify(services.requestHead, bytes, earlier: earlier, on: app, in: snapshot)
    try admit(identity)
    return identity
  }

  private func routeTo(
    _ host: String, _ port: UInt16, _ routes: HostRoutes?, _ target: RequestTarget, _ bytes: UnsafeRawBufferPointer,
    earlier: [UInt8]?
  ) throws(ProxyError) -> RequestMachine.Input {
    let services = services
    let access = try identify(bytes, earlier: earlier)
    let place: RoutePlace
    do {
      place = try snapshot.router.place(
        routes, method: message.outbound.method, host: host, port: port, path: target.path, in: bytes, for: access)
    } catch { throw ProxyError(error) }
    let entry = snapshot.entries[place.entry]
    let rules = entry.rules[place.match]
    if services.requestHead.endsHere(in: bytes) {
      return answering(.own(OwnAnswer(toLastHop: services.requestHead, in: bytes)))
    }
    do { try message.outbound.decide(&services.requestHead, in: bytes, rules: rules) } catch {
      throw ProxyError(error, for: entry.name)
    }
    let pool = services.pool(of: entry, in: snapshot, host: host, port: port, isHTTPS: target.isHTTPS)
    message.head = rendered(target, bytes, for: pool.origin.authority, rules)
    way = Way(entry: entry, rules: rules, pool: pool, stall: entry.timeouts.stall)
    record.upstream.entry = entry
    return .originFound(needsCredential: entry.credential != nil && message.outbound.sendsCredential)
  }

  private func rendered(
    _ target: RequestTarget, _ bytes: UnsafeRawBufferPointer, for origin: OriginAuthority, _ rules: ForwardingRules
  ) -> Block {
    let services = services
    let size = message.outbound.sizeLimit(of: services.requestHead, target, to: origin, rules: rules)
    let head = Block(capacity: size)
    var writer = ByteWriter(head.base, capacity: head.capacity)
    message.outbound.write(services.requestHead, in: bytes, target, to: origin, rules: rules, into: &writer)
    head.end = writer.count
    return head
  }

  private func note(path target: RequestTarget, _ bytes: UnsafeRawBufferPointer) {
    record.target.path = target.path.isEmpty ? "/" : String(decoding: target.path.bytes(in: bytes), as: UTF8.self)
  }

  private func methodText(_ bytes: UnsafeRawBufferPointer) -> String {
    switch message.outbound.method {
    case .get: "GET"
    case .head: "HEAD"
    case .post: "POST"
    case .put: "PUT"
    default: String(decoding: services.requestHead.methodText.bytes(in: bytes), as: UTF8.self)
    }
  }
}
