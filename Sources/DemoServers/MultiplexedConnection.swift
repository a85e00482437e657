import EventIO
import HTTP2
import HTTPWire
import SmallHTTP
import Streams
import TLS
import Upstreams

/// One connection of a `MultiplexedServer`. Its registration keeps it alive.
final class MultiplexedConnection: EventHandler {
  /// Bytes; larger bodies are refused.
  private static let largestBody = 1 << 20

  private let stream: ByteStream
  private let session: ServerSession
  private let responder: Responder
  private unowned let loop: EventLoop
  private var isSecure = false
  private var isClosed = false
  private var requests: [StreamTicket: ServedRequest] = [:]
  private var pipe: SessionPipe

  init(_ descriptor: Int32, _ tls: TLSConnection, _ responder: Responder, _ loop: EventLoop) {
    stream = ByteStream(descriptor: descriptor)
    stream.secure(tls)
    session = ServerSession(limits: SessionLimits(), now: loop.now)
    pipe = SessionPipe(session, over: stream, on: loop)
    self.responder = responder
    self.loop = loop
  }

  func begin() {
    stream.token = loop.register(stream.descriptor, self)
    guard stream.token != nil else { return close() }
    proceed()
  }

  override func ready(_ events: UInt32, on loop: EventLoop) {
    stream.note(events)
    proceed()
  }

  private func proceed() {
    if !isSecure {
      switch stream.tls?.handshake() {
      case .done, nil: isSecure = true
      case .wantRead, .wantWrite: return
      case .failed: return close()
      }
    }
    let block = loop.blocks.borrowLarge()
    defer { loop.blocks.giveBack(block) }
    while !isClosed {
      serve()
      guard send() else { return }
      block.clear()
      switch pipe.receive(through: block) {
      case .bytes: break
      case .blocked: return
      case .ended, .lost: return close()
      }
    }
  }

  /// - Returns: whether everything is sent.
  private func send() -> Bool {
    switch pipe.send() {
    case .all:
      serve()
      return true
    case .blocked: return false
    case .lost:
      close()
      return false
    }
  }

  // MARK: Requests

  private func serve() {
    while let event = session.nextEvent() {
      switch event {
      case .head(let ticket, let text, let ends): begin(ticket, session.bytes(of: ticket, text), ends: ends)
      case .data(let ticket): take(ticket)
      case .end(let ticket):
        take(ticket)
        answer(ticket)
      case .refused(let ticket, _): send(ServedAnswer(400, text: "no request\n"), on: ticket)
      case .sent(let ticket), .ended(let ticket, _):
        requests[ticket] = nil
        session.release(ticket)
      case .failed: close()
      case .interimHead, .trailers, .room, .goAway, .settings, .pong: break
      }
    }
  }

  private func begin(_ ticket: StreamTicket, _ bytes: UnsafeRawBufferPointer, ends: Bool) {
    var head = RequestHead()
    guard head.parse(bytes, limit: .max) == .complete else { return session.release(ticket, code: .protocolError) }
    func text(_ slice: ByteSlice) -> String { String(decoding: slice.bytes(in: bytes), as: UTF8.self) }
    requests[ticket] = ServedRequest(
      method: text(head.methodText), target: text(head.target),
      fields: head.fields.map { (name: text($0.name).lowercased(), value: text($0.value)) }, body: [])
    if ends { answer(ticket) }
  }

  private func take(_ ticket: StreamTicket) {
    let bytes = session.body(of: ticket)
    requests[ticket]?.body += bytes
    session.consumed(ticket, bytes.count)
    if let size = requests[ticket]?.body.count, size > Self.largestBody {
      requests[ticket] = nil
      session.release(ticket)
    }
  }

  private func answer(_ ticket: StreamTicket) {
    guard let request = requests.removeValue(forKey: ticket) else { return }
    send(responder.answer(request), on: ticket)
  }

  /// The demo's answers are small enough for a first window, so none waits for room.
  private func send(_ answer: ServedAnswer, on ticket: StreamTicket) {
    guard case .final(let framing) = answer.head(closes: false).withUnsafeBytes({ session.answer(ticket, head: $0) }) else {
      return session.release(ticket, code: .internalError)
    }
    if framing.hasBytes {
      _ = answer.body.withUnsafeBytes { session.append($0, to: ticket) }
      session.endBody(of: ticket)
    }
  }

  private func close() {
    guard !isClosed else { return }
    isClosed = true
    pipe.giveBack()
    loop.forget(self)
    stream.close(on: loop)
  }
}
