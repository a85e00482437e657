import CSystem
import EventIO
import HTTP2
import HTTPWire
import Routing
import Streams
import Upstreams

/// A connection from an app: reads heads, hands each to a request, and closes. While no request is in progress it holds neither
/// buffer nor parser state.
final class ClientConnection: AppConnection {
  enum Phase: UInt8 {
    /// The app has begun a TLS handshake.
    case handshake
    /// Between requests, or in the middle of a head.
    case head
    /// A request is in progress.
    case exchange
    /// Requests come over HTTP/2, each as a connection of its own.
    case carrying
    /// The last answer is sent, and the connection is half-closed. What the app still sends is discarded for a while. Otherwise
    /// the app would see a reset, not the answer.
    case lingering
    case closed
  }

  /// What the next bytes are.
  enum Stage: UInt8 {
    /// A PROXY header, from a peer of `proxy_protocol`.
    case header
    /// The beginning of TLS, as this is a TLS listener.
    case tls
    /// Requests, or what may follow a CONNECT.
    case http
  }

  /// RFC 9112 section 9.6 asks for this way of closing. The limits, in bytes and milliseconds, are the proxy's own.
  private static let lingerBytes = 64 << 10
  private static let lingerTime = 2_000
  /// Milliseconds between two attempts to register with the loop.
  private static let registrationPause = 100
  /// Requests served per event-loop turn. Bounds how long one pipelining client can hold the loop.
  private static let headsATurn = 32

  /// Lives as long as its loop, which never ends.
  let services: LoopServices
  private let register: ClientRegister
  /// Index in the register.
  var place = 0
  var phase = Phase.head
  var stage: Stage
  /// While the phase is `handshake`.
  var handshake: Handshake?
  /// While the phase is `carrying`.
  private var carrier: AppCarrier?
  /// It is one request on another connection.
  private let carried: AppStream?
  private var trickled: TrickledHead?
  /// Only one request at a time is in progress here, so each uses the same timer. The next request usually just moves it to
  /// later.
  private let requestTimer: RequestTimer
  /// The timer owns it for the connection.
  private(set) var request: Request? {
    get { requestTimer.request }
    set { requestTimer.request = newValue }
  }
  /// In progress here. Over HTTP/2 there may be many.
  var requests: [Request] { carrier?.requests ?? request.map { [$0] } ?? [] }
  private var served = 0
  private var lingered = 0
  private var closesAfterAnswer = false
  /// Milliseconds for the next request, once the proxy drains.
  private var grace = 0
  private var isReadingHeads = false

  /// A head that arrived in pieces. It keeps the parser's position, so that a trickled head costs O(n).
  private final class TrickledHead { var head = RequestHead() }

  init(_ descriptor: Int32, peer: Address, listener: BoundListener, services: LoopServices, register: ClientRegister) {
    self.services = services
    self.register = register
    requestTimer = RequestTimer(on: services.loop)
    carried = nil
    stage = listener.settings.tls == nil ? .http : .tls
    super.init(descriptor, peer: peer, listener: listener, on: services.loop)
    if let peers = listener.settings.proxyProtocol, peers.contains(peer.bytes) { stage = .header }
  }

  /// A request on the connection `root`.
  init(_ carried: AppStream, of root: ClientConnection) {
    services = root.services
    register = root.register
    requestTimer = RequestTimer(on: root.loop)
    self.carried = carried
    stage = .http
    super.init(over: carried, of: root)
  }

  /// The app speaks HTTP/2 from here on.
  func carry() {
    phase = .carrying
    let carrier = AppCarrier(self)
    self.carrier = carrier
    if isClosing { carrier.drain(grace: grace) }
    carrier.ready()
  }

  /// Registers with the loop, and reads at once, because the first request has usually arrived already.
  /// - Returns: false if the kernel has no room for the registration. The connection tries again. Until then it waits, as
  ///   others do in the listener's queue.
  @discardableResult
  func begin() -> Bool {
    stream.token = loop.register(stream.descriptor, self)
    guard stream.token != nil else {
      if closesAfterAnswer { close() } else { loop.arm(self, afterMilliseconds: Self.registrationPause) }
      return false
    }
    armHeadTimer()
    readHeads()
    return true
  }

  override func ready(_ events: UInt32, on loop: EventLoop) {
    stream.note(events)
    switch phase {
    case .handshake: goOnWithHandshake()
    case .head: readHeads()
    case .exchange: request?.clientReady()
    case .carrying: carrier?.ready()
    case .lingering: linger()
    case .closed: break
    }
  }

  override func expired(on loop: EventLoop) {
    switch phase {
    case .handshake: handshakeExpired()
    case .head:
      if stream.token == nil {
        begin()
        return
      }
      if stage == .header { return isClosing ? close() : proxyHeaderFailed("it did not come in time") }
      if awaitsHandshake { return handshakeExpired() }
      if inbound == nil { close() } else { refuse(.headTimeout) }
    // The request has its own timer.
    case .exchange: break
    case .carrying: carrier?.timeUp()
    case .lingering: close()
    case .closed: break
    }
  }

  // MARK: Heads

  /// Reads and serves requests until one is in progress, or nothing is left to read.
  func readHeads() {
    if isReadingHeads { return }
    isReadingHeads = true
    defer { isReadingHeads = false }
    var budget = Self.headsATurn
    while phase == .head {
      if budget == 0 { return loop.again(self) }
      if let block = inbound, !block.isEmpty, parse(block) {
        budget -= 1
        continue
      }
      guard phase == .head else { return }
      switch stream.read(into: spaceForHead()) {
      case .bytes(let count): inbound?.end += count
      case .later: return rest()
      // The app has left, or has sent all that it wanted. No request is in progress.
      case .end, .truncated, .failed:
        if stage == .header { return proxyHeaderEnded() }
        noteLeaving()
        return close()
      }
    }
  }

  /// Parses a head and starts its request.
  /// - Returns: whether a head was taken, and there may be more to do.
  private func parse(_ block: Block) -> Bool {
    if stage != .http { return stage == .header ? takeProxyHeader(block) : startListenerHandshake(block) }
    if let authority = connectedAuthority, authority.isUnproven {
      if block.bytes[0] == TunnelStart.clientHello {
        return authority.isIntercepted ? startHandshake(authority, block) : startDeferredTunnel(authority)
      }
      authority.isUnproven = false
    }
    if connectedAuthority?.pendingOutcome != nil { noteUse() }
    let limit = services.snapshot.settings.limits.requestHead
    let outcome: HeadOutcome
    if let trickled {
      outcome = trickled.head.parse(block.bytes, limit: limit)
    } else {
      services.requestHead.reset()
      outcome = services.requestHead.parse(block.bytes, limit: limit)
    }
    switch outcome {
    case .complete:
      if let trickled {
        swap(&services.requestHead, &trickled.head)
        self.trickled = nil
      }
      start(block)
      return true
    case .incomplete:
      if trickled == nil {
        trickled = TrickledHead()
        armHeadTimer()
      }
      return false
    case .invalid(let error):
      if block.bytes[0] == TunnelStart.clientHello, served == 0, stream.tls == nil {
        closeForeignHandshake()
      } else {
        refuse(.malformed(error))
      }
      return false
    }
  }

  /// A TLS handshake followed a CONNECT to an entry's host and port: opens a tunnel to the real host.
  /// - Returns: false if no tunnel is allowed; the connection is closed.
  private func startDeferredTunnel(_ authority: ConnectedAuthority) -> Bool {
    let request = Request(app: self, services: services, timer: requestTimer)
    phase = .exchange
    self.request = request
    do {
      try request.beginDeferredTunnel(authority)
      return true
    } catch {
      if case .connectNotAllowed = error {
        notice(
          "TLS after CONNECT \(authority.text), which an upstream entry matches: closed. Let the app ask for http://, "
            + "or add \(authority.text) to connect.allow for an opaque tunnel", about: authority.text)
      } else {
        let reason = error.answer(for: nil).details ?? "not allowed"
        notice("TLS after CONNECT \(authority.text): closed, \(reason)", about: authority.text)
      }
      close()
      return false
    }
  }

  private func spaceForHead() -> UnsafeMutableRawBufferPointer {
    guard let block = inbound else {
      let block = loop.blocks.borrow()
      inbound = block
      return block.bodySpace
    }
    if block.isEmpty { block.clear() }
    // A body may follow the head, so room for its framing stays free.
    if block.bodySpace.isEmpty || block.capacity < BlockPool.small {
      block.compact()
      if block.bodySpace.isEmpty || block.capacity < BlockPool.small {
        // A head of the configured size must fit, whatever that is; the parser refuses more than the limit.
        let wanted = max(BlockPool.small, min(block.count * 2, services.snapshot.settings.limits.requestHead + 4096))
        let larger = wanted == BlockPool.small ? loop.blocks.borrow() : Block(capacity: max(wanted, block.count + 4096))
        larger.append(block.bytes)
        loop.blocks.giveBack(block)
        inbound = larger
        return larger.bodySpace
      }
    }
    return block.bodySpace
  }

  /// Nothing to do until the next event: gives a borrowed buffer back, or shrinks it to what is in it.
  private func rest() {
    guard let block = inbound else { return }
    if block.isEmpty {
      inbound = nil
      loop.blocks.giveBack(block)
    } else if block.capacity >= BlockPool.small, block.count <= BlockPool.small / 4 {
      inbound = block.exactCopy()
      loop.blocks.giveBack(block)
    }
  }

  func armHeadTimer() {
    let timeouts = services.snapshot.settings.timeouts
    if awaitsHandshake { return armHandshakeTimer() }
    if isClosing, trickled == nil { return loop.arm(self, afterMilliseconds: grace) }
    loop.arm(self, afterMilliseconds: served == 0 || trickled != nil ? timeouts.requestHead : timeouts.idle)
  }

  // MARK: Requests

  private func start(_ block: Block) {
    served += 1
    phase = .exchange
    let request = Request(app: self, services: services, timer: requestTimer)
    self.request = request
    request.begin(block)
    request.noteLeaving()
  }

  override func requestEnded(keepAlive: Bool) {
    if let carried {
      if request?.message.persists == false { carried.endConnection() }
      return close()
    }
    request = nil
    // A CONNECT alone is of no use: what it was for may still come.
    guard keepAlive, !isClosing || connectedAuthority?.isUnproven == true else { return lingerThenClose() }
    phase = .head
    if services.snapshot.settings.timeouts.idle > 0 || awaitsHandshake { armHeadTimer() }
    readHeads()
  }

  /// Answers a head that cannot be served.
  /// - Parameter closes: what follows means nothing.
  func refuse(_ error: ProxyError, isHead: Bool = false, closes: Bool = true) {
    let request = Request(app: self, services: services, timer: requestTimer)
    self.request = request
    phase = .exchange
    trickled = nil
    request.refuse(error, isHead: isHead, closes: closes)
  }

  /// Makes the current request the last one, or the next one if it arrives within `grace` milliseconds. Its answer says so.
  func drain(grace: Int) {
    closesAfterAnswer = true
    self.grace = grace
    if let carrier { return carrier.drain(grace: grace) }
    guard phase == .head, inbound == nil || inbound?.isEmpty == true else { return }
    loop.arm(self, afterMilliseconds: grace)
  }

  override var isStream: Bool { carried != nil }

  override func take(trailers lines: [UInt8]) { carried?.take(trailers: lines) }
  override func awaitTrailers() { carried?.request.awaitsTrailers = true }
  override var trailersBehindLength: [UInt8] { carried?.request.trailersBehindLength ?? [] }
  override var marked: IndexedNames { carried?.marked ?? [] }

  override var isClosing: Bool { closesAfterAnswer || services.isDraining }

  // MARK: Handshakes

  override var isHandshaking: Bool { handshake != nil }

  override func handshakeAdmitted() {
    handshake?.isQueued = false
    handshake?.isAdmitted = true
    goOnWithHandshake()
  }

  override func handshakeResumed(isMade: Bool) {
    handshake?.resume(isMade: isMade)
    goOnWithHandshake()
  }

  // MARK: End

  /// Half-closes, and discards what still arrives, within bounds.
  func lingerThenClose() {
    holdings.end()
    if carried != nil { return close() }
    if stream.peerEnded { return close() }
    phase = .lingering
    if let block = inbound {
      inbound = nil
      loop.blocks.giveBack(block)
    }
    stream.finishWriting()
    loop.arm(self, afterMilliseconds: Self.lingerTime)
    linger()
  }

  private func linger() {
    let block = loop.blocks.borrow()
    defer { loop.blocks.giveBack(block) }
    while lingered <= Self.lingerBytes {
      switch stream.read(into: block.space) {
      case .bytes(let count): lingered += count
      case .later: return
      case .end, .truncated, .failed: return close()
      }
    }
    close()
  }

  override func close(reset: Bool = false) {
    guard phase != .closed else { return }
    phase = .closed
    handshake = nil
    noteUnusedHandshake()
    loop.forget(self)
    loop.forget(requestTimer)
    for block in [inbound, outbound] { if let block { loop.blocks.giveBack(block) } }
    inbound = nil
    outbound = nil
    request = nil
    holdings.end()
    carrier?.closed()
    carrier = nil
    stream.close(on: loop, reset: reset)
    if carried == nil { register.ended(self) }
  }
}
