import EventIO
import Fetch
import HTTPWire
import Streams

/// The ways of the proxy's own requests: as those of apps' requests to the same host.
final class ControlWays: FetchWays {
  private unowned let upstreams: Upstreams
  init(_ upstreams: Upstreams) { self.upstreams = upstreams }

  func passage(for fetch: HTTPFetch) -> (any FetchPassage)? {
    guard let url = try? HTTPURL(fetch.url),
      var route = upstreams.rules.route(url.host, url.effectivePort, url.isHTTPS)
    else { return nil }
    if let parent = fetch.judgedParent { route = route.avoiding(parent) }
    return Passage(
      to: Dial.Target(
        host: url.host, port: url.effectivePort, checksAddresses: fetch.permits != nil, route: route, isClear: !url.isHTTPS),
      within: Int64(fetch.timeout) * 1_000_000, on: upstreams)
  }
}

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

  init(_ near: ByteStream, _ target: Dial.Target, on upstreams: Upstreams, fail: @escaping (String) -> Void) {
    self.near = near
    self.target = target
    self.upstreams = upstreams
    self.fail = fail
  }

  private var loop: EventLoop { upstreams.loop }

  func start(within limit: Int64) {
    near.token = loop.register(near.descriptor, self)
    guard near.token != nil else { return close() }
    let dial = Dial.to(target, on: upstreams) { [unowned self] in dialled($0) }
    self.dial = dial
    dial.start(for: .configuration, within: limit)
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
      if !isClosed { _ = up.run(from: near, to: far, on: loop) }
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
      block.clear()
      switch near.read(into: block.space) {
      case .bytes(let count):
        head += UnsafeRawBufferPointer(start: block.base, count: count)
        guard let end = endOfHead else {
          guard head.count <= 64 << 10 else {
            close()
            return false
          }
          continue
        }
        self.absolute = nil
        judging = absolute
        let request = Block(capacity: max(head.count + absolute.added + 4, BlockPool.small))
        request.append(Array(head[..<end]))
        absolute.rewrite(request)
        request.append("\r\n")
        request.append(Array(head[(end + 2)...]))
        up = StreamCopy(first: request)
        head = []
        return true
      case .later: return false
      case .end, .truncated, .failed:
        close()
        return false
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
      // `HTTP/1.1 407`
      guard head.count >= 12 else { return readStatus(far) }
      self.judging = nil
      if head[9..<12].elementsEqual("407".utf8) {
        fail(judging.refused(now: loop.now).text)
        close()
        return false
      }
      judging.accepted()
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
      close()
      return false
    }
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
    dial?.cancel()
    dial = nil
    up.release(on: loop)
    down.release(on: loop)
    far?.close(on: loop)
    near.close(on: loop)
    loop.forget(self)
  }
}
