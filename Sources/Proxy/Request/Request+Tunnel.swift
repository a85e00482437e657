import EventIO
import Streams
import Upstreams

/// Tunnels: what a CONNECT opens, and what follows a 101. The proxy does not inspect their bytes.
extension Request {
  /// The asker that is charged for look-ups of names that a client chose: the client by its name, else by its address.
  var nameAsker: NameAsker { .client(record.client.map { "name \($0)" } ?? "address \(app.peer.host)") }

  /// Connects to the target. If that fails, the app gets an error, or its connection is cut if it already has the 200.
  func openTunnel() -> RequestMachine.Input? {
    guard let tunnel, let target = tunnel.target else { return failing(.internalError) }
    record.times.connectStarted = loop.now
    let timeouts = snapshot.settings.timeouts
    loop.arm(timer, afterMilliseconds: timeouts.resolve + timeouts.connect)
    let route = snapshot.ways.route(to: target.host, port: target.port, isTLS: true)
    let dial = Dial.to(
      Dial.Target(host: target.host, port: target.port, checksAddresses: true, route: route), on: services.upstreams
    ) { [unowned self] in self.dialled($0) }
    tunnel.dial = dial
    dial.start(for: nameAsker, within: Int64(timeouts.connect) * 1_000_000)
    return nil
  }

  private func dialled(_ progress: Dial.Progress) {
    guard let tunnel else { return }
    switch progress {
    case .connecting: break
    case .failed(let error):
      tunnel.dial = nil
      take(failing(.upstream(error)))
    case .connected(let connected):
      tunnel.dial = nil
      record.times.connected = loop.clock()
      record.upstream.address = connected.address
      record.upstream.parent = connected.parent?.name
      record.answer.status = 200
      tunnel.far = connected.stream
      tunnel.rest = connected.rest
      if machine.answer == .none { writeEstablished() }
      take(.tunnelOpened)
    }
  }

  func beginTunnel() -> RequestMachine.Input? {
    pulse.limit = way?.entry.timeouts.tunnel ?? Int64(snapshot.settings.timeouts.tunnel) * 1_000_000
    let state = tunnel ?? TunnelState(nil)
    tunnel = state
    if let upstream = attempt.exchange?.detach() {
      let farEnd = farEnd(upstream.stream)
      let rest = upstream.detach(to: farEnd)
      attempt.end(on: loop)
      state.open = Tunnel(app, far: upstream.stream, upstream: upstream, rest: rest, pulse)
    } else if let far = state.far {
      if let token = far.token { loop.hand(token, to: farEnd(far)) }
      state.open = Tunnel(app, far: far, upstream: nil, rest: block(of: state.rest), pulse)
      state.rest = []
    }
    services.observer.tunnels(1)
    pulse.moved()
    return pumpTunnel()
  }

  /// What the far end has sent already; nil: nothing.
  private func block(of bytes: [UInt8]) -> Block? {
    if bytes.isEmpty { return nil }
    // The tunnel goes on with this block.
    let block = bytes.count <= BlockPool.small ? loop.blocks.borrow() : Block(capacity: bytes.count)
    block.append(bytes)
    return block
  }

  private func farEnd(_ stream: ByteStream) -> FarEnd {
    FarEnd(stream) { [weak self] in self?.take(self?.pumpTunnel()) }
  }

  func pumpTunnel() -> RequestMachine.Input? {
    switch tunnel?.open?.pump() {
    case .open: return nil
    case .ended:
      tunnel?.endsByReset = false
      return .tunnelEnded
    case .broken, nil: return .tunnelEnded
    }
  }

  func closeTunnel(reset: Bool) {
    guard let open = tunnel?.open else { return }
    tunnel?.open = nil
    services.observer.tunnels(-1)
    record.bytesReceived += open.sentUp
    record.bytesSent += open.sentDown
    open.close(reset: reset)
  }
}
