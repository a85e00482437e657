import Forwarding
import HTTPWire
import Testing

@Suite struct OutboundRequestTests {
  private struct Case {
    var name: String
    var given: String
    var rules = ForwardingTests.rules()
    var expected: String
  }

  @Test func `a head is generated anew: names and values as they came, the rest of our own`() throws {
    let cases = [
      Case(
        name: "the origin's Host, Via last",
        given: "GET http://api.test/a?b HTTP/1.1\nHost: other.test\nAccept:  x \nX-A:",
        expected: "GET /a?b HTTP/1.1\nHost: origin.test\nAccept: x\nX-A: \nVia: 1.1 px\n"),
      Case(
        name: "host_header: app", given: "GET http://API.test:80 HTTP/1.1\nHost: other.test", rules: rules(keepsHost: true),
        expected: "GET / HTTP/1.1\nHost: API.test:80\nVia: 1.1 px\n"),
      Case(
        name: "HTTP/1.0 is said in Via", given: "GET http://api.test/ HTTP/1.0\nVia: 1.1 one",
        expected: "GET / HTTP/1.1\nHost: origin.test\nVia: 1.1 one\nVia: 1.0 px\n"),
      Case(
        name: "OPTIONS without a path", given: "OPTIONS http://api.test HTTP/1.1\nHost: a\nMax-Forwards: 3",
        expected: "OPTIONS * HTTP/1.1\nHost: origin.test\nMax-Forwards: 2\nVia: 1.1 px\n"),
      Case(
        name: "Max-Forwards of other methods is none of ours", given: "GET http://api.test/ HTTP/1.1\nMax-Forwards: 0",
        expected: "GET / HTTP/1.1\nHost: origin.test\nMax-Forwards: 0\nVia: 1.1 px\n"),
      Case(
        name: "hop-by-hop fields",
        given: "GET http://api.test/ HTTP/1.1\nConnection: close, x-hop\nX-Hop: 1\nProxy-Authorization: Basic x",
        expected: "GET / HTTP/1.1\nHost: origin.test\nVia: 1.1 px\n"),
      Case(
        name: "TE with its Connection", given: "GET http://api.test/ HTTP/1.1\nTE: trailers\nConnection: TE",
        expected: "GET / HTTP/1.1\nHost: origin.test\nVia: 1.1 px\nTE: trailers\nConnection: TE\n"),
      Case(
        name: "the framing is stated once", given: "POST http://api.test/ HTTP/1.1\nContent-Length: 3, 3\nExpect: 100-continue",
        expected: "POST / HTTP/1.1\nHost: origin.test\nVia: 1.1 px\nContent-Length: 3\n"),
      Case(
        name: "chunked", given: "POST http://api.test/ HTTP/1.1\nTransfer-Encoding: chunked\nTrailer: X-Sum",
        expected: "POST / HTTP/1.1\nHost: origin.test\nTrailer: X-Sum\nVia: 1.1 px\nTransfer-Encoding: chunked\n"),
      Case(
        name: "WebSocket",
        given: "GET http://api.test/ HTTP/1.1\nConnection: Upgrade\nUpgrade: WebSocket\nSec-WebSocket-Key: x",
        expected:
          "GET / HTTP/1.1\nHost: origin.test\nUpgrade: WebSocket\nSec-WebSocket-Key: x\nVia: 1.1 px\nConnection: upgrade\n"),
      Case(
        name: "no other protocol", given: "GET http://api.test/ HTTP/1.1\nConnection: Upgrade, HTTP2-Settings\nUpgrade: h2c",
        expected: "GET / HTTP/1.1\nHost: origin.test\nVia: 1.1 px\n"),
      Case(
        name: "of several the one",
        given: "GET http://api.test/ HTTP/1.1\nConnection: Upgrade\nUpgrade: websocket, h2c\nUpgrade: x/1\nAccept: a",
        expected: "GET / HTTP/1.1\nHost: origin.test\nAccept: a\nVia: 1.1 px\nUpgrade: websocket\nConnection: upgrade\n"),
      Case(
        name: "settings of HTTP/2, whoever names them",
        given: "GET http://api.test/ HTTP/1.1\nHTTP2-Settings: AAMAAABk\nHttp2-settings: x\nAccept: a",
        expected: "GET / HTTP/1.1\nHost: origin.test\nAccept: a\nVia: 1.1 px\n"),
      Case(
        name: "none over HTTP/2",
        given: "GET http://api.test/ HTTP/1.1\nConnection: Upgrade\nUpgrade: websocket\nSec-WebSocket-Key: x",
        rules: rules(dropsUpgrade: true),
        expected: "GET / HTTP/1.1\nHost: origin.test\nSec-WebSocket-Key: x\nVia: 1.1 px\n"),
      Case(
        name: "no upgrade with a body",
        given: "POST http://api.test/ HTTP/1.1\nConnection: Upgrade\nUpgrade: websocket\nContent-Length: 1",
        expected: "POST / HTTP/1.1\nHost: origin.test\nVia: 1.1 px\nContent-Length: 1\n"),
      Case(
        name: "the app's credential goes, however it is spelled",
        given: "GET http://api.test/ HTTP/1.1\nX_API-Key: mine\nx-api_KEY: mine\nX-Api-Keys: other",
        rules: rules(credential: "X-API-Key"),
        expected: "GET / HTTP/1.1\nHost: origin.test\nX-Api-Keys: other\nVia: 1.1 px\n"),
      Case(
        name: "kept", given: "GET http://api.test/ HTTP/1.1\nauthorization: mine",
        rules: rules(credential: "Authorization", .keep),
        expected: "GET / HTTP/1.1\nHost: origin.test\nauthorization: mine\nVia: 1.1 px\n"),
      Case(
        name: "decompress asks for gzip", given: "GET http://api.test/ HTTP/1.1\nAccept-Encoding: br",
        rules: rules(decompresses: true),
        expected: "GET / HTTP/1.1\nHost: origin.test\nAccept-Encoding: gzip\nVia: 1.1 px\n"),
      Case(
        name: "not where the app asks itself", given: "GET http://api.test/ HTTP/1.1\nAccept-Encoding: br, GZIP",
        rules: rules(decompresses: true),
        expected: "GET / HTTP/1.1\nHost: origin.test\nAccept-Encoding: br, GZIP\nVia: 1.1 px\n"),
      Case(
        name: "nor for a part", given: "GET http://api.test/ HTTP/1.1\nRange: bytes=0-1", rules: rules(decompresses: true),
        expected: "GET / HTTP/1.1\nHost: origin.test\nRange: bytes=0-1\nVia: 1.1 px\n"),
      Case(
        name: "nor against no-transform", given: "GET http://api.test/ HTTP/1.1\nCache-Control: no-transform",
        rules: rules(decompresses: true),
        expected: "GET / HTTP/1.1\nHost: origin.test\nCache-Control: no-transform\nVia: 1.1 px\n"),
    ]
    for test in cases {
      let forwarded = try #require(try Forwarded(head(test.given), test.rules), "\(test.name)")
      #expect(forwarded.text == test.expected, "\(test.name)")
      #expect(forwarded.count <= forwarded.limit, "\(test.name)")
    }
  }

  @Test func `what the answer is written by is known from the request`() throws {
    let kept = try #require(
      try Forwarded(head("GET http://a/ HTTP/1.1\nAuthorization: a"), rules(credential: "Authorization", .keep)))
    #expect(!kept.outbound.sendsCredential)
    let own = try #require(try Forwarded(head("GET http://a/ HTTP/1.1\nX: a"), rules(credential: "Authorization", .keep)))
    #expect(own.outbound.sendsCredential && !own.outbound.isUpgrade)
    let none = try #require(try Forwarded(head("GET http://a/ HTTP/1.0\nAuthorization: NTLM abc"), rules()))
    #expect(!none.outbound.sendsCredential && none.outbound.authenticatesConnection && !none.outbound.isHTTP11)
    let replaced = try #require(
      try Forwarded(head("GET http://a/ HTTP/1.1\nAuthorization: NTLM abc"), rules(credential: "Authorization")))
    #expect(!replaced.outbound.authenticatesConnection)
  }

  @Test func `the origin's port is said where it is not the scheme's own, and addresses have their brackets`() throws {
    let cases: [(Bool, String, UInt16, String)] = [
      (false, "a.test", 80, "a.test"), (true, "a.test", 80, "a.test:80"), (true, "::1", 443, "[::1]"),
      (false, "::1", 81, "[::1]:81"),
    ]
    for (isTLS, host, port, expected) in cases {
      let origin = OriginAuthority(isTLS: isTLS, host: host, port: port)
      let forwarded = try #require(try Forwarded(head("GET http://b/ HTTP/1.1\nHost: b"), to: origin, rules()))
      #expect(forwarded.text == "GET / HTTP/1.1\nHost: \(expected)\nVia: 1.1 px\n")
    }
  }

  @Test(arguments: [
    ("Via: 1.1 one, 1.0 PX (comment)", ForwardingError.loop), ("Expect: 200-ok", .unknownExpectation),
    ("X_Api_Key: mine", .credentialFromApp),
  ])
  func `some are not forwarded`(field: String, error: ForwardingError) {
    #expect(throws: error) {
      try Forwarded(head("GET http://api.test/ HTTP/1.1\n\(field)"), rules(credential: "X-API-Key", .reject))
    }
  }

  @Test func `at Max-Forwards 0 the request is the proxy's own to answer`() {
    let cases: [(String, Int?, String)] = [
      ("OPTIONS http://a/ HTTP/1.1\nMax-Forwards: 0", 200, ""), ("OPTIONS http://a/ HTTP/1.1\nMax-Forwards: 1", nil, ""),
      ("GET http://a/ HTTP/1.1\nMax-Forwards: 0", nil, ""), ("OPTIONS http://a/ HTTP/1.1\nMax-Forwards: x", nil, ""),
      (
        "TRACE http://a/ HTTP/1.1\nMax-Forwards: 0\nCookie: secret\nX: y", 200,
        "TRACE http://a/ HTTP/1.1\nMax-Forwards: 0\nX: y\n\n"
      ),
    ]
    for (given, status, body) in cases {
      var parsed = RequestHead()
      let answer = head(given).withUnsafeBytes { bytes in
        _ = parsed.parse(bytes, limit: 1 << 16)
        return parsed.endsHere(in: bytes) ? OwnAnswer(toLastHop: parsed, in: bytes) : nil
      }
      #expect(answer?.status == status, "\(given)")
      #expect(lines((answer?.body ?? "").utf8) == body, "\(given)")
    }
  }
}
