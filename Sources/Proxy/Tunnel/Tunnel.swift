import EventIO
import Streams

/// Opaque bytes both ways with back-pressure: CONNECT, and what an upgraded connection has become. Each direction ends for
/// itself (half-close).
final class Tunnel {
  private static let budget = 16

  private unowned let request: Request
  private let client: ClientConnection
  private let far: ByteStream
  private let farEnd: FarEnd
  private let upstream: UpstreamConnection?
  private var up: Direction
  private var down: Direction
  private var isOver = false

  private struct Direction {
    var block: Block?
    var sourceEnded = false
    var isDone = false
  }

  private final class FarEnd: EventHandler {
    weak var tunnel: Tunnel?
    let stream: ByteStream
    init(_ stream: ByteStream) { self.stream = stream }
    override func ready(_ events: UInt32, on loop: EventLoop) {
      stream.note(events)
      tunnel?.pump()
    }
  }

  private init(_ request: Request, far: ByteStream, upstream: UpstreamConnection?, farEnd: FarEnd, rest: Block?) {
    self.request = request
    client = request.client
    self.far = far
    self.upstream = upstream
    self.farEnd = farEnd
    up = Direction(block: nil)
    down = Direction(block: rest)
    farEnd.tunnel = self
  }

  // MARK: Beginnings

  /// CONNECT to a place that is not an entry's. Always answered, also with an error.
  static func open(_ target: TunnelTarget, for request: Request) {
    begin(target, request, greeting: "HTTP/1.1 200 Connection established\r\n\r\n")
  }

  /// CONNECT to an entry turned out to carry TLS for the real host: the 200 has gone out already.
  static func openDeferred(_ target: TunnelTarget, for request: Request) {
    begin(target, request, greeting: "")
  }

  private static func begin(_ target: TunnelTarget, _ request: Request, greeting: StaticString) {
    let opening = TunnelOpening(target, request) { [unowned request] result in
      request.opening = nil
      switch result {
      case .failure(let error): request.fail(error)
      case .success(let (stream, address)):
        request.summary.upstreamAddress = address
        request.summary.status = 200
        request.summary.isTunnel = true
        request.answer = .begun
        let farEnd = FarEnd(stream)
        if let token = stream.token { request.loop.hand(token, to: farEnd) }
        let tunnel = Tunnel(request, far: stream, upstream: nil, farEnd: farEnd, rest: nil)
        tunnel.start(greeting: greeting)
      }
    }
    request.opening = opening
    let timeouts = request.snapshot.settings.timeouts
    request.loop.arm(request.timer, afterMilliseconds: timeouts.resolve + timeouts.connect)
    opening.start()
  }

  /// CONNECT to an entry's host and port: the requests that follow are served by that entry.
  static func acceptConnect(_ authority: ConnectedAuthority, for request: Request) {
    request.client.connectedAuthority = authority
    request.finishConnect()
  }

  /// 101: what follows on both connections belongs to another protocol.
  static func upgrade(_ attempt: Attempt, _ request: Request) {
    guard let upstream = attempt.detach() else { return }
    let farEnd = FarEnd(upstream.stream)
    let rest = upstream.detach(to: farEnd)
    let tunnel = Tunnel(request, far: upstream.stream, upstream: upstream, farEnd: farEnd, rest: rest)
    tunnel.start(greeting: "")
  }

  private func start(greeting: StaticString) {
    client.tunnel = self
    client.enterTunnel()
    request.worker.observer.tunnels(1)
    if greeting.utf8CodeUnitCount > 0 {
      let block = client.outbound ?? request.loop.blocks.borrow()
      block.append(greeting)
      client.outbound = block
    }
    // What the app sent ahead goes first.
    if let block = client.inbound {
      client.inbound = nil
      if block.isEmpty { request.loop.blocks.giveBack(block) } else { up.block = block }
    }
    touch()
    pump()
  }

  // MARK: Bytes

  func pump() {
    guard !isOver else { return }
    // Nothing more comes from there, and nothing can be sent.
    if far.isBroken && down.isDone || client.stream.isBroken && up.isDone { return end(reset: true) }
    guard flushGreeting() else { return }
    guard copy(&up, from: client.stream, to: far) else { return end(reset: true) }
    guard copy(&down, from: far, to: client.stream) else { return end(reset: true) }
    if up.isDone, down.isDone { end(reset: false) }
  }

  private func flushGreeting() -> Bool {
    guard let block = client.outbound else { return true }
    while !block.isEmpty {
      switch client.stream.write(block.bytes) {
      case .bytes(let count): block.consume(count)
      case .later: return false
      case .failed:
        end(reset: true)
        return false
      }
    }
    client.outbound = nil
    request.loop.blocks.giveBack(block)
    return true
  }

  /// - Returns: false where one side is broken.
  private func copy(_ direction: inout Direction, from source: ByteStream, to sink: ByteStream) -> Bool {
    if direction.isDone { return true }
    for _ in 0..<Self.budget {
      if let block = direction.block, !block.isEmpty {
        switch sink.write(block.bytes) {
        case .bytes(let count):
          if sink === far { request.summary.bytesReceived += Int64(count) } else { request.summary.bytesSent += Int64(count) }
          block.consume(count)
          touch()
          continue
        case .later: return true
        case .failed: return false
        }
      }
      if direction.sourceEnded {
        sink.endWriting()
        direction.isDone = true
        giveBack(&direction)
        return true
      }
      switch source.read(into: emptySpace(&direction)) {
      case .bytes(let count): direction.block?.end = count
      case .end: direction.sourceEnded = true
      case .later:
        giveBack(&direction)
        return true
      case .truncated, .failed: return false
      }
    }
    request.loop.again(client)
    return true
  }

  private func emptySpace(_ direction: inout Direction) -> UnsafeMutableRawBufferPointer {
    let block = direction.block ?? request.loop.blocks.borrow()
    direction.block = block
    block.clear()
    return block.space
  }

  private func giveBack(_ direction: inout Direction) {
    if let block = direction.block { request.loop.blocks.giveBack(block) }
    direction.block = nil
  }

  private func touch() {
    let timeout = request.entry?.settings.timeouts.tunnel ?? request.snapshot.settings.timeouts.tunnel
    request.loop.arm(request.timer, afterMilliseconds: timeout)
  }

  // MARK: End

  func expired() { end(reset: true) }

  private func end(reset: Bool) {
    guard !isOver else { return }
    isOver = true
    request.worker.observer.tunnels(-1)
    giveBack(&up)
    giveBack(&down)
    far.close(on: request.loop, reset: reset)
    upstream?.tunnelEnded()
    request.endedAsTunnel()
    client.close(reset: reset)
  }

  /// The client connection is closing for another reason.
  func abandon() { end(reset: true) }
}
