import EventIO
import RESP
import RedisProtocol
import Streams
import TLS
import Trust

/// One connection to a server: a name, a socket, TLS and its verdict, then what a `RedisSession` says. Not a byte of the password leaves
/// before the verdict.
///
/// Its owner, and while it is open the loop, keep it alive. Nothing is armed while no reply is waited for.
final class RedisConnection: EventHandler {
  private enum Phase { case new, resolving, connecting, securing, judging, talking, ended }

  /// Seconds: half-open connections are found by the kernel within two minutes if nothing is asked.
  private static let keepAlive = (idle: Int32(60), interval: Int32(15), probes: Int32(4))
  /// Blocks read in one turn of the loop.
  private static let blocksPerTurn = 16

  let address: RedisAddress
  private unowned let loop: EventLoop
  private let security: RedisSecurity
  /// Milliseconds for name, socket and TLS. Waiting for a revocation answer does not count.
  private let timeout: Int
  private let report: (RedisSession.Event) -> Void
  private var session: RedisSession
  private var phase = Phase.new
  private var lookup: Resolver.Waiter?
  private var race: ConnectionRace?
  private var stream: ByteStream?
  private var unsent: ArraySlice<UInt8> = []
  /// The chain that was judged, as a verdict ends.
  private var chain: [Certificate] = []
  private var staple: [UInt8]?
  /// Nanoseconds of the loop's clock.
  private var trustedUntil = Int64.max

  /// - Parameter report: gets the session's events; `ended` is the last one, and the connection is closed then.
  init(
    to address: RedisAddress, _ session: RedisSession, _ security: RedisSecurity, timeout: Int, on loop: EventLoop,
    report: @escaping (RedisSession.Event) -> Void
  ) {
    self.address = address
    self.session = session
    self.security = security
    self.timeout = timeout
    self.loop = loop
    self.report = report
  }

  /// May report the end before it returns.
  func start() {
    loop.arm(self, afterMilliseconds: timeout)
    phase = .resolving
    switch address {
    case .unix(let path): connect([Address(unixPath: path)])
    case .tcp(let host, _), .tls(let host, _):
      switch loop.resolver.lookUp(host, for: .configuration, deliver: { [unowned self] in self.resolved($0) }) {
      case .known(let answer): resolved(answer)
      case .pending(let waiter): lookup = waiter
      }
    }
  }

  /// Only after `ready`. Commands of one turn of the loop leave together; nothing is reported before this returns.
  func send(_ command: RESPCommand, asking: Bool = false) -> RedisSession.Ticket {
    let ticket = session.send(command, asking: asking, now: loop.now)
    loop.again(self)
    return ticket
  }

  /// Reports nothing any more.
  func close() {
    guard phase != .ended else { return }
    phase = .ended
    lookup?.cancel()
    lookup = nil
    race?.cancel()
    race = nil
    loop.forget(self)
    stream?.close(on: loop)
    stream = nil
    unsent = []
  }

  private func fail(_ failure: RedisFailure) {
    guard phase != .ended else { return }
    close()
    report(.ended(failure))
  }

  // MARK: Connecting

  private func resolved(_ answer: Resolver.Answer) {
    lookup = nil
    switch (answer, address) {
    case (.failure(.notFound), _): fail(.unreachable("the host's name is not known"))
    case (.failure(.broken(let text)), _): fail(.unreachable("the host's name cannot be resolved: \(text)"))
    case (.failure(.overloaded), _): fail(.unreachable("too many names are being resolved"))
    case (.success(let addresses), .tcp(_, let port)), (.success(let addresses), .tls(_, let port)):
      connect(
        addresses.map { address in
          var address = address
          address.port = port
          return address
        })
    case (.success, .unix): break
    }
  }

  private func connect(_ known: [Address]) {
    var addresses = known
    if !address.isTLS, !security.allowsPlaintext {
      addresses = addresses.filter(\.isLoopbackOrUnix)
      guard !addresses.isEmpty else { return fail(.plaintextForbidden("\(address)")) }
    }
    phase = .connecting
    let race = ConnectionRace(on: loop, to: addresses) { [unowned self] in self.connected($0) }
    self.race = race
    race.start()
  }

  private func connected(_ result: Result<ConnectionRace.Winner, ConnectionRace.Failure>) {
    race = nil
    switch result {
    case .failure(.system(let error)), .failure(.badSource(_, let error)): fail(.unreachable(Socket.text(ofError: error)))
    case .failure(.outOfDescriptors): fail(.unreachable("out of file descriptors"))
    case .success(let winner):
      let stream = ByteStream(winner)
      self.stream = stream
      loop.hand(winner.token, to: self)
      if !winner.address.isUnix {
        Socket.setKeepAlive(
          winner.descriptor, idle: Self.keepAlive.idle, interval: Self.keepAlive.interval, probes: Self.keepAlive.probes)
      }
      if case .tls(let host, _) = address { secure(stream, host) } else { talk() }
    }
  }

  // MARK: Trust

  private func secure(_ stream: ByteStream, _ host: String) {
    guard let trust = security.trust else { return fail(.untrusted("there is no trust policy")) }
    do {
      let context = try security.tlsContext(trust)
      stream.secure(try TLSConnection(context: context, descriptor: stream.descriptor, serverName: host))
    } catch { return fail(.unreachable(error.message)) }
    phase = .securing
    handshake()
  }

  private func handshake() {
    guard let tls = stream?.tls else { return }
    switch tls.handshake() {
    case .wantRead, .wantWrite: break
    case .failed(let error): fail(tls.refusal.map { .untrusted("\($0)") } ?? .unreachable(error.message))
    case .done:
      chain = tls.verifiedChain
      staple = tls.stapledOCSP
      tls.dropChains()
      judge(tls)
    }
  }

  /// Between the handshake, or the end of a verdict, and the next byte.
  private func judge(_ tls: TLSConnection) {
    guard let trust = security.trust else { return }
    phase = .judging
    loop.disarm(self)
    let check = trust.evaluation.gate(host: tls.peerName, chain: chain, staple: staple)
    security.gate(check) { [weak self] verdict in
      guard let self, phase == .judging else { return }
      switch verdict {
      case .failure(let refusal): fail(.untrusted("\(refusal)"))
      case .success(let until):
        trustedUntil = deadline(of: until)
        talk()
      }
    }
  }

  /// Seconds since 1970 as nanoseconds of the loop's clock, at least one second ahead.
  private func deadline(of until: Int64) -> Int64 {
    let seconds = max(until - min(wallClockSeconds(), until), 1)
    let (nanoseconds, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (deadline, beyond) = loop.now.addingReportingOverflow(nanoseconds)
    return overflow || beyond ? Int64.max : deadline
  }

  // MARK: Talking

  private func talk() {
    phase = .talking
    if session.isNew { session.begin(now: loop.now) } else { session.postpone(to: loop.now) }
    proceed()
  }

  override func ready(_ events: UInt32, on loop: EventLoop) {
    stream?.note(events)
    switch phase {
    case .securing: handshake()
    case .talking: proceed()
    case .new, .resolving, .connecting, .judging, .ended: break
    }
  }

  override func expired(on loop: EventLoop) {
    guard phase == .talking else { return fail(.connectTimeout(milliseconds: timeout)) }
    if case .ended(let failure)? = session.expired(now: loop.now) { fail(failure) } else { watch() }
  }

  private func proceed() {
    let isWhole = flush()
    if phase == .talking { receive() }
    if phase == .talking, !isWhole { fail(.closed) }
    if phase == .talking { watch() }
  }

  private func watch() {
    if let deadline = session.deadline { loop.arm(self, at: deadline) } else { loop.disarm(self) }
  }

  /// - Returns: false: the connection takes nothing any more. What the server has said last is still to be read.
  private func flush() -> Bool {
    while phase == .talking {
      if unsent.isEmpty {
        guard session.hasOutput else { return true }
        if loop.now >= trustedUntil, let tls = stream?.tls {
          judge(tls)
          return true
        }
        unsent = session.takeOutput()[...]
      }
      switch stream.map({ stream in unsent.withUnsafeBytes { stream.write($0) } }) {
      case .bytes(let count): unsent.removeFirst(count)
      case .later: return true
      case .failed, nil:
        stream?.readLastWords()
        return false
      }
    }
    return true
  }

  private func receive() {
    let block = loop.blocks.borrow()
    defer { loop.blocks.giveBack(block) }
    for _ in 0..<Self.blocksPerTurn {
      guard phase == .talking, let stream else { return }
      block.clear()
      switch stream.read(into: block.space) {
      case .later: return
      case .bytes(let count):
        for event in session.receive(UnsafeRawBufferPointer(start: block.base, count: count), now: loop.now) {
          // An event's receiver may have closed the connection.
          guard phase != .ended else { return }
          if case .ended(let failure) = event { fail(failure) } else { report(event) }
        }
      case .end, .truncated: return fail(.closed)
      case .failed:
        // An alert, for example: it wants a client certificate.
        return fail(stream.tls?.lastError.map { .unreachable($0.message) } ?? .closed)
      }
    }
    loop.again(self)
  }
}
