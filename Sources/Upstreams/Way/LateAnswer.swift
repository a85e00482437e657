import EventIO
import Streams

/// Reads what a parent says of a credential that nobody knows, after whoever presented it has left. Unread, the refusal would be lost, and
/// the credential presented again. It sends nothing, and opens nothing.
///
/// The socket's registration and the timer hold it until it has ended.
final class LateAnswer: EventHandler {
  enum Verdict {
    case incomplete
    case accepted
    /// - Parameter pause: nanoseconds until it is worth another try; nil: it was presented, and is not until it changes.
    case refused(asked: String, pause: Int64?)
    /// It says nothing of the credential.
    case none
    /// It is no answer, so nobody knows whether it refuses the credential.
    case unreadable
  }

  private let stream: ByteStream
  private let read: (inout [UInt8]) -> Verdict
  private var received: [UInt8]
  private let trial: LoginTrial
  private let parent: Parent
  /// Of the credential.
  private let version: UInt64
  private unowned let upstreams: Upstreams
  private var wait: (any ParentWait)?
  private var isOver = false

  /// Bytes of the answer.
  private static let limit = 1 << 20

  /// - Parameters:
  ///   - stream: from now on its own.
  ///   - received: what has come of the answer, and was not used.
  ///   - read: removes what it uses.
  init(
    _ stream: ByteStream, _ received: [UInt8], _ trial: LoginTrial, of parent: Parent, version: UInt64,
    on upstreams: Upstreams, _ read: @escaping (inout [UInt8]) -> Verdict
  ) {
    self.stream = stream
    self.read = read
    self.received = received
    self.trial = trial
    self.parent = parent
    self.version = version
    self.upstreams = upstreams
  }

  private var loop: EventLoop { upstreams.loop }

  func start() {
    if let token = stream.token { loop.hand(token, to: self) }
    loop.arm(self, at: loop.now + LoginSide.lateTime)
    if !received.isEmpty { interpret() }
    if !isOver { loop.again(self) }
  }

  override func ready(_ events: UInt32, on loop: EventLoop) {
    stream.note(events)
    if !isOver { receive() }
  }

  override func expired(on loop: EventLoop) {
    trial.unanswered(now: loop.now)
    end()
  }

  private func receive() {
    let block = loop.blocks.borrow()
    defer { loop.blocks.giveBack(block) }
    while !isOver {
      block.clear()
      switch stream.read(into: block.space) {
      case .bytes(let count):
        received += UnsafeRawBufferPointer(start: block.base, count: count)
        interpret()
      case .later:
        // Its end may have been read before.
        guard stream.peerEnded else { return }
        trial.unanswered(now: loop.now)
        return end()
      case .end, .truncated, .failed:
        trial.unanswered(now: loop.now)
        return end()
      }
    }
  }

  private func interpret() {
    switch read(&received) {
    case .incomplete:
      // No head is so long.
      guard received.count > Self.limit else { return }
      trial.unanswered(now: loop.now)
    case .accepted: trial.accepted(now: loop.now)
    case .refused(let asked, let pause): refused(asked, pause)
    case .none: break
    case .unreadable: trial.unanswered(now: loop.now)
    }
    end()
  }

  /// Its source is read again, so that it needs an operator, or has another value, before the next request comes.
  private func refused(_ asked: String, _ pause: Int64?) {
    let isForAll = trial.refused(asked: asked, pause: pause, now: loop.now)
    // A reload may have taken the credential from this parent.
    guard isForAll, pause == nil, upstreams.rules.parentAccounts.contains(parent.account) else { return }
    var isDecided = false
    let wait = parent.credential?.refused(version, by: .parent, on: loop) { [self] _ in
      isDecided = true
      self.wait = nil
    }
    if !isDecided { self.wait = wait }
  }

  private func end() {
    guard !isOver else { return }
    isOver = true
    loop.forget(self)
    stream.close(on: loop)
  }
}
