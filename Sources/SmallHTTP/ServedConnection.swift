import EventIO
import HTTPWire
import Streams
import TLS

/// One connection of an `HTTPServer`. Its registration and the response that it waits for keep it alive.
final class ServedConnection: EventHandler {
  private enum Phase { case securing, reading, waiting, writing, lingering, closed }
  /// Milliseconds in which the peer may read the last response before the connection is closed.
  private static let lingerTime = 2_000
  /// Blocks read in one turn. Whoever sends faster than this reads must not hold the loop.
  private static let blocksPerTurn = 16

  private let server: HTTPServer
  private unowned let loop: EventLoop
  private let stream: ByteStream
  private var phase: Phase
  private var inbound: [UInt8] = []
  private var outbound: [UInt8] = []
  /// The request whose body is being received.
  private var request: (message: ServedRequest, body: BodyReader)?
  private var isHead = false
  private var closes = false

  init(_ descriptor: Int32, _ tls: TLSConnection?, _ server: HTTPServer, _ loop: EventLoop) {
    self.server = server
    self.loop = loop
    stream = ByteStream(descriptor: descriptor)
    if let tls { stream.secure(tls) }
    phase = tls == nil ? .reading : .securing
  }

  func begin() {
    stream.token = loop.register(stream.descriptor, self)
    guard stream.token != nil else { return close() }
    loop.arm(self, afterMilliseconds: server.limits.patience)
    proceed()
  }

  override func ready(_ events: UInt32, on loop: EventLoop) {
    stream.note(events)
    proceed()
  }

  /// The deadline for the request, for reading the response, or for the peer's close has passed.
  override func expired(on loop: EventLoop) { if phase != .waiting { close() } }

  private func proceed() {
    for _ in 0..<Self.blocksPerTurn {
      switch phase {
      case .securing: if !secure() { return }
      case .reading: if !readRequest() { return }
      case .writing:
        guard flush() else { return }
        answered()
      case .lingering:
        guard receive() else { return }
        inbound.removeAll()
      case .waiting, .closed: return
      }
    }
    loop.again(self)
  }

  private func secure() -> Bool {
    switch stream.tls?.handshake() {
    case .done, nil:
      phase = .reading
      return true
    case .wantRead, .wantWrite: return false
    case .failed:
      close()
      return false
    }
  }

  // MARK: Reading

  /// - Returns: whether to continue.
  private func receive() -> Bool {
    var space = [UInt8](repeating: 0, count: 16 << 10)
    switch space.withUnsafeMutableBytes({ stream.read(into: $0) }) {
    case .bytes(let count):
      inbound += space[..<count]
      return true
    case .later: return false
    case .end, .truncated, .failed:
      close()
      return false
    }
  }

  /// - Returns: whether to continue.
  private func readRequest() -> Bool {
    if request == nil, !inbound.isEmpty { readHead() }
    if phase == .reading, let outcome = request?.body.take(from: &inbound) {
      switch outcome {
      case .more: break
      case .done: serve()
      case .tooLarge: refuse(ServedAnswer(413, text: "the body is too large\n"))
      case .malformed(let error): refuse(ServedAnswer(400, text: "\(error.reason)\n"))
      }
    }
    // The peer waits for a 100.
    guard phase == .reading else { return true }
    return flush() && receive()
  }

  private func readHead() {
    var head = RequestHead()
    switch inbound.withUnsafeBytes({ head.parse($0, limit: server.limits.head) }) {
    case .incomplete: return
    case .invalid(let error): return refuse(server.refusal(error.status, "\(error.reason)"))
    case .complete: break
    }
    let read = inbound.withUnsafeBytes { bytes -> Result<(ServedRequest, BodyFraming), HeadError> in
      // RFC 9112 section 3.2.
      if head.minorVersion > 0, head.fields.count(of: .host) != 1 { return .failure(.hostMissing) }
      let framing: BodyFraming
      do throws(HeadError) { framing = try head.framing(in: bytes) } catch { return .failure(error) }
      isHead = head.method == .head
      closes = !server.limits.persists || !head.persists(in: bytes)
      if head.expectation(in: bytes) == .continue { outbound = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8) }
      func text(_ slice: ByteSlice) -> String { String(decoding: slice.bytes(in: bytes), as: UTF8.self) }
      let fields = head.fields.map { (name: text($0.name).lowercased(), value: text($0.value)) }
      return .success(
        (ServedRequest(method: text(head.methodText), target: text(head.target), fields: fields, body: []), framing))
    }
    switch read {
    case .failure(let error): refuse(server.refusal(error.status, "\(error.reason)"))
    case .success((let message, let framing)):
      inbound.removeFirst(head.length)
      request = (message, BodyReader(skipsBody ? .none : framing, limit: server.limits.body))
      if skipsBody, framing != .none { closes = true }
    }
  }

  private var skipsBody: Bool { server.limits.body == 0 }

  // MARK: Answering

  private func serve() {
    guard let request else { return }
    var message = request.message
    message.body = request.body.body
    self.request = nil
    phase = .waiting
    let executor = loop.executor
    let waiting = Waiting(self)
    server.service(message) { answer in executor.call { _ in waiting.take(answer) } }
  }

  /// Carries the connection through other threads, none of which uses it.
  // SAFETY: `connection` is read on its own loop only (`take` is called there), and written once, before it is shared.
  private final class Waiting: @unchecked Sendable {
    private let connection: ServedConnection
    init(_ connection: ServedConnection) { self.connection = connection }
    func take(_ answer: ServedAnswer) {
      guard connection.phase == .waiting else { return }
      connection.write(answer)
      connection.proceed()
    }
  }

  /// The rest of the input cannot be read.
  private func refuse(_ answer: ServedAnswer) {
    closes = true
    isHead = false
    write(answer)
  }

  private func write(_ answer: ServedAnswer) {
    outbound += answer.bytes(isHead: isHead, closes: closes)
    phase = .writing
    server.answered()
    loop.arm(self, afterMilliseconds: server.limits.patience)
  }

  private func answered() {
    request = nil
    guard closes else {
      phase = .reading
      return loop.arm(self, afterMilliseconds: server.limits.patience)
    }
    phase = .lingering
    stream.endWriting()
    loop.arm(self, afterMilliseconds: Self.lingerTime)
  }

  /// - Returns: whether everything is written and the connection is still open.
  private func flush() -> Bool {
    while !outbound.isEmpty {
      switch outbound.withUnsafeBytes({ stream.write($0) }) {
      case .bytes(let count): outbound.removeFirst(count)
      case .later: return false
      case .failed:
        close()
        return false
      }
    }
    return true
  }

  /// It has not sent a whole request.
  var isReading: Bool { phase == .reading || phase == .securing }
  var isWriting: Bool { phase == .writing }
  var isLingering: Bool { phase == .lingering }

  func close() {
    guard phase != .closed else { return }
    phase = .closed
    loop.forget(self)
    stream.close(on: loop)
    server.ended(self)
  }
}
