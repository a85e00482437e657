import CFuzzer
import HTTP2
import HTTPWire

@_cdecl("HTTP2ClientFuzz_main")
public func start(_ argc: Int32, _ argv: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Int32 {
  fuzz_run(argc, argv) { bytes, count in
    check(UnsafeRawBufferPointer(start: bytes, count: count))
    return 0
  }
}

/// What an origin's bytes came to.
private struct Reading: Equatable {
  var heads: [[UInt8]] = []
  var bodies: [Int32: [UInt8]] = [:]
  var ends: [Int32: String] = [:]
  var failure: SessionFailure?

  /// Three requests, then the origin's bytes in pieces.
  init(_ input: UnsafeRawBufferPointer, step: Int) {
    let session = ClientSession(limits: SessionLimits(headerSection: 2000), now: 0)
    for hasBody in [false, true, false] {
      let coding = hasBody ? "Transfer-Encoding: chunked\r\n" : ""
      let head = Array("POST /a HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\(coding)\r\n".utf8)
      guard case .stream(let ticket, _) = head.withUnsafeBytes({ session.submit(head: $0) }) else { continue }
      if hasBody { _ = head.withUnsafeBytes { session.append($0, to: ticket) } }
    }
    send(session)
    var index = 0
    while index < input.count {
      let end = min(index + step, input.count)
      session.receive(UnsafeRawBufferPointer(rebasing: input[index..<end]), now: 0)
      index = end
      read(session)
      // Not before the end: what is sent meanwhile depends on how the input was cut.
    }
    send(session)
    read(session)
    session.connectionLost()
    read(session)
  }

  private func send(_ session: ClientSession) {
    withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 16) { buffer in
      while session.wantsSend, session.send(into: buffer, now: 0) > 0 {}
    }
  }

  private mutating func read(_ session: ClientSession) {
    while let event = session.nextEvent() {
      switch event {
      case .interimHead(let ticket, let slice), .head(let ticket, let slice, _):
        let text = Array(session.bytes(of: ticket, slice))
        heads.append(text)
        // The parser that the engine uses finds one head, all of it.
        text.withUnsafeBytes { bytes in
          var head = ResponseHead()
          let outcome = head.parse(bytes, limit: bytes.count + 1)
          precondition(outcome == .complete || outcome == .invalid(.tooManyFields), "\(outcome)")
          precondition(outcome != .complete || head.length == bytes.count && 100..<600 ~= head.status)
        }
      case .data(let ticket):
        precondition(ends[ticket.id] == nil, "data behind the end")
        let body = session.body(of: ticket)
        bodies[ticket.id, default: []] += body
        session.consumed(ticket, body.count)
      case .end(let ticket):
        precondition(ends.updateValue("end", forKey: ticket.id) == nil, "two ends")
      case .ended(let ticket, let end):
        precondition(ends.updateValue("\(end)", forKey: ticket.id) == nil, "two ends")
      case .failed(let failure):
        precondition(self.failure == nil)
        self.failure = failure
      case .refused, .sent: preconditionFailure("an event of servers")
      case .trailers, .room, .goAway, .settings, .pong: break
      }
    }
  }
}

/// Every stream ends once, and nothing depends on how the bytes arrive. What a failing connection had delivered before may.
private func check(_ input: UnsafeRawBufferPointer) {
  let whole = Reading(input, step: max(input.count, 1))
  precondition(whole.ends.count == 3, "\(whole.ends)")
  for step in [1, 7] {
    let pieces = Reading(input, step: step)
    precondition(pieces.ends.count == 3)
    if whole.failure == .lost, pieces != whole {
      print("in steps of \(step): \(pieces)\nwhole: \(whole)")
      preconditionFailure()
    }
  }
}
