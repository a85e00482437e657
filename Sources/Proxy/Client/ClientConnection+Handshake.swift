import Crypto
import EventIO
import Routing
import Settings
import TLS

/// TLS that the app begins, and that the proxy answers itself: after a CONNECT, or at once to a TLS listener.
extension ClientConnection {
  /// A CONNECT was answered that a handshake must follow, or clear HTTP, within `timeouts.handshake`.
  var awaitsHandshake: Bool {
    if stage == .tls { return true }
    guard let connectedAuthority else { return false }
    return connectedAuthority.isUnproven && connectedAuthority.isIntercepted
  }

  func armHandshakeTimer() {
    let limit = Int64(services.snapshot.settings.timeouts.ofClients.handshake) * 1_000_000
    loop.arm(self, at: (connectedAuthority?.established ?? loop.now) + limit)
  }

  func handshakeExpired() {
    services.observer.handshake(.timeout)
    close()
  }

  /// The beginning of a ClientHello stands in the block.
  /// - Returns: false: the connection was closed.
  func startHandshake(_ authority: ConnectedAuthority, _ block: Block) -> Bool {
    let handshake: Handshake
    do { handshake = try prepare(authority, block.bytes) } catch {
      notice("TLS after CONNECT \(authority.text): closed, \(error.reason)", about: authority.text)
      services.observer.handshake(.failed)
      close()
      return false
    }
    begin(handshake, block)
    armHandshakeTimer()
    goOnWithHandshake()
    return true
  }

  /// The first byte to a TLS listener stands in the block. The time runs since the connection was accepted, or since its PROXY
  /// header.
  /// - Returns: false: it is answered or closed.
  func startListenerHandshake(_ block: Block) -> Bool {
    stage = .http
    guard block.bytes[0] == TunnelStart.clientHello else {
      refuse(.clearToTLS)
      return false
    }
    let snapshot = services.snapshot
    do throws(OpenSSLError) {
      guard let tls = listener.settings.tls, let identity = snapshot.listeners[tls] ?? snapshot.leavingListeners[tls]
      else {
        throw OpenSSLError(.configuration, "the listener is gone")
      }
      let signer =
        identity.identity == nil
        ? snapshot.intercept?.authorities.signer(forAll: identity.hosts, at: wallClockSeconds()) : nil
      begin(try services.handshakes.begin(on: self, showing: identity, by: signer, received: block.bytes), block)
    } catch {
      notice("TLS to \(listener.socket.address): closed, \(error)", about: "\(listener.socket.address)")
      services.observer.handshake(.failed)
      close()
      return false
    }
    if isClosing { armHandshakeTimer() }
    goOnWithHandshake()
    return true
  }

  /// Says it in the log once a minute for each client and place.
  func notice(_ text: String, about place: String) {
    let report = services.shared.handshakes.note(.refused, client: peer.host, host: "closed \(place)", at: loop.now)
    guard let report else { return }
    services.observer.notice("\(text) (\(report.count) of \(peer.host))")
  }

  /// A TLS handshake came to a listener that speaks none.
  func closeForeignHandshake() {
    let place = "\(listener.socket.address)"
    if let report = services.shared.handshakes.note(.refused, client: peer.host, host: place, at: loop.now) {
      services.observer.notice(
        "TLS to the plain listener \(place): closed (\(report.count) of \(peer.host)). Its apps need http_proxy=http://..., or it needs `tls`"
      )
    }
    close()
  }

  private func begin(_ handshake: Handshake, _ block: Block) {
    inbound = nil
    loop.blocks.giveBack(block)
    stream.secure(handshake.tls)
    self.handshake = handshake
    phase = .handshake
  }

  private struct Obstacle: Error { let reason: String }

  /// A reload since the CONNECT may have changed clients, entries and authorities.
  private func prepare(_ authority: ConnectedAuthority, _ received: UnsafeRawBufferPointer) throws(Obstacle) -> Handshake {
    let snapshot = services.snapshot
    let identity: ClientIdentity
    do { identity = try ClientAccess.identify(earlier: authority.authorization, on: self, in: snapshot) } catch {
      throw Obstacle(reason: error.answer(for: nil).details ?? "not allowed")
    }
    guard
      case .served(let served)? = try? snapshot.router.decideConnect(
        host: authority.host, port: authority.port, for: identity), case .intercepted(let routes) = served.tls
    else { throw Obstacle(reason: "a reload has changed what may follow") }
    guard let signer = snapshot.signer(for: authority.host) else { throw Obstacle(reason: "no CA can sign for it now") }
    let client: [UInt8] = identity.name.map { [1] + Array($0.utf8) } ?? [0]
    do {
      return try services.handshakes.begin(
        on: self, for: PeerName(authority.host), by: signer, received: received,
        offering: offersHTTP2(routes, to: identity, snapshot) ? .http2AndHTTP1 : nil,
        binding: [Array("\(listener.socket.address)".utf8), client])
    } catch { throw Obstacle(reason: "\(error)") }
  }

  /// Whether one of the entries that the client may use speaks HTTP/2. One that speaks 1.1 to its origin serves apps over both.
  private func offersHTTP2(_ routes: HostRoutes, to client: ClientIdentity, _ snapshot: Snapshot) -> Bool {
    snapshot.router.usableEntries(of: routes, for: client).contains { snapshot.entries[$0].settings.httpVersion != .http1 }
  }

  func goOnWithHandshake() {
    guard phase == .handshake, let handshake, !handshake.isSuspended else { return }
    guard services.handshakes.admits(handshake, of: self) else { return }
    switch services.handshakes.step(handshake, of: self) {
    case .waits, .suspended: break
    case .done: finish(handshake)
    case .failed(let failure): fail(failure)
    }
  }

  private func finish(_ handshake: Handshake) {
    self.handshake = nil
    let outcome: HandshakeOutcome = handshake.tls.isResumed ? .resumed : .full
    if let connectedAuthority {
      connectedAuthority.secured(outcome)
    } else {
      let anchors = ClientAnchors(all: handshake.clientAnchors, used: handshake.tls.clientAnchor)
      certificate = handshake.tls.clientCertificate.map { ClientCertificate($0, under: anchors) }
      services.observer.handshake(outcome)
    }
    if handshake.tls.selectedProtocol == .http2 { return carry() }
    phase = .head
    armHeadTimer()
    readHeads()
  }

  /// OpenSSL has sent the alert, if there is one to send: it must not be lost to a reset.
  private func fail(_ failure: AcceptFailure) {
    handshake = nil
    let outcome = HandshakeOutcome(failure.reason)
    services.observer.handshake(outcome)
    if outcome == .refusedByClient || outcome == .closed { tell(outcome, failure.received) }
    stream.unsecure()
    lingerThenClose()
  }

  // MARK: What became of it

  /// The first bytes have come inside: the app trusts the certificate.
  func noteUse() {
    guard let authority = connectedAuthority, let outcome = authority.pendingOutcome else { return }
    authority.pendingOutcome = nil
    services.observer.handshake(outcome)
    _ = services.shared.handshakes.note(.served, client: client(of: authority), host: authority.host, at: loop.now)
  }

  /// The app leaves. If it does so after a finished handshake and without a byte, it may not trust the certificate; an alert says so.
  func noteLeaving() {
    guard let authority = connectedAuthority, authority.pendingOutcome != nil else { return }
    authority.pendingOutcome = nil
    let alert = stream.tls?.receivedAlert
    let outcome: HandshakeOutcome = alert?.refusesCertificate == true ? .refusedByClient : .closed
    services.observer.handshake(outcome)
    tell(outcome, alert)
  }

  /// The proxy closes a connection that was never used inside: that says nothing about the app.
  func noteUnusedHandshake() {
    guard let authority = connectedAuthority, let outcome = authority.pendingOutcome else { return }
    authority.pendingOutcome = nil
    services.observer.handshake(outcome)
  }

  private func tell(_ outcome: HandshakeOutcome, _ alert: TLSAlert?) {
    let client = connectedAuthority.map { self.client(of: $0) } ?? peer.host
    let host = connectedAuthority?.host ?? "\(listener.socket.address)"
    let report = services.shared.handshakes.note(
      outcome == .closed ? .closed : .refused, client: client, host: host, at: loop.now)
    guard let report else { return }
    services.observer.refused(
      HandshakeRefusal(
        client: client, host: host, port: connectedAuthority?.port, alert: alert, count: report.count))
  }

  private func client(of authority: ConnectedAuthority) -> String {
    let identity = try? ClientAccess.identify(earlier: authority.authorization, on: self, in: services.snapshot)
    return identity?.name ?? peer.host
  }
}
