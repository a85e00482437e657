import HTTP2
import HTTPWire
import Testing

@Suite("Requests over HTTP/2")
struct ClientRequestTests {
  @Test("begin with the preface, SETTINGS and the connection's window")
  func preface() {
    let probe = ClientProbe(limits: SessionLimits(headerSection: 1000), greets: false)
    let bytes = probe.sentBytes()
    #expect(bytes.starts(with: Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)))
    let frames = Frame.all(in: Array(bytes.dropFirst(24)))
    #expect(frames == [.settings([(4, 65_536), (6, 1000), (2, 0)]), .window(0, (16 << 20) - 65_535)])
  }

  @Test("are the HTTP/1.1 head without what belongs to HTTP/1.1")
  func fields() {
    let probe = ClientProbe()
    _ = probe.begin(
      "POST /a?b HTTP/1.1|Host: a.example:8443|Content-Length: 3|Connection: upgrade, TE|Upgrade: h2c|HTTP2-Settings: x|"
        + "Keep-Alive: 1|Proxy-Connection: x|TE: trailers|X-Custom:  v |Empty:||")
    let frame = probe.frames()[0]
    #expect(frame.flags == Frame.endHeaders)
    #expect(
      probe.decoder.decode(frame.payload).map { "\($0.name)=\($0.value)" } == [
        ":method=POST", ":scheme=https", ":authority=a.example:8443", ":path=/a?b", "content-length=3", "te=trailers",
        "x-custom=v", "empty=",
      ])
  }

  @Test("keep TE only if it says trailers")
  func te() {
    let probe = ClientProbe()
    _ = probe.begin("GET / HTTP/1.1|Host: a|TE: gzip;q=1||")
    #expect(probe.decoder.decode(probe.frames()[0].payload).count == 4)
  }

  @Test("put seven names into the dynamic table, and send all others as never-indexed literals")
  func indexing() {
    let probe = ClientProbe()
    let head =
      "GET /secret?key=5ecret HTTP/1.1|Host: a|User-Agent: u|Accept: */*|Accept-Encoding: br|Accept-Language: de|Content-Type: t|"
      + "Via: 1.1 p|Cookie: 5ecret|X-Id: 1|ETag: 2|Authorization: 5ecret|"
    _ = probe.begin(head + "|")
    let first = probe.decoder.decode(probe.frames()[0].payload)
    let indexed = Set([":authority", "user-agent", "accept", "accept-encoding", "accept-language", "content-type", "via"])
    #expect(Set(probe.decoder.indexed) == indexed)
    #expect(
      first.filter(\.isNeverIndexed).map(\.name) == ["cookie", "x-id", "etag", "authorization"])
    // The second time, the seven are references; what an app or a credential marked is not.
    _ = probe.submit(
      head + "X-Key: 5ecret|Via: 5ecret||", secretFrom: head.utf8.count + 10, marked: .accept, isSecretPath: true)
    let second = probe.decoder.decode(probe.frames()[0].payload)
    #expect(probe.decoder.indexed.count == 7)
    #expect(
      second.filter(\.isNeverIndexed).map(\.name)
        == [":path", "accept", "cookie", "x-id", "etag", "authorization", "x-key", "via"])
  }

  @Test("with other methods put none of them into the table")
  func methods() {
    let probe = ClientProbe()
    _ = probe.begin("PURGE / HTTP/1.1|Host: a||")
    _ = probe.decoder.decode(probe.frames()[0].payload)
    #expect(probe.decoder.indexed == [":authority"])
  }

  @Test("say how their body follows, and nothing of chunks")
  func framing() {
    let probe = ClientProbe()
    let framings: [(String, BodyFraming)] = [
      ("", .none), ("Content-Length: 0|", .length(0)), ("Content-Length: 3|", .length(3)),
      ("Transfer-Encoding: chunked|", .chunked),
    ]
    for (field, expected) in framings {
      guard case .stream(_, let framing) = probe.submit("POST / HTTP/1.1|Host: a|\(field)|") else {
        Issue.record("not sent: \(field)")
        continue
      }
      #expect(framing == expected)
      let frame = probe.frames()[0]
      #expect(frame.ends == !expected.hasBytes)
      let names = probe.decoder.decode(frame.payload).map(\.name).filter { !$0.hasPrefix(":") }
      #expect(names == (field.hasPrefix("Content") ? ["content-length"] : []))
    }
  }

  @Test(
    "that are no HTTP/1.1 heads are not sent",
    arguments: [
      "GET / HTTP/1.1||", "GET / HTTP/1.1|Host: a|X Y: 1||", "GET",
      "POST / HTTP/1.1|Host: a|Content-Length: 3|Transfer-Encoding: chunked||",
    ])
  func unfit(head: String) {
    let probe = ClientProbe()
    #expect(probe.submit(head) == .unfit)
    #expect(probe.frames() == [])
    #expect(probe.client.openStreams == 0)
  }

  @Test("keep to the least of our limit and the origin's, also when it is lowered")
  func streamLimit() {
    let probe = ClientProbe(limits: SessionLimits(streams: 3), settings: [(3, 2)])
    let first = probe.get()
    let second = probe.get()
    #expect(probe.submit("GET / HTTP/1.1|Host: a||") == .full)
    #expect(!probe.client.canSubmit)
    probe.feed(.head(1, [(":status", "200")], ends: true), .settings([(3, 1)]))
    _ = probe.seen()
    probe.client.release(first)
    #expect(probe.client.streamLimit == 1)
    #expect(probe.submit("GET / HTTP/1.1|Host: a||") == .full)
    probe.client.release(second)
    #expect(probe.client.canSubmit)
    probe.feed(.settings([(3, 50)]))
    #expect(probe.client.streamLimit == 3)
  }

  @Test("before the origin's SETTINGS keep to what the last connection knew")
  func beforeSettings() {
    #expect(ClientSession(limits: SessionLimits(streams: 1000), now: 0).streamLimit == 100)
    #expect(ClientSession(limits: SessionLimits(streams: 1000), peerStreams: 7, now: 0).streamLimit == 7)
    let probe = ClientProbe(limits: SessionLimits(streams: 1000))
    #expect(probe.client.streamLimit == 1000)
  }

  @Test("of an app that leaves are reset, and bytes still coming for them are credited")
  func cancelled() {
    let probe = ClientProbe()
    let ticket = probe.get()
    probe.feed(.head(1, [(":status", "200")]), .data(1, "abc"))
    _ = probe.seen()
    probe.client.release(ticket)
    #expect(probe.client.cancelled == 1)
    #expect(probe.frames() == [.reset(1, ErrorCode.cancel.rawValue)])
    #expect(probe.client.openStreams == 0)
    // Half of the connection's 16 MiB come for a stream that is no more.
    for _ in 0..<513 { probe.feed(.data(1, [UInt8](repeating: 0, count: 16_384))) }
    #expect(probe.frames().map(\.kind) == [.windowUpdate])
    #expect(probe.seen() == [])
    #expect(probe.session.failure == nil)
  }

  @Test("that were never written are reset without a frame")
  func cancelledBefore() {
    let probe = ClientProbe()
    let ticket = probe.begin("GET / HTTP/1.1|Host: a||")
    probe.client.release(ticket)
    #expect(probe.frames() == [])
    let next = probe.get()
    #expect(next.id == 3)
    #expect(next.index == ticket.index)
    #expect(probe.seen() == [])
  }

  @Test("with large heads need CONTINUATION, and small buffers are enough")
  func large() {
    let probe = ClientProbe()
    _ = probe.begin("GET / HTTP/1.1|Host: a|X: \(String(repeating: "x", count: 40_000))||")
    let frames = probe.frames(buffer: 2048)
    #expect(frames.map(\.kind) == [.headers, .continuation, .continuation] || frames.map(\.kind) == [.headers, .continuation])
    #expect(probe.decoder.decode(frames.flatMap(\.payload)).last?.value.count == 40_000)
  }
}
