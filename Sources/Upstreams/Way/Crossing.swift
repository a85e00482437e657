import EventIO
import HTTPWire
import Streams

/// One connection through a passage.
final class Crossing: EventHandler {
  private let near: ByteStream
  private var far: ByteStream?
  private var target: Dial.Target
  /// The request may be sent twice.
  private let mayRepeat: Bool
  private unowned let upstreams: Upstreams
  private let fail: (String) -> Void
  private var dial: Dial?
  private var up = StreamCopy()
  private var down = StreamCopy()
  /// The parent takes the request in absolute-form; nil: it is a tunnel, or asked already.
  private var absolute: AbsoluteForm?
  /// The same, until its answer begins: a 407 is the parent's own.
  private var judging: AbsoluteForm?
  /// What has come of the head, or of the answer.
  private var head: [UInt8] = []
  private var isClosed = false
  /// The whole request as libcurl wrote it; empty: it is too large.
  private var sent: [UInt8] = []
  private var challenges = 0
  private var hasMetOtherRules = false
  private static let maximumChallenges = 3
  /// For another credential than the one that was refused.
  private var wait: (any ParentWait)?
  private var hasRenewed = false
  /// When the fetch has lasted too long, in nanoseconds of the loop's clock.
  private var end = Int64.max

  /// Nanoseconds by which libcurl may end a fetch too early.
  private static let imprecision: Int64 = 50_000_000
  /// Bytes of a head.
  private static let headLimit = 64 << 10

  /// - Parameter fail: called with what went wrong.
  init(
    _ near: ByteStream, _ target: Dial.Target, mayRepeat: Bool, on upstreams: Upstreams, fail: @escaping (String) -> Void
  ) {
    self.near = near
    self.target = target
    self.mayRepeat = mayRepeat
    self.upstreams = upstreams
    self.fail = fail
  }

  private var loop: EventLoop { upstreams.loop }

  func start(within limit: Int64) {
    end = loop.now + limit - Self.imprecision
    near.token = loop.register(near.descriptor, self)
    guard near.token != nil else { return close("no socket for the way") }
    dialAgain()
  }

  private func dialAgain() {
    let dial = Dial.to(target, on: upstreams) { [unowned self] in dialled($0) }
    self.dial = dial
    dial.start(for: .configuration, within: max(end - loop.now, 1))
  }

  private func dialled(_ progress: Dial.Progress) {
    switch progress {
    case .connecting: break
    case .failed(let error):
      dial = nil
      close(error.text)
    case .connected(let connected):
      dial = nil
      let stream = connected.stream
      far = stream
      if let token = stream.token { loop.hand(token, to: FarEnd(stream) { [weak self] in self?.pump() }) }
      absolute = connected.absolute
      if !connected.rest.isEmpty {
        let block = Block(capacity: max(connected.rest.count, BlockPool.small))
        block.append(connected.rest)
        down = StreamCopy(first: block)
      }
      pump()
    }
  }

  /// Nothing was sent yet: it goes another way.
  func take(_ next: Dial.Target) {
    target = next
    guard !isClosed, let dial else { return }
    dial.cancel()
    self.dial = nil
    dialAgain()
  }

  override func ready(_ events: UInt32, on loop: EventLoop) {
    near.note(events)
    pump()
  }

  private func pump() {
    guard !isClosed, let far else { return }
    if absolute != nil, !translateHead() { return }
    if judging != nil, !readStatus(far) {
      guard !isClosed, self.far === far else { return }
      if case .turnIsOver = up.run(from: near, to: far, on: loop) { loop.again(self) }
      return
    }
    let (sent, received) = (up.run(from: near, to: far, on: loop), down.run(from: far, to: near, on: loop))
    switch (sent, received) {
    case (.broken, _), (_, .broken), (.ended, .ended), (_, .ended): close()
    case (.turnIsOver, _), (_, .turnIsOver): loop.again(self)
    default: break
    }
  }

  // MARK: In absolute-form

  /// Reads the request's head, which libcurl writes for the server itself, and sends it as the parent wants it.
  /// - Returns: whether the rest may be copied.
  private func translateHead() -> Bool {
    guard let absolute else { return true }
    let block = loop.blocks.borrow()
    defer { loop.blocks.giveBack(block) }
    while true {
      if let end = endOfHead { return translate(absolute, end) }
      guard head.count <= Self.headLimit else {
        close()
        return false
      }
      block.clear()
      switch near.read(into: block.space) {
      case .bytes(let count): head += UnsafeRawBufferPointer(start: block.base, count: count)
      case .later: return false
      case .end, .truncated, .failed:
        close()
        return false
      }
    }
  }

  /// - Parameter end: where the blank line begins.
  private func translate(_ absolute: AbsoluteForm, _ end: Int) -> Bool {
    self.absolute = nil
    judging = absolute
    // So a chain that leads back here ends (RFC 9110 section 7.6.3).
    let via = Array("Via: 1.1 ".utf8) + upstreams.rules.name.bytes + [13, 10]
    let request = Block(capacity: max(head.count + via.count + absolute.added(to: head.count) + 4, BlockPool.small))
    request.append(Array(head[..<end]))
    request.append(via)
    if let error = absolute.rewrite(request, hasBody: head.count > end + 2) {
      judging = nil
      close(error.text)
      return false
    }
    request.append("\r\n")
    request.append(Array(head[(end + 2)...]))
    up = StreamCopy(first: request)
    sent = isWhole(end) ? head : []
    head = []
    if let next = nextRoute, mayRepeat, !sent.isEmpty {
      // Each way has an equal share of the time for its answer.
      loop.arm(self, at: loop.now + max(0, self.end - loop.now) / Int64(next.ways.count + 1))
    }
    return true
  }

  /// Whether all of the request has come.
  private func isWhole(_ end: Int) -> Bool {
    var request = RequestHead()
    return head.withUnsafeBytes { bytes in
      guard case .complete = request.parse(bytes, limit: bytes.count + 1), let framing = try? request.framing(in: bytes) else {
        return false
      }
      switch framing {
      case .none: return true
      case .length(let length): return Int64(bytes.count - end - 2) == length
      case .chunked, .untilClose: return false
      }
    }
  }

  /// Where the blank line begins.
  private var endOfHead: Int? {
    guard head.count >= 4 else { return nil }
    for index in 0...(head.count - 4) where head[index..<(index + 4)].elementsEqual([13, 10, 13, 10]) { return index + 2 }
    return nil
  }

  /// - Returns: whether the answer may be copied.
  private func readStatus(_ far: ByteStream) -> Bool {
    let block = loop.blocks.borrow()
    defer { loop.blocks.giveBack(block) }
    while let judging, wait == nil {
      block.clear()
      switch far.read(into: block.space) {
      case .bytes(let count):
        head += UnsafeRawBufferPointer(start: block.base, count: count)
        loop.disarm(self)
        if let reading = read(judging) { return use(reading, of: judging, over: far) }
        guard head.count <= Self.headLimit else {
          close()
          return false
        }
      case .later: return false
      case .end, .truncated, .failed:
        endedEarly(judging, over: far)
        return false
      }
    }
    return false
  }

  /// - Returns: nil: the answer's head is not complete.
  private func read(_ judging: AbsoluteForm) -> AbsoluteForm.Reading? {
    var answer = ResponseHead()
    return head.withUnsafeBytes { bytes in
      var rest = bytes
      while true {
        switch answer.parse(rest, limit: rest.count + 1) {
        case .incomplete: return nil
        // libcurl says what is wrong with it.
        case .invalid: return .answer
        case .complete:
          guard answer.isInterim else {
            return judging.read(answer, in: rest, hasMetOtherRules: hasMetOtherRules, now: loop.now)
          }
          rest = UnsafeRawBufferPointer(rebasing: rest[answer.length...])
          answer.reset()
        }
      }
    }
  }

  /// - Returns: whether the answer may be copied.
  private func use(_ reading: AbsoluteForm.Reading, of judging: AbsoluteForm, over far: ByteStream) -> Bool {
    switch reading {
    case .answer: break
    case .challenge(let next) where !sent.isEmpty && challenges < Self.maximumChallenges:
      challenges += 1
      if next == .otherRules { hasMetOtherRules = true }
      askAgain(far)
      return false
    case .challenge:
      close(judging.challengedInVain("it challenges again and again, or a request that is too large").text)
      return false
    case .refused(let error):
      renew(judging, error, over: far)
      return false
    case .invalid(let error):
      close(error.text)
      return false
    }
    self.judging = nil
    let first = Block(capacity: max(head.count, BlockPool.small))
    first.append(head)
    down = StreamCopy(first: first)
    head = []
    return true
  }

  /// The credential's source is read once more, and the request sent once more if it has another.
  private func renew(_ judging: AbsoluteForm, _ error: UpstreamError, over far: ByteStream) {
    guard !hasRenewed, !sent.isEmpty else { return close(error.text) }
    hasRenewed = true
    var isOver = false
    let wait = judging.renew { [weak self] hasAnother in
      isOver = true
      guard let self, !isClosed else { return }
      self.wait = nil
      if hasAnother { askAgain(far) } else { close(error.text) }
    }
    if !isOver { self.wait = wait }
  }

  /// The parent has closed the connection before the head of its answer was complete.
  private func endedEarly(_ judging: AbsoluteForm, over far: ByteStream) {
    let error = head.isEmpty ? judging.endedMute(wasAsked: true, now: loop.now) : judging.endedEarly
    guard mayRepeat, head.isEmpty, !sent.isEmpty, let next = nextRoute else { return close(error.text) }
    target.route = next
    askAgain(far)
  }

  /// What is left without the parent that was asked; nil: nothing.
  private var nextRoute: Route? { judging.flatMap { target.route?.without($0.parent) } }

  /// The parent's share of the time is over.
  override func expired(on loop: EventLoop) {
    guard let judging, let far, let next = nextRoute else { return }
    judging.gaveNoAnswer(now: loop.now)
    target.route = next
    askAgain(far)
  }

  /// Sends the request once more, over a new connection.
  private func askAgain(_ old: ByteStream) {
    loop.disarm(self)
    let late = judging?.lateAnswer(old, head)
    judging = nil
    if let late { late.start() } else { old.close(on: loop) }
    far = nil
    head = sent
    up.release(on: loop)
    up = StreamCopy()
    dialAgain()
  }

  // MARK: The end

  /// The fetch has taken too long: says what it waits for, if that is on the way.
  func timeUp() {
    guard !isClosed else { return }
    if let dial {
      fail(dial.timeUp().text)
    } else if let judging, head.isEmpty {
      fail(judging.gaveNoAnswer(now: loop.now).text)
      if let late = far.flatMap({ judging.lateAnswer($0, head) }) {
        late.start()
        far = nil
      }
      self.judging = nil
    }
  }

  private func close(_ error: String) {
    fail(error)
    close()
  }

  func close() {
    guard !isClosed else { return }
    isClosed = true
    // The fetch has ended because its time is over.
    if let judging, head.isEmpty, loop.now >= end { _ = judging.gaveNoAnswer(now: loop.now) }
    let late = far.flatMap { far in judging?.lateAnswer(far, head) }
    judging = nil
    dial?.cancel()
    dial = nil
    wait?.cancel()
    wait = nil
    up.release(on: loop)
    down.release(on: loop)
    if let late { late.start() } else { far?.close(on: loop) }
    near.close(on: loop)
    loop.forget(self)
  }
}
