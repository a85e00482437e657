import CFuzzer
import HTTP2
import HTTPWire

@_cdecl("HTTP2ServerFuzz_main")
public func start(_ argc: Int32, _ argv: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Int32 {
  fuzz_run(argc, argv) { bytes, count in
    check(UnsafeRawBufferPointer(start: bytes, count: count))
    return 0
  }
}

/// What an app's bytes came to.
private struct Reading: Equatable {
  var heads: [[UInt8]] = []
  var refused: [Int32: RefusedRequest] = [:]
  var bodies: [Int32: [UInt8]] = [:]
  var ends: Set<Int32> = []
  var failure: SessionFailure?

  /// The app's bytes in pieces. Every second request is answered.
  init(_ input: UnsafeRawBufferPointer, step: Int, answers: Bool) {
    let session = ServerSession(limits: SessionLimits(streams: 8, headerSection: 2000), now: 0)
    Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8).withUnsafeBytes { session.receive($0, now: 0) }
    var index = 0
    while index < input.count {
      let end = min(index + step, input.count)
      session.receive(UnsafeRawBufferPointer(rebasing: input[index..<end]), now: 0)
      index = end
      read(session, answers)
      if answers { send(session) }
    }
    send(session)
    read(session, answers)
    session.connectionLost()
    read(session, answers)
  }

  private func send(_ session: ServerSession) {
    withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 16) { buffer in
      while session.wantsSend, session.send(into: buffer, now: 0) > 0 {}
    }
  }

  private mutating func read(_ session: ServerSession, _ answers: Bool) {
    while let event = session.nextEvent() {
      switch event {
      case .head(let ticket, let slice, let ends):
        let text = Array(session.bytes(of: ticket, slice))
        heads.append(text)
        text.withUnsafeBytes { Self.check($0, ends: ends) }
        if answers, ticket.id % 4 == 1 { answer(session, ticket) }
      case .refused(let ticket, let request): refused[ticket.id] = request
      case .data(let ticket):
        precondition(refused[ticket.id] == nil, "the body of a refused request")
        let body = session.body(of: ticket)
        bodies[ticket.id, default: []] += body
        session.consumed(ticket, body.count)
      case .end(let ticket): precondition(ends.insert(ticket.id).inserted, "two ends")
      case .sent(let ticket), .ended(let ticket, _): session.release(ticket)
      case .failed(let failure):
        precondition(self.failure == nil)
        self.failure = failure
      case .interimHead: preconditionFailure("an event of clients")
      case .trailers, .room, .goAway, .settings, .pong: break
      }
    }
  }

  private func answer(_ session: ServerSession, _ ticket: StreamTicket) {
    let head = Array("HTTP/1.1 200 OK\r\nServer: x\r\n\r\n".utf8)
    precondition(head.withUnsafeBytes { session.answer(ticket, head: $0) } != .unfit)
    _ = head.withUnsafeBytes { session.append($0, to: ticket) }
    session.endBody(of: ticket)
  }

  /// The parser that the engine uses reads the same request, which has one Host and one framing.
  private static func check(_ bytes: UnsafeRawBufferPointer, ends: Bool) {
    var head = RequestHead()
    let outcome = head.parse(bytes, limit: bytes.count + 1)
    precondition(outcome == .complete, "\(outcome)")
    precondition(head.length == bytes.count && head.lineStart == 0)
    precondition((try? RequestTarget(of: head, in: bytes)) != nil && (try? head.checkHost(in: bytes)) != nil)
    precondition(head.fields.filter { $0.id == .cookie }.count < 2)
    if let framing = try? head.framing(in: bytes) {
      precondition(!ends || framing == .none || framing == .length(0))
      precondition(ends || framing != .none)
    }
  }
}

/// Nothing depends on how the bytes arrive.
private func check(_ input: UnsafeRawBufferPointer) {
  let whole = Reading(input, step: max(input.count, 1), answers: false)
  for step in [1, 7] {
    let pieces = Reading(input, step: step, answers: false)
    if whole.failure == .lost, pieces != whole {
      print("in steps of \(step): \(pieces)\nwhole: \(whole)")
      preconditionFailure()
    }
  }
  for step in [5, 1000] { _ = Reading(input, step: step, answers: true) }
}
