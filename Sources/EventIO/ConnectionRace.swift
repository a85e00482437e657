import CSystem

/// Opens one TCP connection to one of several addresses, as in RFC 8305 section 5: alternates families, and starts a new
/// attempt every 250 ms or as soon as one fails.
public final class ConnectionRace: EventHandler {
  public enum Failure: Error {
    /// errno of the last failed attempt.
    case system(Int32)
    /// Out of descriptors, of memory for them, or of room to register them.
    case outOfDescriptors
    /// This machine does not have the address that connections are to come from; errno.
    case badSource(Address, Int32)
  }
  /// The connection that was made first. Its receiver owns the descriptor and its registration (`EventLoop.hand`).
  public struct Winner {
    public let descriptor: Int32
    public let token: Token
    public let address: Address
    /// The events that came with the connection, as epoll's bits. The registration is edge-triggered: data and an end that were
    /// there already are announced here only. Empty: the next event will announce them.
    public let events: UInt32
  }

  /// RFC 8305 section 8: "Connection Attempt Delay", recommended value.
  private static let stagger: Int64 = 250_000_000
  /// Between two tries of a unix socket whose queue is full, in nanoseconds.
  private static let queuePause: Int64 = 10_000_000

  private final class Attempt: EventHandler {
    let descriptor: Int32
    let address: Address
    var token: Token?
    unowned let race: ConnectionRace
    init(_ descriptor: Int32, _ address: Address, _ race: ConnectionRace) {
      self.descriptor = descriptor
      self.address = address
      self.race = race
    }
    override func ready(_ events: UInt32, on loop: EventLoop) {
      let failed = events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0
      if failed || events & EPOLLOUT.rawValue != 0 { race.ended(self, Socket.error(of: descriptor), events) }
    }
  }

  private unowned let loop: EventLoop
  private var remaining: ArraySlice<Address>
  private var attempts: [Attempt] = []
  private var lastError: Int32 = EHOSTUNREACH
  private var ranOut = false
  private var badSource: (Address, Int32)?
  private let sources: [Address]
  private var deliver: ((Result<Winner, Failure>) -> Void)?

  /// - Parameters:
  ///   - addresses: with ports, best first; not empty.
  ///   - sources: addresses to connect from, at most one of each family; a family without one takes the kernel's.
  ///   - deliver: called once, possibly before `start` returns.
  public init(
    on loop: EventLoop, to addresses: [Address], from sources: [Address] = [],
    deliver: @escaping (Result<Winner, Failure>) -> Void
  ) {
    self.loop = loop
    self.deliver = deliver
    self.sources = sources
    remaining = Self.interleaved(addresses)[...]
  }

  public func start() { next() }

  /// Gives up: closes open descriptors and delivers nothing.
  public func cancel() {
    deliver = nil
    closeAll(but: nil)
  }

  override public func expired(on loop: EventLoop) { next() }

  /// One of each family in turn, the first one's first.
  public static func interleaved(_ addresses: [Address]) -> [Address] {
    guard let first = addresses.first else { return [] }
    let same = addresses.filter { $0.family == first.family }
    let other = addresses.filter { $0.family != first.family }
    var result: [Address] = []
    for index in 0..<max(same.count, other.count) {
      if index < same.count { result.append(same[index]) }
      if index < other.count { result.append(other[index]) }
    }
    return result
  }

  private func next() {
    while deliver != nil {
      guard let address = remaining.popFirst() else {
        if attempts.isEmpty { finish(.failure(failure)) }
        return
      }
      let descriptor = Socket.stream(family: address.family)
      if descriptor < 0 {
        lastError = -descriptor
        if Socket.isShortage(lastError) { runOut() }
        continue
      }
      Socket.sendAtOnce(descriptor, at: address)
      if !sources.isEmpty, let source = sources.first(where: { $0.family == address.family }) {
        let error = -Socket.bindSource(descriptor, source)
        guard error == 0 else {
          badSource = (source, error)
          Socket.close(descriptor)
          continue
        }
      }
      let result = address.withSockaddr { csys_connect(descriptor, $0, $1) } ?? -ENAMETOOLONG
      if result == -EAGAIN, address.isUnix {
        // unix(7): the listener's queue is full. TCP would wait for it by itself; the caller's time limit ends this.
        Socket.close(descriptor)
        remaining = [address]
        return loop.arm(self, at: loop.now + Self.queuePause)
      }
      guard result == 0 || result == -EINPROGRESS else {
        lastError = -result
        Socket.close(descriptor)
        continue
      }
      let attempt = Attempt(descriptor, address, self)
      guard let token = loop.register(descriptor, attempt) else {
        Socket.close(descriptor)
        runOut()
        continue
      }
      attempt.token = token
      attempts.append(attempt)
      if result == 0 { return ended(attempt, 0, 0) }
      if !remaining.isEmpty { loop.arm(self, at: loop.now + Self.stagger) }
      return
    }
  }

  private var failure: Failure {
    if ranOut { return .outOfDescriptors }
    if let (source, error) = badSource { return .badSource(source, error) }
    return .system(lastError)
  }

  /// Starts no further attempt; the running ones decide.
  private func runOut() {
    ranOut = true
    remaining = []
  }

  private func ended(_ attempt: Attempt, _ error: Int32, _ events: UInt32) {
    guard deliver != nil, let token = attempt.token else { return }
    if error == 0 {
      closeAll(but: attempt)
      finish(.success(Winner(descriptor: attempt.descriptor, token: token, address: attempt.address, events: events)))
    } else {
      lastError = error
      close(attempt)
      attempts.removeAll { $0 === attempt }
      next()
    }
  }

  private func finish(_ result: Result<Winner, Failure>) {
    let deliver = deliver
    self.deliver = nil
    loop.forget(self)
    deliver?(result)
  }

  private func closeAll(but winner: Attempt?) {
    for attempt in attempts where attempt !== winner { close(attempt) }
    attempts = []
    loop.forget(self)
  }

  private func close(_ attempt: Attempt) {
    if let token = attempt.token { loop.retire(token) }
    attempt.token = nil
    Socket.close(attempt.descriptor)
  }
}
