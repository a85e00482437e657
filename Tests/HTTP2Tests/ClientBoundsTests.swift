import HTTP2
import Testing

@Suite("Bounds of a connection")
struct ClientBoundsTests {
  @Test("of decoded header sections: above it that stream only, and HPACK stays in step")
  func headerSection() {
    let probe = ClientProbe(limits: SessionLimits(headerSection: 1000))
    _ = probe.get()
    _ = probe.get()
    // Into the dynamic table, behind what is too much.
    let indexed: [UInt8] = [0x40, 3] + Array("x-a".utf8) + [1, 0x62]
    let field = ("x-b", String(repeating: "b", count: 100))
    probe.feed(
      Frame(
        kind: .headers, flags: Frame.endHeaders, stream: 1,
        payload: [0x88] + literals([(String, String)](repeating: field, count: 8)) + indexed))
    #expect(probe.frames() == [.reset(1, ErrorCode.cancel.rawValue)])
    #expect(probe.seen() == [.ended(1, .headTooLarge)])
    probe.feed(Frame(kind: .headers, flags: Frame.endHeaders | Frame.endStream, stream: 3, payload: [0x88, 0xbe]))
    #expect(probe.seen() == [.head(3, "HTTP/1.1 200 OK|X-A: b|Content-Length: 0||", ends: true), .end(3)])
  }

  @Test("of trailers are the same")
  func trailers() {
    let probe = ClientProbe(limits: SessionLimits(headerSection: 1000))
    _ = probe.get()
    probe.feed(.head(1, [(":status", "200")]), .head(1, [("x-b", String(repeating: "b", count: 1000))], ends: true))
    #expect(probe.seen().last == .ended(1, .headTooLarge))
  }

  @Test("of small fields that reference the table: what a field costs is counted")
  func bomb() {
    let probe = ClientProbe(limits: SessionLimits(headerSection: 10_000))
    _ = probe.get()
    let field: [UInt8] = [0x40, 3] + Array("x-a".utf8) + [127, 0x81, 0x1f] + [UInt8](repeating: 0x62, count: 4096)
    probe.feed(
      Frame(
        kind: .headers, flags: Frame.endHeaders, stream: 1,
        payload: [0x88] + field + [UInt8](repeating: 0xbe, count: 10_000)))
    _ = probe.sentBytes()
    #expect(probe.seen().last == .ended(1, .headTooLarge) || probe.session.failure != nil)
  }

  @Test("of header blocks on the wire: four times the limit")
  func wire() {
    let probe = ClientProbe(limits: SessionLimits(headerSection: 4096))
    _ = probe.get()
    probe.feed(
      .head(1, [(":status", "200"), ("x-b", String(repeating: "b", count: 10_000))], complete: false),
      Frame(kind: .continuation, stream: 1, payload: literals([("x-b", String(repeating: "b", count: 7000))])))
    #expect(probe.frames().last?.code == ErrorCode.enhanceYourCalm.rawValue)
    #expect(probe.seen().last == .failed(.headerBlock))
  }

  @Test("of CONTINUATION: eight")
  func continuation() {
    let probe = ClientProbe()
    _ = probe.get()
    probe.feed(.head(1, [(":status", "200")], complete: false))
    for _ in 0..<9 { probe.feed(Frame(kind: .continuation, stream: 1, payload: literals([("x-b", "b")]))) }
    #expect(probe.seen().last == .failed(.headerBlock))
    #expect(probe.frames().last?.code == ErrorCode.enhanceYourCalm.rawValue)
  }

  @Test("of CONTINUATION count frames, not the pieces that they arrive in")
  func continuationInPieces() {
    let probe = ClientProbe()
    _ = probe.get()
    probe.feed(.head(1, [(":status", "200")], complete: false))
    for index in 0..<8 {
      let flags = index == 7 ? Frame.endHeaders : 0
      probe.feed(Frame(kind: .continuation, flags: flags, stream: 1, payload: literals([("x-b", "b")])), step: 1)
    }
    #expect(probe.seen().count == 1)
    #expect(probe.session.failure == nil)
  }

  @Test("of interim heads: 32 an answer")
  func interim() {
    let probe = ClientProbe()
    _ = probe.get()
    for _ in 0..<32 { probe.feed(.head(1, [(":status", "103")])) }
    #expect(probe.seen().count == 32)
    probe.feed(.head(1, [(":status", "103")]))
    #expect(probe.seen() == [.ended(1, .tooManyInterimHeads)])
    #expect(probe.session.failure == nil)
  }

  @Test("of interim heads: in sum not above the limit of one section")
  func interimSize() {
    let probe = ClientProbe(limits: SessionLimits(headerSection: 1000))
    _ = probe.get()
    let head = Frame.head(1, [(":status", "103"), ("link", String(repeating: "l", count: 300))])
    probe.feed(head, head)
    #expect(probe.seen().count == 2)
    probe.feed(head)
    #expect(probe.seen() == [.ended(1, .headTooLarge)])
  }

  static let useless: [(String, Frame)] = [
    ("SETTINGS", .settings()), ("PING", .ping()), ("PRIORITY", Frame(kind: .priority, stream: 1, payload: [0, 0, 0, 0, 9])),
    ("empty DATA", .data(1, "")), ("unknown", Frame(kind: .unknown, payload: [1])),
    ("WINDOW_UPDATE", .window(0, 1)), ("WINDOW_UPDATE of the stream", .window(1, 1)),
    ("DATA of an ended stream, beyond its window", .data(3, [UInt8](repeating: 0x78, count: 16_384))),
    ("RST_STREAM of an ended stream", .reset(3, 0)),
    ("answers to no PING", .ping(ack: true)),
  ]

  @Test("of frames without a byte of a message: 1,000 in 10 s", arguments: useless)
  func emptyFrames(what: String, frame: Frame) {
    let probe = ClientProbe()
    _ = probe.get()
    let ended = probe.get()
    probe.feed(.head(1, [(":status", "200")]))
    probe.client.release(ended)
    _ = probe.sentBytes()
    func flood(_ count: Int) {
      for _ in 0..<count {
        probe.feed(frame)
        _ = probe.sentBytes()
        _ = probe.seen()
      }
    }
    flood(990)
    #expect(probe.session.failure == nil)
    probe.now += 10_000_000_000
    flood(990)
    #expect(probe.session.failure == nil)
    flood(30)
    #expect(probe.session.failure == .emptyFrames)
  }

  @Test("leave room for what was on its way when we reset a stream, as far as its window reached")
  func late() {
    let probe = ClientProbe()
    let ended = probe.get()
    probe.feed(.head(1, [(":status", "200")]), .data(1, [UInt8](repeating: 0x78, count: 5_535)))
    // Unread, so the window is 60,000 bytes.
    probe.client.release(ended)
    _ = probe.sentBytes()
    for _ in 0..<3_000 { probe.feed(.data(1, [UInt8](repeating: 0x78, count: 20))) }
    #expect(probe.session.failure == nil)
    for _ in 0..<1_010 { probe.feed(.data(1, [UInt8](repeating: 0x78, count: 20))) }
    #expect(probe.session.failure == .emptyFrames)
  }

  @Test("leave room for what was on its way on each of two streams")
  func lateOfTwo() {
    let probe = ClientProbe()
    for stream: UInt32 in [1, 3] {
      let ended = probe.get()
      probe.feed(.head(stream, [(":status", "200")]))
      probe.client.release(ended)
      _ = probe.sentBytes()
    }
    for _ in 0..<3_000 { for stream: UInt32 in [1, 3] { probe.feed(.data(stream, [UInt8](repeating: 0x78, count: 20))) } }
    #expect(probe.session.failure == nil)
  }

  @Test("leave room for origins that measure with PING while they send, or answer small frames with WINDOW_UPDATE")
  func measuring() {
    let probe = ClientProbe()
    let ticket = probe.begin("POST / HTTP/1.1|Host: a|Transfer-Encoding: chunked||")
    _ = probe.sentBytes()
    probe.feed(.head(1, [(":status", "200")]))
    for _ in 0..<3000 {
      _ = probe.append([1], to: ticket)
      _ = probe.sentBytes()
      probe.feed(.data(1, "x"), .ping(), .window(1, 1), .window(0, 1))
      _ = probe.seen()
    }
    #expect(probe.session.failure == nil)
  }

  @Test("of PUSH_PROMISE: none")
  func push() {
    let probe = ClientProbe(greets: false)
    _ = probe.get()
    // Before the ACK of our SETTINGS, nghttp2 would take it.
    probe.feed(.settings(), Frame(kind: .push, flags: Frame.endHeaders, stream: 1, payload: big(2)))
    #expect(probe.seen().last == .failed(.push))
    #expect(probe.frames().last?.code == ErrorCode.protocolError.rawValue)
  }

  @Test("of what waits for a peer that does not read")
  func unread() {
    let probe = ClientProbe()
    var count = 0
    while probe.session.failure == nil, count < 5000 {
      // New bytes of a message, so that the budget of frames is not what ends it.
      probe.now += 10_000_000_000
      probe.feed([Frame](repeating: .ping(), count: 900).flatMap(\.bytes))
      count += 900
    }
    #expect(probe.session.failure == .unread)
    #expect(count <= 2700)
    // The GOAWAY does not wait behind the flood.
    #expect(probe.frames().last?.kind == .goAway)
  }
}
