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
    } catch {
      hideRefusedPath()
      return failing(error)
    }
  }

  private func readMessage(_ bytes: UnsafeRawBufferPointer) throws(ProxyError) -> RequestTarget {
    let services = services
    message.outbound = OutboundRequest(services.requestHead)
    if record.target.isStream { message.marked = app.marked }
    let target: RequestTarget
    do {
      let host = try services.requestHead.checkHost(in: bytes)
      message.outbound.framing = try services.requestHead.framing(in: bytes)
      target = try RequestTarget(of: services.requestHead, host: host, in: bytes)
    } catch { throw .malformed(error) }
    message.persists = services.requestHead.persists(in: bytes)
    if message.outbound.framing.hasBytes {
      body = AppBody(
        message.outbound.framing, capacity: snapshot.settings.limits.replayBody, from: services.buffers)
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
      // Before anything is said of who asks: inside there is no 407, and no other client.
      guard app.connectedAuthority == nil else { throw .connectInside }
      return try routeConnect(target, bytes, try identify(bytes))
    case .asterisk, .origin:
      guard let connected = app.connectedAuthority else {
        if target.form == .asterisk { return answering(.own(.options)) }
        throw .originForm
      }
      record.target.authority = connected.text
      note(path: target, bytes)
      return try routeInside(connected, target, bytes)
    case .absolute:
      if let connected = app.connectedAuthority {
        // After CONNECT the connection speaks for one authority; a second one in the target would be another opinion.
        guard connected.isSecure else { throw .malformed(.targetForm) }
        record.target.authority = connected.text
        note(path: target, bytes)
        return try routeInside(connected, target, bytes)
      }
      app.route.follow(target, in: bytes, by: snapshot.router, generation: snapshot.generation)
      record.target.authority = app.route.text
      note(path: target, bytes)
      return try routeTo(
        app.route.host, app.route.port, app.route.routes, target.isHTTPS, target, bytes, try identify(bytes))
    }
  }

  /// After a CONNECT: in the clear, or inside of TLS.
  private func routeInside(
    _ connected: ConnectedAuthority, _ target: RequestTarget, _ bytes: UnsafeRawBufferPointer
  ) throws(ProxyError) -> RequestMachine.Input {
    let (host, port, isSecure) = (connected.host, connected.port, connected.isSecure)
    record.target.isSecure = isSecure
    if isSecure { try checkAuthority(connected, target, bytes) }
    let access = isSecure ? try identifyInside(connected) : try identify(bytes, earlier: connected.authorization)
    // The present entries: a reload may have come since the CONNECT. What none of them serves is not served, unlisted or not.
    let found =
      isSecure
      ? snapshot.router.findIntercepted(host: host, port: port) : snapshot.router.find(host: host, port: port, isHTTPS: false)
    guard let found else {
      if isSecure { message.persists = false }
      throw .hostNotListed(host: host)
    }
    if isSecure, connected.generation != snapshot.generation { try checkStillIntercepted(connected, access) }
    return try routeTo(host, port, found, isSecure, target, bytes, access, isBound: true)
  }

  /// A reload may have exempted the host (`connect.allow`), or left the client another way to it.
  private func checkStillIntercepted(_ connected: ConnectedAuthority, _ access: ClientIdentity) throws(ProxyError) {
    guard case .served(let served) = try decideConnect(connected.host, connected.port, access), case .intercepted = served.tls
    else {
      message.persists = false
      throw .hostNotListed(host: connected.host)
    }
    connected.generation = snapshot.generation
  }

  /// Inside of TLS target and Host say the authority of the handshake, if they say one.
  private func checkAuthority(
    _ connected: ConnectedAuthority, _ target: RequestTarget, _ bytes: UnsafeRawBufferPointer
  ) throws(ProxyError) {
    if target.form == .absolute, !target.isHTTPS || !connected.isSame(target.host, target.port, in: bytes) {
      throw .misdirected(authority: connected.text)
    }
    if let field = services.requestHead.fields.first(.host), !connected.isNamed(by: field.value, in: bytes) {
      throw .misdirected(authority: connected.text)
    }
  }

  /// Inside of TLS: by the CONNECT alone. No 407 is possible there.
  private func identifyInside(_ connected: ConnectedAuthority) throws(ProxyError) -> ClientIdentity {
    let access: ClientIdentity
    do { access = try ClientAccess.identify(earlier: connected.authorization, on: app, in: snapshot) } catch {
      message.persists = false
      throw .clientGone
    }
    try admit(access)
    return access
  }

  private func identify(_ bytes: UnsafeRawBufferPointer, earlier: [UInt8]? = nil) throws(ProxyError) -> ClientIdentity {
    let identity = try ClientAccess.identify(services.requestHead, bytes, earlier: earlier, on: app, in: snapshot)
    try admit(identity)
    return identity
  }

  private func routeTo(
    _ host: String, _ port: UInt16, _ routes: HostRoutes?, _ isHTTPS: Bool, _ target: RequestTarget,
    _ bytes: UnsafeRawBufferPointer, _ access: ClientIdentity, isBound: Bool = false
  ) throws(ProxyError) -> RequestMachine.Input {
    let services = services
    let place: RoutePlace
    do {
      place = try snapshot.router.place(
        routes, method: message.outbound.method, methodText: services.requestHead.methodText, host: host, port: port,
        isHTTPS: isHTTPS, path: target.path, in: bytes,
        for: access, isBound: isBound)
    } catch { throw ProxyError(error) }
    let entry = snapshot.entries[place.entry]
    let rules = entry.rules[place.match]
    if entry.isSigned, let path = rules.hiddenPath(target.path.bytes(in: bytes)) { record.target.path = path }
    if services.requestHead.endsHere(in: bytes) {
      return answering(.own(OwnAnswer(toLastHop: services.requestHead, in: bytes)))
    }
    record.upstream.entry = entry
    if let redirects = entry.redirects,
      redirects.methods.contains(message.outbound.method, services.requestHead.methodText, in: bytes)
    {
      redirection = Redirection(
        bytes, from: entry, at: place, redirects, host: host, port: port, isHTTPS: isHTTPS,
        isAuthorized: services.requestHead.contains(.authorization), framing: message.outbound.framing, client: access)
    }
    try decide(entry, rules, bytes)
    let pool = services.pool(of: entry, in: snapshot, host: host, port: port, isHTTPS: isHTTPS)
    guard let cache = entry.cache else {
      return .originFound(needsCredential: try aim(at: entry, rules, pool, target, bytes, access))
    }
    let found = lookUp(cache, entry, rules, pool, target, bytes, (host, port, isHTTPS))
    if let input = answerAtOnce(found) {
      if entry.origin == nil { pool.tidy() }
      return input
    }
    let needsCredential = try aim(at: entry, rules, pool, target, bytes, access)
    return proceed(found, needsCredential: needsCredential)
  }

  /// What goes on of the head in `services.requestHead`.
  private func decide(_ entry: Entry, _ rules: ForwardingRules, _ bytes: UnsafeRawBufferPointer) throws(ProxyError) {
    let services = services
    if entry.isSigned, !message.outbound.keepsAppCredential(services.requestHead, in: bytes, rules: rules) {
      try noteForSigner(entry, bytes)
    }
    do { try message.outbound.decide(&services.requestHead, in: bytes, rules: rules) } catch {
      throw ProxyError(error, for: entry.name)
    }
  }

  /// Writes the head for the origin of a redirect's target, and looks into the store. The head that it is made from is in
  /// `services.requestHead`, and its framing in `message`.
  /// - Returns: whether the entry's credential goes with it, and what the store has.
  func aim(
    at entry: Entry, _ rules: ForwardingRules, _ host: String, _ port: UInt16, isHTTPS: Bool, _ target: RequestTarget,
    _ bytes: UnsafeRawBufferPointer, _ access: ClientIdentity
  ) throws(ProxyError) -> (needsCredential: Bool, found: LookUp) {
    try decide(entry, rules, bytes)
    let pool = services.pool(of: entry, in: snapshot, host: host, port: port, isHTTPS: isHTTPS)
    let found = entry.cache.map { lookUp($0, entry, rules, pool, target, bytes, (host, port, isHTTPS), isHop: true) }
    return (try aim(at: entry, rules, pool, target, bytes, access), found ?? .ask)
  }

  private func aim(
    at entry: Entry, _ rules: ForwardingRules, _ pool: consuming OriginPool, _ target: RequestTarget,
    _ bytes: UnsafeRawBufferPointer, _ access: ClientIdentity
  ) throws(ProxyError) -> Bool {
    let services = services
    if pool.hasBothForms { pool = tunnelled(pool, entry, rules) }
    message.head = rendered(target, bytes, for: pool.origin.authority, rules)
    let search = entry.origins.map { OriginSearch($0, on: services.upstreams) }
    way = Way(entry: entry, rules: rules, pool: pool, search: search, stall: entry.timeouts.stall)
    if entry.offersHTTP2 { noteCall(bytes, entry) }
    if entry.isSigned, message.outbound.sendsCredential, let authority = way?.pool.origin.authority {
      try checkSigned(entry, authority)
    }
    if entry.takesSubject {
      authorization.subject = AppSubject(of: services.requestHead, bytes, client: access, at: app.peer)
      if authorization.subject == nil { throw .subjectMissing(entry.settings.credential ?? "") }
    }
    return entry.credential != nil && message.outbound.sendsCredential
  }

  /// What a parent would change, or share with others, goes through a tunnel. So does a secret in the target, of the entry or the app:
  /// parents write targets into logs and error pages.
  func tunnelled(_ pool: OriginPool, _ entry: Entry, _ rules: ForwardingRules) -> OriginPool {
    let needsTunnel =
      message.outbound.isUpgrade || message.outbound.authenticatesConnection || rules.keepsHost || rules.target != nil
    guard needsTunnel, let tunnelling = pool.origin.tunnelling else { return pool }
    let other = services.upstreams.pool(of: tunnelling, named: entry.name)
    pool.tidy()
    return other
  }

  private func rendered(
    _ target: RequestTarget, _ bytes: UnsafeRawBufferPointer, for origin: OriginAuthority, _ rules: ForwardingRules
  ) -> Block {
    let services = services
    // After CONNECT targets have no authority.
    let asked = rules.keepsHost && target.form != .absolute ? app.connectedAuthority.map { Array($0.text.utf8) } : nil
    let size = message.outbound.sizeLimit(
      of: services.requestHead, target, asked: asked, to: origin, rules: rules, client: record.client)
    let head = loop.blocks.borrow(forHeadOf: size)
    var writer = ByteWriter(head.base, capacity: head.capacity)
    message.outbound.write(
      services.requestHead, in: bytes, target, asked: asked, to: origin, rules: rules, client: record.client, into: &writer)
    head.end = writer.count
    return head
  }

  private func note(path target: RequestTarget, _ bytes: UnsafeRawBufferPointer) {
    record.target.path = target.path.isEmpty ? "/" : String(decoding: target.path.bytes(in: bytes), as: UTF8.self)
  }

  /// An entry that did not get the request may take a secret in the path: the log has none of the app's own, wherever it is.
  private func hideRefusedPath() {
    if record.target.path.isEmpty { return }
    let connected = app.connectedAuthority
    let (host, port) = (connected?.host ?? app.route.host, connected?.port ?? app.route.port)
    for place in snapshot.router.places(host: host, port: port) {
      let rules = snapshot.entries[place.entry].rules[place.match]
      if let path = rules.hiddenPath(ofRefused: Array(record.target.path.utf8)) { record.target.path = path }
    }
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
