import HTTP2
import Testing

/// A server's session, and the app that the test plays.
final class ServerProbe: Probe {
  let server: ServerSession
  let decoder = HeaderDecoder()
  static let get = [(":method", "GET"), (":scheme", "https"), (":authority", "a.example"), (":path", "/")]

  init(limits: SessionLimits = SessionLimits(), settings: [(UInt16, UInt32)] = []) {
    server = ServerSession(limits: limits, now: 1_000_000_000)
    super.init(server)
    _ = sentBytes()
    feed(Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8))
    feed(.settings(settings), .settingsAck)
    _ = seen()
    _ = sentBytes()
  }

  /// The ticket of the next head or refusal.
  func ticket() -> StreamTicket? {
    while let event = session.nextEvent() {
      switch event {
      case .head(let ticket, _, _), .refused(let ticket, _): return ticket
      default: break
      }
    }
    return nil
  }

  func answer(_ ticket: StreamTicket, _ head: String) -> ServerSession.Answered {
    Array(head.replacing("|", with: "\r\n").utf8).withUnsafeBytes { server.answer(ticket, head: $0) }
  }
}

@Suite("Apps over HTTP/2")
struct ServerTests {
  @Test("send requests that become HTTP/1.1 text", arguments: [1, 3, 1000])
  func requests(step: Int) {
    let probe = ServerProbe()
    probe.feed(
      .head(1, ServerProbe.get + [("user-agent", "u"), ("x-a", "1"), ("te", "trailers")], ends: true),
      .head(
        3,
        [
          (":path", "/p?q"), (":authority", "a.example:444"), (":method", "POST"), (":scheme", "https"), ("cookie", "a=1"),
          ("content-length", "2"), ("cookie", "b=2"), ("host", "A.example:444"),
        ]), .data(3, "hi", ends: true), .head(5, ServerProbe.get.dropFirst() + [(":method", "PUT")]), .data(5, "x"),
      .head(5, [("x-sum", "1")], ends: true),
      .head(7, [(":method", "OPTIONS"), (":scheme", "https"), (":path", "*"), ("host", "a")], ends: true),
      step: step)
    #expect(
      probe.seen() == [
        .head(1, "GET / HTTP/1.1|Host: a.example|User-Agent: u|X-A: 1|TE: trailers||", ends: true), .end(1),
        .head(3, "POST /p?q HTTP/1.1|Host: a.example:444|Content-Length: 2|Cookie: a=1; b=2||", ends: false), .data(3, "hi"),
        .end(3), .head(5, "PUT / HTTP/1.1|Host: a.example|Transfer-Encoding: chunked||", ends: false), .data(5, "x"),
        .trailers(5, "X-Sum: 1||"), .end(5), .head(7, "OPTIONS * HTTP/1.1|Host: a||", ends: true), .end(7),
      ])
    #expect(probe.frames() == [])
  }

  private static func request(
    _ replaced: [String: String], _ more: [(String, String)] = []
  ) -> [(String, String)] {
    ServerProbe.get.compactMap { field in
      guard let value = replaced[field.0] else { return field }
      return value == "-" ? nil : (field.0, value)
    } + more
  }

  static let faults: [(String, [(String, String)])] = [
    ("Host that differs", request([:], [("host", "b.example")])), ("userinfo", request([":authority": "u@a.example"])),
    ("an empty path", request([":path": ""])), ("a path without a slash", request([":path": "a"])),
    ("an absolute path", request([":path": "https://b.example/"])), ("a fragment", request([":path": "/#a"])),
    ("* with GET", request([":path": "*"])), ("no path", request([":path": "-"])),
    ("space in the path", request([":path": "/ HTTP/1.1"])), ("CR LF in the path", request([":path": "/\r\nX: y"])),
    ("letters outside ASCII in the path", request([":path": "/\u{e4}"])), ("scheme http", request([":scheme": "http"])),
    ("another scheme", request([":scheme": "ftp"])), ("no scheme", request([":scheme": "-"])),
    ("no method", request([":method": "-"])), ("space in the method", request([":method": "GET /"])),
    ("an empty method", request([":method": ""])), ("LF in the method", request([":method": "GET\n"])),
    ("neither authority nor Host", request([":authority": "-"])), ("an empty authority", request([":authority": ""])),
    ("an authority that is none", request([":authority": "a b"])), ("an authority with a path", request([":authority": "a/b"])),
    ("a repeated pseudo field", request([:], []) + [(":path", "/b")]),
    ("a late pseudo field", [("x-a", "1")] + request([:])), ("an unknown one", [(":x", "1")] + request([:])),
    ("a status", [(":status", "200")] + request([:])),
    (":protocol", request([":method": "CONNECT"], []) + [(":protocol", "websocket")]),
    ("Connection", request([:], [("connection", "x")])),
    ("Transfer-Encoding", request([:], [("transfer-encoding", "chunked")])),
    ("Upgrade", request([:], [("upgrade", "h2c")])), ("Keep-Alive", request([:], [("keep-alive", "1")])),
    ("Proxy-Connection", request([:], [("proxy-connection", "x")])), ("TE with more", request([:], [("te", "trailers, gzip")])),
    ("upper case", request([:], [("X-A", "1")])), ("LF in a value", request([:], [("x-a", "1\nb")])),
    ("NUL in a value", request([:], [("x-a", "\0")])), ("a colon in a name", request([:], [("x:a", "1")])),
    ("CR in a name", request([:], [("x\ra", "1")])), ("a space before a value", request([:], [("x-a", " 1")])),
    ("two lengths", request([:], [("content-length", "0"), ("content-length", "0")])),
    ("a length that is no number", request([:], [("content-length", "0x0")])),
    ("a length without a body", request([:], [("content-length", "3")])),
    ("two Hosts", request([:], [("host", "a.example"), ("host", "a.example")])),
  ]

  @Test("send nothing malformed further", arguments: faults)
  func malformed(what: String, fields: [(String, String)]) {
    let probe = ServerProbe()
    probe.feed(.head(1, fields, ends: true), .head(3, ServerProbe.get, ends: true))
    let resets = probe.frames()
    let seen = probe.seen()
    if resets.isEmpty {
      #expect(seen.contains { if case .refused(1, .malformed) = $0 { true } else { false } }, "\(seen)")
    } else {
      #expect(resets == [.reset(1, ErrorCode.protocolError.rawValue)])
    }
    #expect(seen.contains(.head(3, "GET / HTTP/1.1|Host: a.example||", ends: true)))
    #expect(!seen.contains { if case .head(1, _, _) = $0 { true } else { false } })
  }

  @Test("get 405 for CONNECT, 431 for large heads, and nothing of their bodies is kept")
  func refused() {
    let probe = ServerProbe(limits: SessionLimits(headerSection: 500))
    probe.feed(.head(1, [(":method", "CONNECT"), (":authority", "a:443")]), .data(1, "tunnelled"))
    probe.feed(
      .head(3, ServerProbe.get + [("x-a", String(repeating: "a", count: 500)), ("x-b", "b")]), .data(3, "x", ends: true))
    probe.feed(.head(5, ServerProbe.get, ends: true))
    #expect(
      probe.seen() == [
        .refused(1, .connect), .refused(3, .malformed(.headTooLarge)), .head(5, "GET / HTTP/1.1|Host: a.example||", ends: true),
        .end(5),
      ])
    #expect(probe.frames() == [])
  }

  @Test("that send another length than they said are reset")
  func length() {
    let probe = ServerProbe()
    probe.feed(.head(1, ServerProbe.get + [("content-length", "2")]), .data(1, "a", ends: true))
    #expect(probe.frames() == [.reset(1, ErrorCode.protocolError.rawValue)])
    #expect(probe.seen().last == .ended(1, .malformed(.protocolError)))
  }

  @Test("get interim heads, a head, a body and trailers")
  func answers() {
    let probe = ServerProbe()
    probe.feed(.head(1, ServerProbe.get, ends: true))
    let ticket = probe.ticket()!
    #expect(probe.answer(ticket, "HTTP/1.1 103 Early Hints|Link: x||") == .interim)
    #expect(
      probe.answer(
        ticket, "HTTP/1.1 200 OK|Content-Type: t|Transfer-Encoding: chunked|Connection: close|Set-Cookie: 5ecret||")
        == .final(.chunked))
    #expect(probe.append(Array("body".utf8), to: ticket) == 4)
    probe.endBody(of: ticket, trailers: "Grpc-Status: 0\r\n\r\n")
    let frames = probe.frames()
    #expect(frames.map(\.kind) == [.headers, .headers, .data, .headers])
    #expect(frames.map(\.ends) == [false, false, false, true])
    #expect(probe.decoder.decode(frames[0].payload).map(\.name) == [":status", "link"])
    #expect(
      probe.decoder.decode(frames[1].payload) == [
        DecodedField(name: ":status", value: "200", isNeverIndexed: false),
        DecodedField(name: "content-type", value: "t", isNeverIndexed: false),
        DecodedField(name: "set-cookie", value: "5ecret", isNeverIndexed: true),
      ])
    #expect(probe.decoder.decode(frames[3].payload).map(\.name) == ["grpc-status"])
    #expect(probe.seen() == [.end(1), .sent(1)])
    #expect(probe.server.openStreams == 1)
    probe.server.release(ticket)
    #expect(probe.server.openStreams == 0)
    #expect(probe.frames() == [])
  }

  @Test("get one final head only")
  func oneHead() {
    let probe = ServerProbe()
    probe.feed(.head(1, ServerProbe.get, ends: true))
    let ticket = probe.ticket()!
    #expect(probe.answer(ticket, "HTTP/1.1 101 Switching||") == .unfit)
    #expect(probe.answer(ticket, "HTTP/1.1 200 OK|X Y: z||") == .unfit)
    #expect(probe.answer(ticket, "HTTP/1.1 201 Created||") == .final(.untilClose))
    #expect(probe.answer(ticket, "HTTP/1.1 200 OK||") == .unfit)
    #expect(probe.frames().map(\.kind) == [.headers])
    #expect(probe.decoder.indexed == [])
  }

  @Test("get no body for HEAD, whatever length its head says")
  func head() {
    let probe = ServerProbe()
    probe.feed(.head(1, ServerProbe.get.dropFirst() + [(":method", "HEAD")], ends: true))
    let ticket = probe.ticket()!
    #expect(probe.answer(ticket, "HTTP/1.1 200 OK|Content-Length: 3||") == .final(.none))
    let frames = probe.frames()
    #expect(frames.map(\.kind) == [.headers] && frames[0].ends)
    probe.server.release(ticket)
    #expect(probe.answer(ticket, "HTTP/1.1 200 OK|Content-Length: 3||") == .gone)
  }

  @Test("learn of a cut answer by INTERNAL_ERROR, never by the stream's end")
  func cut() {
    let probe = ServerProbe()
    probe.feed(.head(1, ServerProbe.get, ends: true))
    let ticket = probe.ticket()!
    #expect(probe.answer(ticket, "HTTP/1.1 200 OK||") == .final(.untilClose))
    _ = probe.append([1, 2], to: ticket)
    _ = probe.sentBytes()
    probe.server.release(ticket, code: .internalError)
    #expect(probe.frames() == [.reset(1, ErrorCode.internalError.rawValue)])
  }

  @Test("get head and bytes of a cut answer before its reset", arguments: [false, true])
  func cutBehindBytes(hasBody: Bool) {
    let probe = ServerProbe(settings: [(4, 5)])
    probe.feed(.head(1, ServerProbe.get, ends: true))
    let ticket = probe.ticket()!
    #expect(probe.answer(ticket, "HTTP/1.1 103 Early Hints|Link: x||") == .interim)
    #expect(probe.answer(ticket, "HTTP/1.1 200 OK|Content-Length: 9||") == .final(.length(9)))
    if hasBody { #expect(probe.append(Array("cut off".utf8), to: ticket) == 7) }
    probe.server.cut(ticket)
    #expect(probe.append([1], to: ticket) == 1)
    var frames = probe.frames()
    if hasBody {
      #expect(frames.map(\.kind) == [.headers, .headers, .data] && frames[2].payload == Array("cut o".utf8))
      probe.feed(.window(1, 10))
      frames += probe.frames()
      #expect(frames.map(\.kind) == [.headers, .headers, .data, .data, .reset] && frames[3].payload == Array("ff".utf8))
    } else {
      #expect(frames.map(\.kind) == [.headers, .headers, .reset])
    }
    #expect(frames.last == .reset(1, ErrorCode.internalError.rawValue))
    #expect(probe.seen().last == .ended(1, .malformed(.internalError)))
    probe.server.release(ticket)
    #expect(probe.frames() == [])
    // It is nothing that the app has provoked.
    #expect(probe.server.failure == nil && probe.server.openStreams == 0)
  }

  @Test("with an early answer need not send the rest")
  func early() {
    let probe = ServerProbe()
    probe.feed(.head(1, ServerProbe.get))
    let ticket = probe.ticket()!
    #expect(probe.answer(ticket, "HTTP/1.1 413 x|Content-Length: 0||") == .final(.length(0)))
    let frames = probe.frames()
    #expect(frames.map(\.kind) == [.headers, .reset])
    #expect(frames.last?.code == 0)
    probe.feed(.data(1, "more"))
    #expect(probe.seen() == [.sent(1)])
    probe.server.release(ticket)
    #expect(probe.frames() == [])
  }

  @Test("count until their work has ended: a stream beyond the limit is refused")
  func workCounts() {
    let probe = ServerProbe(limits: SessionLimits(streams: 2))
    probe.feed(.head(1, ServerProbe.get, ends: true), .head(3, ServerProbe.get, ends: true))
    let first = probe.ticket()!
    _ = probe.seen()
    probe.feed(.reset(1, 8), .head(5, ServerProbe.get, ends: true))
    #expect(probe.seen() == [.ended(1, .reset(.cancel))])
    #expect(probe.frames() == [.reset(5, ErrorCode.refusedStream.rawValue)])
    probe.server.release(first)
    probe.feed(.head(7, ServerProbe.get, ends: true))
    #expect(probe.seen().count == 2)
    #expect(probe.session.failure == nil)
  }

  @Test("may reset 200 unfinished answers at once, and 20 a second")
  func resets() {
    let probe = ServerProbe()
    var id: UInt32 = 1
    func reset(_ count: Int) {
      for _ in 0..<count where probe.session.failure == nil {
        probe.feed(.head(id, ServerProbe.get, ends: true))
        let ticket = probe.ticket()!
        probe.feed(.reset(id, 8))
        probe.server.release(ticket)
        _ = probe.sentBytes()
        id += 2
      }
    }
    reset(200)
    #expect(probe.session.failure == nil)
    probe.now += 500_000_000
    reset(10)
    #expect(probe.session.failure == nil)
    reset(1)
    #expect(probe.session.failure == .resets)
    #expect(probe.session.failure?.code == .enhanceYourCalm)
  }

  static let provocations: [(String, @Sendable (UInt32) -> [Frame])] = [
    ("a window too large", { [.window($0, 0x7fff_ffff)] }),
    ("more bytes than said", { [.data($0, "abc")] }),
    ("malformed trailers", { [.head($0, [("connection", "x")], ends: true)] }),
  ]

  @Test("may not make the proxy reset more than those", arguments: provocations)
  func provoked(what: String, frames: @Sendable (UInt32) -> [Frame]) {
    let probe = ServerProbe()
    var id: UInt32 = 1
    for count in 0..<260 where probe.session.failure == nil {
      probe.feed(.head(id, ServerProbe.get + [("content-length", "2")]))
      let ticket = probe.ticket()!
      probe.feed(frames(id).flatMap(\.bytes))
      _ = probe.sentBytes()
      if probe.session.failure == nil { #expect(count < 200) }
      probe.server.release(ticket)
      _ = probe.sentBytes()
      id += 2
    }
    #expect(probe.session.failure == .resets)
  }

  @Test("may finish as many streams as they like")
  func finished() {
    let probe = ServerProbe()
    for index in 0..<2000 {
      let id = UInt32(1 + 2 * index)
      probe.feed(.head(id, ServerProbe.get, ends: true))
      let ticket = probe.ticket()!
      #expect(probe.answer(ticket, "HTTP/1.1 204 x||") == .final(.none))
      _ = probe.sentBytes()
      probe.feed(.reset(id, 0))
      probe.server.release(ticket)
    }
    #expect(probe.session.failure == nil)
  }

  @Test("are told to go in two steps")
  func drain() {
    let probe = ServerProbe()
    probe.feed(.head(1, ServerProbe.get, ends: true))
    let first = probe.ticket()!
    probe.server.beginDrain()
    #expect(probe.frames() == [.goAway(0x7fff_ffff, 0)])
    probe.feed(.head(3, ServerProbe.get, ends: true))
    #expect(probe.ticket()?.id == 3)
    probe.server.endDrain()
    #expect(probe.frames() == [.goAway(3, 0)])
    probe.feed(.head(5, ServerProbe.get, ends: true))
    #expect(probe.ticket() == nil)
    #expect(probe.answer(first, "HTTP/1.1 204 x||") == .final(.none))
    #expect(probe.frames().map(\.kind) == [.headers])
    #expect(probe.session.failure == nil)
  }

  @Test("that speak something else are refused")
  func preface() {
    let session = ServerSession(limits: SessionLimits(), now: 0)
    let probe = Probe(session)
    probe.feed(Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
    #expect(session.failure == .protocolError(.protocolError))
  }

  @Test("mark fields that no one may index")
  func marked() {
    let probe = ServerProbe()
    let fields = literals(ServerProbe.get) + [0x10, 6] + Array("accept".utf8) + [1, 0x61]
    probe.feed(Frame(kind: .headers, flags: Frame.endHeaders | Frame.endStream, stream: 1, payload: fields))
    #expect(probe.server.marked(probe.ticket()!) == .accept)
  }

  @Test("are served in turn, whatever their priorities say")
  func priorities() {
    let probe = ServerProbe(settings: [(4, 1 << 20)])
    probe.feed(.window(0, 1 << 20))
    var tickets: [StreamTicket] = []
    for id: UInt32 in [1, 3, 5] {
      probe.feed(.head(id, ServerProbe.get + [("priority", id == 1 ? "u=0" : "u=7")], ends: true))
      tickets.append(probe.ticket()!)
    }
    for ticket in tickets {
      #expect(probe.answer(ticket, "HTTP/1.1 200 OK||") == .final(.untilClose))
      #expect(probe.append(FlowTests.body(60_000), to: ticket) == 60_000)
      probe.server.endBody(of: ticket)
    }
    let data = probe.frames().filter { $0.kind == .data }
    let firstEnd = data.firstIndex(where: \.ends)!
    #expect(Set(data[..<firstEnd].map(\.stream)).count == 3)
  }
}
