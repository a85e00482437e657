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
  /// By the authority.
  private var contexts: [[UInt8]: Context] = [:]
  private var turn: Int64 = 0
  private var left = 0
  private var queue: [AppConnection] = []
  /// Those whose leaf is made in a lane.
  private var suspended: [Int: AppConnection] = [:]
  private var lastTicket = 0

  static func install(on loop: EventLoop, _ shared: SharedHandshakes, _ settings: InterceptSettings?) -> Handshakes {
    let handshakes = Handshakes(loop, shared)
    loop.install(handshakes)
    handshakes.adopt(settings)
    return handshakes
  }

  private init(_ loop: EventLoop, _ shared: SharedHandshakes) {
    self.loop = loop
    self.shared = shared
    super.init()
  }

  /// An authority that stays keeps leafs and tickets.
  func adopt(_ next: InterceptSettings?) {
    let authorities = next?.authorities.list ?? []
    let kept = Set(authorities.map(\.fingerprint))
    if next?.minimumVersion != settings?.minimumVersion { contexts = [:] }
    contexts = contexts.filter { kept.contains($0.key) }
    settings = next
    shared.leafs.adopt(authorities, capacity: next?.leafCache ?? 1)
    shared.tickets.keep(only: kept)
  }

  /// Begins a handshake for a host.
  /// - Parameters:
  ///   - host: the only one that the app may ask for.
  ///   - received: what was read of it already; copied.
  ///   - binding: what its tickets are bound to, beside host and authority.
  func begin(
    on app: AppConnection, for host: PeerName, by authority: SigningCA, received: UnsafeRawBufferPointer, binding: [[UInt8]]
  ) throws(OpenSSLError) -> Handshake {
    let context = try context(of: authority)
    let tls =
      if let below = app.stream.tls {
        try TLSConnection(context: context, acceptingOver: below, for: host, received: received)
      } else {
        try TLSConnection(context: context, accepting: app.stream.descriptor, for: host, received: received)
      }
    return Handshake(
      tls, host: host, by: authority, lifetime: Int64((settings?.leafLifetime ?? 0) / 1_000),
      sessionContext: SHA256.digest(parts: [Array(host.text.utf8), authority.fingerprint] + binding))
  }

  private func context(of authority: SigningCA) throws(OpenSSLError) -> TLSContext {
    let now = wallClockSeconds()
    if let known = contexts[authority.fingerprint], now < known.renewal { return known.tls }
    let context: TLSContext
    if let known = contexts[authority.fingerprint] {
      context = known.tls
    } else {
      var options = AcceptingOptions()
      options.minimumVersion = settings?.minimumVersion == .tls13 ? .tls13 : .tls12
      context = try TLSContext.accepting(options)
    }
    let keys = try shared.tickets.keys(of: authority.fingerprint, now: now)
    try context.use(keys)
    contexts[authority.fingerprint] = Context(tls: context, renewal: keys.renewal)
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
    let count = min(left, queue.count)
    let next = queue[..<count]
    queue.removeFirst(count)
    left -= count
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
