import Crypto
import EventIO
import Interception
import Settings
import TLS

/// The handshakes of one loop: their contexts, and whose turn it is. Confined to the loop.
final class Handshakes: EventHandler {
  /// Handshake computations a turn of the loop: a flood of them holds up no request.
  private static let aTurn = 8

  private struct Context {
    let tls: TLSContext
    /// Seconds since 1970: from then on other ticket keys are due.
    var renewal: Int64
  }

  private unowned(unsafe) let loop: EventLoop
  let shared: SharedHandshakes
  private var settings: InterceptSettings?
  /// By the authority or the listener.
  private var contexts: [[UInt8]: Context] = [:]
  private var turn: Int64 = 0
  private var left = 0
  private var queue: [AppConnection] = []
  /// Those whose leaf is made in a lane.
  private var suspended: [Int: AppConnection] = [:]
  private var lastTicket = 0

  static func install(on loop: EventLoop, _ shared: SharedHandshakes, _ snapshot: Snapshot) -> Handshakes {
    let handshakes = Handshakes(loop, shared)
    loop.install(handshakes)
    handshakes.adopt(snapshot)
    return handshakes
  }

  private init(_ loop: EventLoop, _ shared: SharedHandshakes) {
    self.loop = loop
    self.shared = shared
    super.init()
  }

  /// An authority that stays keeps leafs and tickets.
  func adopt(_ snapshot: Snapshot) {
    settings = snapshot.intercept
    let authorities = settings?.authorities.list ?? []
    // Made anew with the options that hold now; what clients hold of them is the ticket keys' matter.
    contexts = [:]
    shared.leafs.adopt(authorities, capacity: settings?.leafCache ?? 1)
    shared.tickets.keep(only: Set(authorities.map(\.fingerprint) + snapshot.listeners.values.map(\.digest)))
  }

  /// Begins a handshake for a host.
  /// - Parameters:
  ///   - host: the only one that the app may ask for.
  ///   - received: what was read of it already; copied.
  ///   - offer: what the app may choose by ALPN; nil: HTTP/1.1.
  ///   - binding: what its tickets are bound to, beside host and authority.
  func begin(
    on app: AppConnection, for host: PeerName, by authority: SigningCA, received: UnsafeRawBufferPointer,
    offering offer: ALPNOffer?, binding: [[UInt8]]
  ) throws(OpenSSLError) -> Handshake {
    let context = try context(of: authority)
    let tls =
      if let below = app.stream.tls {
        try TLSConnection(context: context, acceptingOver: below, for: host, offering: offer, received: received)
      } else {
        try TLSConnection(context: context, accepting: app.stream.descriptor, for: host, offering: offer, received: received)
      }
    return Handshake(
      tls, .leaf([host], authority, lifetime: lifetime),
      sessionContext: SHA256.digest(parts: [Array(host.text.utf8), authority.fingerprint] + binding))
  }

  /// Begins a handshake for a TLS listener.
  /// - Parameters:
  ///   - signer: for a listener that has names instead of files.
  ///   - received: what was read of it already; copied.
  func begin(
    on app: AppConnection, showing identity: ListenerIdentity, by signer: SigningCA?, received: UnsafeRawBufferPointer
  ) throws(OpenSSLError) -> Handshake {
    let source: Handshake.Source
    if let own = identity.identity {
      source = .identity(own)
    } else if let signer {
      source = .leaf(identity.hosts, signer, lifetime: lifetime)
    } else {
      throw OpenSSLError(.configuration, "no CA can sign for \(identity.settings.names.joined(separator: ", ")) now")
    }
    let context = try context(of: identity)
    let tls = try TLSConnection(context: context, accepting: app.stream.descriptor, for: nil, received: received)
    let place = Array("\(app.listener.socket.address)".utf8)
    return Handshake(
      tls, source, sessionContext: SHA256.digest(parts: [place, identity.digest, signer?.fingerprint ?? []]),
      clientAnchors: identity.anchorPrints)
  }

  /// Seconds.
  private var lifetime: Int64 { Int64((settings?.leafLifetime ?? 86_400_000) / 1_000) }

  private func context(of listener: ListenerIdentity) throws(OpenSSLError) -> TLSContext {
    var options = AcceptingOptions()
    options.minimumVersion = listener.settings.minimumVersion.protocolVersion
    if let anchors = listener.anchors {
      options.clientCertificates = .init(
        anchors: anchors, authorities: listener.authorities,
        isRequired: listener.settings.clientCertificates?.isRequired == true)
    }
    return try context(of: listener.digest, options)
  }

  private func context(of authority: SigningCA) throws(OpenSSLError) -> TLSContext {
    var options = AcceptingOptions()
    options.minimumVersion = settings?.minimumVersion.protocolVersion ?? .tls12
    return try context(of: authority.fingerprint, options)
  }

  /// - Parameter issuer: whose tickets these are.
  private func context(of issuer: [UInt8], _ options: AcceptingOptions) throws(OpenSSLError) -> TLSContext {
    let now = wallClockSeconds()
    let known = contexts[issuer]
    if let known, now < known.renewal { return known.tls }
    let context = if let known { known.tls } else { try TLSContext.accepting(options) }
    let keys = try shared.tickets.keys(of: issuer, now: now)
    try context.use(keys)
    contexts[issuer] = Context(tls: context, renewal: keys.renewal)
    return context
  }

  // MARK: Turns

  /// Whether the handshake may compute now; else its connection is called when it may.
  func admits(_ handshake: Handshake, of app: AppConnection) -> Bool {
    if handshake.isAdmitted {
      handshake.isAdmitted = false
      return true
    }
    if handshake.isQueued { return false }
    beginTurn()
    if left > 0, queue.isEmpty {
      left -= 1
      return true
    }
    handshake.isQueued = true
    queue.append(app)
    loop.again(self)
    return false
  }

  private func beginTurn() {
    guard turn != loop.now else { return }
    turn = loop.now
    left = Self.aTurn
  }

  override func ready(_ events: UInt32, on loop: EventLoop) {
    beginTurn()
    var next: [AppConnection] = []
    var taken = 0
    while next.count < left, taken < queue.count {
      // Those that were closed meanwhile need no turn.
      if queue[taken].isHandshaking { next.append(queue[taken]) }
      taken += 1
    }
    queue.removeFirst(taken)
    left -= next.count
    for app in next { app.handshakeAdmitted() }
    if !queue.isEmpty { loop.again(self) }
  }

  // MARK: Leafs

  /// Goes on with a handshake; to be called when it was admitted.
  func step(_ handshake: Handshake, of app: AppConnection) -> Handshake.Progress {
    var ticket: Int?
    let progress = handshake.step(shared.leafs) {
      lastTicket += 1
      ticket = lastTicket
      return LeafStore.Waiter(loop: loop.executor, ticket: lastTicket)
    }
    if case .suspended = progress, let ticket { suspended[ticket] = app }
    return progress
  }

  func resume(_ ticket: Int, isMade: Bool) { suspended.removeValue(forKey: ticket)?.handshakeResumed(isMade: isMade) }
}
