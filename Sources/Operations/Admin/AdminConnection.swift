import CSystem
import EventIO
import HTTPWire

/// One request to the admin listener: read, answered, closed.
final class AdminConnection: EventHandler {
  private static let headLimit = 8 << 10
  private static let timeout = 10_000
  private static let lingerTime = 2_000

  private let server: AdminServer
  private unowned let loop: EventLoop
  private let descriptor: Int32
  private var token: Token?
  private var inbound: [UInt8] = []
  private var outbound: [UInt8] = []
  private var sent = 0
  private var phase = Phase.reading
  private enum Phase { case reading, waiting, writing, lingering, closed }

  init(_ descriptor: Int32, _ server: AdminServer, _ loop: EventLoop) {
    self.descriptor = descriptor
    self.server = server
    self.loop = loop
  }

  func begin() {
    token = loop.register(descriptor, self)
    guard token != nil else { return close() }
    loop.arm(self, afterMilliseconds: Self.timeout)
    read()
  }

  override func ready(_ events: UInt32, on loop: EventLoop) {
    switch phase {
    case .reading, .lingering: read()
    case .writing: write()
    case .waiting, .closed: break
    }
  }

  override func expired(on loop: EventLoop) { close() }

  private func read() {
    var buffer = [UInt8](repeating: 0, count: 4096)
    while phase == .reading || phase == .lingering {
      let count = buffer.withUnsafeMutableBytes { Socket.receive(descriptor, $0) }
      if count == -Int(EAGAIN) { return }
      guard count > 0 else { return close() }
      if phase == .lingering { continue }
      inbound += buffer[..<count]
      parse()
    }
  }

  private func parse() {
    var head = RequestHead()
    let outcome = inbound.withUnsafeBytes { head.parse($0, limit: Self.headLimit) }
    switch outcome {
    case .incomplete: return
    case .invalid(let error): answer(AdminAnswer(error.status, "\(error.reason)\n"), isHead: false)
    case .complete:
      let target = inbound.withUnsafeBytes { String(decoding: head.target.bytes(in: $0), as: UTF8.self) }
      let isHead = head.method == .head
      guard isHead || head.method == .get else { return answer(AdminAnswer(405, "only GET and HEAD\n"), isHead: false) }
      phase = .waiting
      let executor = loop.executor
      // The connection waits for an answer from other threads; it is found again by its loop alone.
      let waiting = Waiting(self)
      server.page(target) { result in executor.call { _ in waiting.take(result, isHead) } }
    }
  }

  /// Carries the connection through other threads, none of which touches it.
  // SAFETY: `connection` is read on its own loop only (`take` is called there), and written once, before it is shared.
  private final class Waiting: @unchecked Sendable {
    private let connection: AdminConnection
    init(_ connection: AdminConnection) { self.connection = connection }
    func take(_ answer: AdminAnswer, _ isHead: Bool) { connection.answer(answer, isHead: isHead) }
  }

  private func answer(_ answer: AdminAnswer, isHead: Bool) {
    guard phase == .reading || phase == .waiting else { return }
    outbound = answer.bytes(isHead: isHead)
    phase = .writing
    write()
  }

  private func write() {
    while sent < outbound.count {
      let count = outbound.withUnsafeBytes { Socket.send(descriptor, UnsafeRawBufferPointer(rebasing: $0[sent...])) }
      if count == -Int(EAGAIN) { return }
      guard count > 0 else { return close() }
      sent += count
    }
    phase = .lingering
    Socket.shutdownWriting(descriptor)
    loop.arm(self, afterMilliseconds: Self.lingerTime)
    read()
  }

  private func close() {
    guard phase != .closed else { return }
    phase = .closed
    loop.forget(self)
    if let token { loop.retire(token) }
    token = nil
    Socket.close(descriptor)
    server.ended()
  }
}

/// What the admin listener says.
struct AdminAnswer: Sendable {
  var status: Int
  var body: String
  var contentType = "text/plain; charset=utf-8"

  init(_ status: Int, _ body: String, contentType: String = "text/plain; charset=utf-8") {
    self.status = status
    self.body = body
    self.contentType = contentType
  }

  func bytes(isHead: Bool) -> [UInt8] {
    let reasons = [200: "OK", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"]
    let body = Array(self.body.utf8)
    let head = """
      HTTP/1.1 \(status) \(reasons[status] ?? "Error")\r
      Content-Type: \(contentType)\r
      Content-Length: \(body.count)\r
      Cache-Control: no-store\r
      Connection: close\r
      \(status == 405 ? "Allow: GET, HEAD\r\n" : "")\r

      """
    return Array(head.utf8) + (isHead ? [] : body)
  }
}
