import HTTP2
import Testing

@Suite("Ends of streams and connections")
struct ClientEndTests {
  static let resets: [(String, Bool, UInt32, StreamEnd, Bool)] = [
    ("REFUSED_STREAM", false, 7, .refused, true), ("REFUSED_STREAM behind a head", true, 7, .reset(.refusedStream), false),
    ("HTTP_1_1_REQUIRED", false, 13, .http11Required, true), ("CANCEL", false, 8, .reset(.cancel), false),
    ("INTERNAL_ERROR", true, 2, .reset(.internalError), false), ("NO_ERROR before the end", true, 0, .reset(.noError), false),
    ("an unknown code", false, 0xbad, .reset(ErrorCode(rawValue: 0xbad)), false),
  ]

  @Test("by RST_STREAM say whether the request was surely not processed", arguments: resets)
  func reset(what: String, hasHead: Bool, code: UInt32, end: StreamEnd, isSafe: Bool) {
    let probe = ClientProbe()
    _ = probe.get()
    if hasHead { probe.feed(.head(1, [(":status", "200")])) }
    probe.feed(.reset(1, code))
    #expect(probe.seen().last == .ended(1, end))
    #expect(end.wasSurelyNotProcessed == isSafe)
    #expect(probe.client.openStreams == 0)
  }

  @Test("by GOAWAY concern the streams above its last one")
  func goAway() {
    let probe = ClientProbe()
    _ = probe.get()
    _ = probe.get()
    // First the announcement.
    probe.feed(.goAway(0x7fff_ffff, 0, "soon\n"))
    #expect(probe.seen() == [.goAway(0x7fff_ffff, .noError)])
    #expect(probe.client.goAwayText == Array("soon.".utf8))
    #expect(!probe.client.canSubmit)
    #expect(probe.submit("GET / HTTP/1.1|Host: a||") == .closing)
    probe.feed(.goAway(1, 0))
    #expect(probe.seen() == [.goAway(1, .noError), .ended(3, .goneAway)])
    probe.feed(.head(1, [(":status", "200")], ends: true))
    #expect(probe.seen() == [.head(1, "HTTP/1.1 200 OK|Content-Length: 0||", ends: true), .end(1)])
    #expect(probe.client.openStreams == 0)
  }

  @Test("by GOAWAY behind an answer's head are no reason to repeat")
  func goAwayBehindHead() {
    let probe = ClientProbe()
    _ = probe.get()
    probe.feed(.head(1, [(":status", "200")]), .goAway(0, 0))
    #expect(probe.seen().last == .ended(1, .reset(.refusedStream)))
  }

  @Test("amid a header section leave nothing of it to the next stream")
  func amidSection() {
    let probe = ClientProbe()
    let ticket = probe.get()
    probe.feed(.head(1, [(":status", "200"), ("x-a", "1")], complete: false))
    probe.client.release(ticket)
    let next = probe.begin("GET / HTTP/1.1|Host: a||")
    #expect(next.index == ticket.index)
    probe.feed(Frame(kind: .continuation, flags: Frame.endHeaders, stream: 1, payload: literals([("x-b", "2")])))
    _ = probe.sentBytes()
    probe.feed(.head(3, [(":status", "204")], ends: true))
    #expect(probe.seen() == [.head(3, "HTTP/1.1 204 No Content||", ends: true), .end(3)])
  }

  @Test("by a lost connection: what was not written was not processed")
  func lost() {
    let probe = ClientProbe()
    _ = probe.get()
    _ = probe.begin("POST / HTTP/1.1|Host: a||")
    probe.client.connectionLost()
    #expect(
      probe.seen() == [.ended(1, .connection(.lost, sent: true)), .ended(3, .connection(.lost, sent: false)), .failed(.lost)])
    #expect(!probe.client.wantsSend)
    #expect(probe.submit("GET / HTTP/1.1|Host: a||") == .closing)
  }

  @Test("by an error of the protocol: GOAWAY, and every stream learns of it")
  func protocolError() {
    let probe = ClientProbe()
    _ = probe.get()
    probe.feed(Frame(kind: .settings, flags: 0, stream: 1, payload: []))
    #expect(probe.frames().map(\.code) == [ErrorCode.protocolError.rawValue])
    let failure = SessionFailure.protocolError(.protocolError)
    #expect(probe.seen() == [.ended(1, .connection(failure, sent: true)), .failed(failure)])
    #expect(!probe.client.wantsSend)
    probe.feed(.ping())
    #expect(probe.seen() == [])
  }

  @Test("do not concern tickets that were released")
  func released() {
    let probe = ClientProbe()
    let ticket = probe.get()
    probe.feed(.head(1, [(":status", "200")], ends: true))
    probe.client.release(ticket)
    #expect(probe.seen() == [])
    #expect(probe.client.body(of: ticket).isEmpty)
    #expect(probe.client.isDrained(ticket))
    probe.client.consumed(ticket, 5)
    probe.client.release(ticket)
    #expect(probe.append([1], to: ticket) == 1)
  }

  @Test("are found by PING: one at a time, and only its own answer counts")
  func ping() {
    let probe = ClientProbe()
    #expect(probe.client.ping())
    #expect(!probe.client.ping())
    let frames = probe.frames()
    #expect(frames.map(\.kind) == [.ping])
    probe.feed(.ping([0, 0, 0, 0, 0, 0, 0, 9], ack: true))
    #expect(probe.seen() == [])
    #expect(probe.client.isPinging)
    probe.now += 5
    probe.feed(.ping(frames[0].payload, ack: true))
    #expect(probe.seen() == [.pong])
    #expect(!probe.client.isPinging)
    #expect(probe.client.lastReceived == probe.now)
  }

  @Test("by us: GOAWAY without an error")
  func close() {
    let probe = ClientProbe()
    probe.client.close()
    #expect(probe.frames() == [.goAway(0, 0)])
    #expect(!probe.client.canSubmit)
    #expect(probe.client.failure == nil)
  }

  @Test("awaits the end of an answer that is whole, and discards what comes until then")
  func awaited() {
    let probe = ClientProbe()
    let ticket = probe.get()
    probe.feed(.head(1, [(":status", "200"), ("content-length", "2")]))
    #expect(probe.client.awaitEnd(of: ticket))
    probe.feed(.data(1, [1, 2]))
    _ = probe.seen()
    #expect(probe.client.body(of: ticket).isEmpty)
    probe.feed(.data(1, [], ends: true))
    #expect(probe.seen() == [.end(1)])
    probe.client.release(ticket)
    #expect(probe.frames().allSatisfy { $0.kind != .reset } && probe.client.cancelled == 0)

    // One that takes too long is reset, and does not count.
    let late = probe.get()
    probe.feed(.head(3, [(":status", "204")]))
    #expect(probe.client.awaitEnd(of: late))
    probe.client.release(late, code: .noError)
    #expect(probe.frames().contains { $0.kind == .reset } && probe.client.cancelled == 0)

    // Where the request is not sent whole, there is no reason to wait.
    let upload = probe.begin("POST / HTTP/1.1|Host: a|Content-Length: 5||")
    probe.feed(.head(5, [(":status", "204")]))
    #expect(!probe.client.awaitEnd(of: upload))
  }
}
