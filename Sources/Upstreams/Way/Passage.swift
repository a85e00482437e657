import EventIO
import Fetch
import HTTPWire
import Streams

/// A listening socket that only this process finds and may use, behind which the way of one fetch lies. The loop's registration holds
/// it until it is closed.
final class Passage: EventHandler, FetchPassage {
  let name: String
  private let target: Dial.Target
  /// Nanoseconds for each way.
  private let limit: Int64
  private unowned let upstreams: Upstreams
  private var descriptor: Int32
  private var token: Token?
  private var crossings: [Crossing] = []
  private(set) var failure: String?

  init(to target: Dial.Target, within limit: Int64, on upstreams: Upstreams) {
    self.target = target
    self.limit = limit
    self.upstreams = upstreams
    name = "authproxy-" + (0..<4).map { _ in String(UInt64.random(in: 0...UInt64.max), radix: 36) }.joined()
    descriptor = Socket.abstractListener(name)
    super.init()
    token = descriptor < 0 ? nil : upstreams.loop.register(descriptor, self)
    // libcurl finds nobody there, and the fetch fails with this.
    if token == nil { failure = "no socket for the way" }
  }

  deinit { if descriptor >= 0 { Socket.close(descriptor) } }

  func close() {
    guard let token else { return }
    self.token = nil
    upstreams.loop.retire(token)
    Socket.close(descriptor)
    descriptor = -1
    for crossing in crossings { crossing.close() }
    crossings = []
  }

  override func ready(_ events: UInt32, on loop: EventLoop) {
    while token != nil {
      let accepted = Socket.accept(descriptor)
      guard accepted >= 0 else { return }
      guard Socket.isOfThisProcess(accepted) else {
        Socket.close(accepted)
        continue
      }
      let crossing = Crossing(ByteStream(descriptor: accepted), target, on: upstreams) { [weak self] error in
        self?.failure = error
      }
      crossings.append(crossing)
      crossing.start(within: limit)
    }
  }
}

/// One connection through a passage.
private final class Crossing: EventHandler {
  private let near: ByteStream
  private var far: ByteStream?
  private let target: Dial.Target
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
  /// The request as libcurl wrote it, as far as it has come with its head, if the parent may challenge it.
  private var sent: [UInt8] = []
  private var challenges = 0
  private static let maximumChallenges = 3
  /// When the fetch has lasted too long, in nanoseconds of the loop's clock.
  private var end = Int64.max

  /// Nanoseconds by which libcurl may end a fetch too early.
  private static let imprecision: Int64 = 50_000_000

  init(_ near: ByteStream, _ target: Dial.Target, on upstreams: Upstreams, fail: @escaping (String) -> Void) {
    self.near = near
    self.target = target
    self.upstreams = upstreams
    self.fail = fail
  }

  private var loop: EventLoop { upstreams.loop }

  func start(within limit: Int64) {
    end = loop.now + limit - Self.imprecision
    near.token = loop.register(near.descriptor, self)
    guard near.token != nil else { return close() }
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
      fail(error.text)
      close()
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

  override func ready(_ events: UInt32, on loop: EventLoop) {
    near.note(events)
    pump()
  }

  private func pump() {
    guard !isClosed, let far else { return }
    if absolute != nil, !translateHead() { return }
    if judging != nil, !readStatus(far) {
      if !isClosed, self.far === far { _ = up.run(from: near, to: far, on: loop) }
      return
    }
    let (sent, received) = (up.run(from: near, to: far, on: loop), down.run(from: far, to: near, on: loop))
    switch (sent, received) {
    case (.broken, _), (_, .broken), (.ended, .ended), (_, .ended): close()
    case (.turnIsOver, _), (_, .turnIsOver): loop.again(self)
    default: break
    }
  }

  /// Reads the request's head, which libcurl writes for the server itself, and sends it as the parent wants it.
  /// - Returns: whether the rest may be copied.
  private func translateHead() -> Bool {
    guard let absolute else { return true }
    let block = loop.blocks.borrow()
    defer { loop.blocks.giveBack(block) }
    while true {
      if let end = endOfHead { return translate(absolute, end) }
      guard head.count <= 64 << 10 else {
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
    let request = Block(capacity: max(head.count + absolute.added(to: head.count) + 4, BlockPool.small))
    request.append(Array(head[..<end]))
    if let error = absolute.rewrite(request, hasBody: head.count > end + 2) {
      judging = nil
      fail(error.text)
      close()
      return false
    }
    request.append("\r\n")
    request.append(Array(head[(end + 2)...]))
    up = StreamCopy(first: request)
    sent = absolute.challenges && isWhole(end) ? head : []
    head = []
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

  /// - Returns: whether the answer may be copied.
  private func readStatus(_ far: ByteStream) -> Bool {
    guard let judging else { return true }
    let block = loop.blocks.borrow()
    block.clear()
    switch far.read(into: block.space) {
    case .bytes(let count):
      block.end = count
      head += block.bytes
      loop.blocks.giveBack(block)
      guard let reading = read(judging) else {
        guard head.count <= 64 << 10 else {
          close()
          return false
        }
        return readStatus(far)
      }
      self.judging = nil
      switch reading {
      case .answer: break
      case .challenge where !sent.isEmpty && challenges < Self.maximumChallenges:
        askAgain(far)
        return false
      case .challenge:
        fail(judging.challengedInVain("it challenges again and again, or a request that is too large").text)
        close()
        return false
      case .refused(let error), .invalid(let error):
        fail(error.text)
        close()
        return false
      }
      let first = Block(capacity: max(head.count, BlockPool.small))
      first.append(head)
      down = StreamCopy(first: first)
      head = []
      return true
    case .later:
      loop.blocks.giveBack(block)
      return false
    case .end, .truncated, .failed:
      loop.blocks.giveBack(block)
      if head.isEmpty { judging.gaveNoAnswer(now: loop.now) }
      self.judging = nil
      close()
      return false
    }
  }

  /// - Returns: nil: the answer's head is not complete.
  private func read(_ judging: AbsoluteForm) -> AbsoluteForm.Reading? {
    var answer = ResponseHead()
    return head.withUnsafeBytes { bytes in
      switch answer.parse(bytes, limit: bytes.count + 1) {
      case .incomplete: nil
      // libcurl says what is wrong with it.
      case .invalid: .answer
      case .complete: answer.isInterim ? .answer : judging.read(answer, in: bytes, now: loop.now)
      }
    }
  }

  /// Sends the request once more, over a new connection.
  private func askAgain(_ old: ByteStream) {
    challenges += 1
    old.close(on: loop)
    far = nil
    head = sent
    up.release(on: loop)
    up = StreamCopy()
    dialAgain()
  }

  /// Where the blank line begins.
  private var endOfHead: Int? {
    guard head.count >= 4 else { return nil }
    for index in 0...(head.count - 4) where head[index..<(index + 4)].elementsEqual([13, 10, 13, 10]) { return index + 2 }
    return nil
  }

  func close() {
    guard !isClosed else { return }
    isClosed = true
    // The fetch has ended because its time is over.
    if let judging, head.isEmpty, loop.now >= end { judging.gaveNoAnswer(now: loop.now) }
    dial?.cancel()
    dial = nil
    up.release(on: loop)
    down.release(on: loop)
    far?.close(on: loop)
    near.close(on: loop)
    loop.forget(self)
  }
}
