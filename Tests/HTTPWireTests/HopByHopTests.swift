import HTTPWire
import Testing

@Suite("Hop-by-hop fields")
struct HopByHopTests {
  @Test("of a request end here, compy#46: Proxy-Authorization above all")
  func request() {
    var request = ParsedRequest(
      fields: """
        Connection: keep-alive\r\nKeep-Alive: timeout=5\r\nProxy-Connection: keep-alive\r\nProxy-Authorization: Basic x\r
        TE: gzip\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\nUpgrade: h2c\r\nAccept: a\r\nAuthorization: b\r
        ACCEPT: c\r\nTrailer: X-Sum\r\nX-odd_NAME: d\r\nHTTP2-Settings: AAMAAABk
        """)
    #expect(
      request.forwarded() == ["Host", "Accept", "Authorization", "ACCEPT", "Trailer", "X-odd_NAME"])
  }

  @Test("of a response end here, and Alt-Svc with them")
  func response() {
    var response = ParsedResponse(
      fields: """
        Connection: close, X-Hop\r\nProxy-Authenticate: Basic\r\nAlt-Svc: h3=\":443\"\r\nX-Hop: 1\r\nContent-Length: 5\r
        WWW-Authenticate: Bearer\r\nSet-Cookie: a\r\nSet-Cookie: b
        """)
    response.bytes.withUnsafeBytes { response.head.markHopByHop(in: $0, keepUpgrade: false) }
    let kept = response.head.fields.filter { !$0.dropped }.map { response.text($0.name) }
    #expect(kept == ["WWW-Authenticate", "Set-Cookie", "Set-Cookie"])
  }

  @Test("are also those that Connection names, on any of its lines")
  func nominated() {
    var request = ParsedRequest(
      fields: "Connection: x-a , ,ETag,\"X-C\"\r\nX-A: 1\r\nConnection: X-B\r\nx-b: 2\r\nx-a: 3\r\nETag: 4\r\nX-C: 5")
    #expect(request.forwarded() == ["Host", "X-C"])
  }

  @Test(
    "are never those that others must see, whatever Connection says",
    arguments: [
      "Host", "Authorization", "Cookie", "Content-Type", "Content-Encoding", "Via", "Forwarded", "X-Forwarded-For", "Expect",
      "Cache-Control", "Max-Forwards", "Range", "Date",
    ])
  func protected(name: String) {
    var request = ParsedRequest("GET / HTTP/1.1\r\nConnection: close, \(name.lowercased())\r\n\(name): 1\r\n\r\n")
    #expect(request.forwarded() == [name])
  }

  @Test("Content-Length named by Connection is still counted: the framing is decided from all fields")
  func nominatedLength() {
    let request = ParsedRequest(fields: "Connection: Content-Length\r\nContent-Length: 5")
    #expect(request.framing == .success(.length(5)))
  }

  @Test("spare TE only where it says `trailers` and no more")
  func te() {
    var plain = ParsedRequest(fields: "Connection: TE\r\nTE: Trailers")
    #expect(plain.forwarded() == ["Host", "TE"])
    var mixed = ParsedRequest(fields: "Connection: TE\r\nTE: trailers, deflate;q=0.5")
    #expect(mixed.forwarded() == ["Host"])
    #expect(mixed.bytes.withUnsafeBytes { mixed.head.acceptsTrailers(in: $0) })
    let none = ParsedRequest(fields: "TE: deflate")
    #expect(!none.bytes.withUnsafeBytes { none.head.acceptsTrailers(in: $0) })
  }

  @Test("spare Upgrade where it is honoured")
  func upgrade() {
    var request = ParsedRequest(fields: "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x")
    #expect(request.forwarded(keepUpgrade: true) == ["Host", "Upgrade", "Sec-WebSocket-Key"])
    #expect(request.forwarded() == ["Host", "Sec-WebSocket-Key"])
  }

  @Test("cost little, even if Connection names thousands")
  func bounded() {
    let names = String(repeating: "a,", count: 14_000)
    var request = ParsedRequest(fields: "Connection: \(names)\r\n" + (0..<250).map { "b\($0): c" }.joined(separator: "\r\n"))
    let time = ContinuousClock().measure { #expect(request.forwarded().count == 251) }
    #expect(time < .seconds(20))
  }
}

@Suite("Persistence")
struct PersistenceTests {
  @Test(
    "of a client's connection",
    arguments: [
      ("1.1", "A: b", true), ("1.1", "Connection: keep-alive", true), ("1.1", "Connection: close", false),
      ("1.1", "Connection: foo, CLOSE", false), ("1.1", "Connection: keep-alive\r\nConnection: close", false),
      ("1.1", "Connection: closed", true), ("1.1", "Proxy-Connection: close", false), ("1.0", "A: b", false),
      ("1.0", "Connection: keep-alive", false), ("1.0", "Proxy-Connection: keep-alive", false),
    ])
  func requests(version: String, fields: String, persists: Bool) {
    let request = ParsedRequest(fields: fields, version: version)
    #expect(request.bytes.withUnsafeBytes { request.head.persists(in: $0) } == persists)
  }

  @Test(
    "of an origin's connection",
    arguments: [
      ("1.1", "A: b", true), ("1.1", "Connection: close", false), ("1.1", "Connection: x, Close", false),
      ("1.0", "A: b", false), ("1.0", "Connection: Keep-Alive", true), ("1.0", "Connection: keep-alive, close", false),
    ])
  func responses(version: String, fields: String, persists: Bool) {
    let response = ParsedResponse(fields: fields, version: version)
    #expect(response.bytes.withUnsafeBytes { response.head.persists(in: $0) } == persists)
  }
}
