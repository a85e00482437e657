import Forwarding
import HTTPWire
import Testing

@Suite struct OutboundResponseTests {
  private static func request(_ text: String, _ rules: ForwardingRules) throws
    -> OutboundRequest
  {
    try #require(try Forwarded(head(text), rules)).outbound
  }

  private struct Case {
    var name: String
    var request = "GET http://api.test/ HTTP/1.1"
    var given: String
    var rules = ForwardingTests.rules()
    var keepsClient = true
    var note: String?
    var expected: String
  }

  @Test func `a head is generated anew, and says how the body goes on`() throws {
    let cases = [
      Case(
        name: "Date is added where there is none, Via always", given: "HTTP/1.1 200 Fine\nContent-Length: 3\nX: y",
        expected: "HTTP/1.1 200 Fine\nX: y\nDate: now\nVia: 1.1 px\nContent-Length: 3\n\n"),
      Case(
        name: "the close is no end to the app", given: "HTTP/1.0 200 OK\nDate: x",
        expected: "HTTP/1.1 200 OK\nDate: x\nVia: 1.0 px\nTransfer-Encoding: chunked\n\n"),
      Case(
        name: "an old app reads to the end", request: "GET http://api.test/ HTTP/1.0",
        given: "HTTP/1.1 200 OK\nDate: x\nTransfer-Encoding: chunked",
        expected: "HTTP/1.1 200 OK\nDate: x\nVia: 1.1 px\nConnection: close\n\n"),
      Case(
        name: "close is said", given: "HTTP/1.1 200 OK\nDate: x\nContent-Length: 0", keepsClient: false,
        expected: "HTTP/1.1 200 OK\nDate: x\nVia: 1.1 px\nContent-Length: 0\nConnection: close\n\n"),
      Case(
        name: "HEAD keeps the length of what is not sent", request: "HEAD http://api.test/ HTTP/1.1",
        given: "HTTP/1.1 200 OK\nDate: x\nContent-Length: 5",
        expected: "HTTP/1.1 200 OK\nDate: x\nVia: 1.1 px\nContent-Length: 5\n\n"),
      Case(
        name: "a 204 has no length", given: "HTTP/1.1 204 No Content\nDate: x\nContent-Length: 0",
        expected: "HTTP/1.1 204 No Content\nDate: x\nVia: 1.1 px\n\n"),
      Case(
        name: "hop-by-hop fields and Alt-Svc",
        given:
          "HTTP/1.1 304\nDate: x\nConnection: x-hop\nX-Hop: 1\nProxy-Authenticate: Basic\nAlt-Svc: h3=\":443\"\nKeep-Alive: a",
        expected: "HTTP/1.1 304 \nDate: x\nVia: 1.1 px\n\n"),
      Case(
        name: "members of Proxy-Status that are forged under our name",
        given: "HTTP/1.1 304 -\nDate: x\nProxy-Status: px; error=dns_error,other;details=\"a,b\",\"PX\"\nProxy-Status: px",
        expected: "HTTP/1.1 304 -\nDate: x\nProxy-Status: other;details=\"a,b\"\nVia: 1.1 px\n\n"),
      Case(
        name: "our own says why, without error", given: "HTTP/1.1 304 -\nDate: x", note: "a \"b\" \\ ü",
        expected: "HTTP/1.1 304 -\nDate: x\nProxy-Status: px; details=\"a \\\"b\\\" \\\\ ?\"\nVia: 1.1 px\n\n"),
      Case(
        name: "what authenticates the connection says so",
        given: "HTTP/1.1 401 No\nDate: x\nContent-Length: 0\nWWW-Authenticate: NTLM",
        expected:
          "HTTP/1.1 401 No\nDate: x\nWWW-Authenticate: NTLM\nProxy-Support: Session-Based-Authentication\nVia: 1.1 px\nContent-Length: 0\n\n"
      ),
      Case(
        name: "Location, Content-Location and Link come here",
        given:
          "HTTP/1.1 304 -\nDate: x\nLocation: https://origin.test/a\nContent-Location: HTTPS://Origin.test:443\nLink: <https://origin.test/n>; rel=next",
        expected:
          "HTTP/1.1 304 -\nDate: x\nLocation: http://api.test/a\nContent-Location: http://api.test\nLink: <http://api.test/n>; rel=next\nVia: 1.1 px\n\n"
      ),
      Case(
        name: "below a wildcard to what the app asked for", given: "HTTP/1.1 304 -\nDate: x\nLocation: https://origin.test/a",
        rules: rules(to: nil), expected: "HTTP/1.1 304 -\nDate: x\nLocation: http://asked.test:81/a\nVia: 1.1 px\n\n"),
      Case(
        name: "not of hosts that no entry lists", given: "HTTP/1.1 304 -\nDate: x\nLocation: https://origin.test/a",
        rules: rules(rewritesURLs: false), expected: "HTTP/1.1 304 -\nDate: x\nLocation: https://origin.test/a\nVia: 1.1 px\n\n"
      ),
      Case(
        name: "nor where that is off",
        given: "HTTP/1.1 304 -\nDate: x\nLocation: https://origin.test/a\nLink: <https://origin.test/n>",
        rules: rules(rewrite: .init(location: false, link: false)),
        expected: "HTTP/1.1 304 -\nDate: x\nLocation: https://origin.test/a\nLink: <https://origin.test/n>\nVia: 1.1 px\n\n"),
      Case(
        name: "what Connection names is not rewritten but dropped",
        given: "HTTP/1.1 304 -\nDate: x\nConnection: link\nLink: <https://origin.test/n>",
        expected: "HTTP/1.1 304 -\nDate: x\nVia: 1.1 px\n\n"),
      Case(
        name: "cookies lose Secure where that is on",
        given: "HTTP/1.1 304 -\nDate: x\nSet-Cookie: secure=1; Secure ;Path=/\nSet-Cookie: b",
        rules: rules(rewrite: .init(secureCookies: true)),
        expected: "HTTP/1.1 304 -\nDate: x\nSet-Cookie: b\nSet-Cookie: secure=1;Path=/\nVia: 1.1 px\n\n"),
      Case(
        name: "what is decoded is another representation",
        given: "HTTP/1.1 200 OK\nDate: x\nContent-Encoding: x-gzip\nContent-Length: 9\nETag: \"a\"",
        rules: rules(decompresses: true),
        expected:
          "HTTP/1.1 200 OK\nDate: x\nETag: W/\"a\"\nVary: Accept-Encoding\nVia: 1.1 px\nTransfer-Encoding: chunked\n\n"),
      Case(
        name: "as HEAD says, too", request: "HEAD http://api.test/ HTTP/1.1",
        given: "HTTP/1.1 200 OK\nDate: x\nContent-Encoding: deflate\nContent-Length: 9\nETag: W/\"a\"\nVary: *",
        rules: rules(decompresses: true),
        expected: "HTTP/1.1 200 OK\nDate: x\nVary: *\nETag: W/\"a\"\nVia: 1.1 px\n\n"),
      Case(
        name: "not decoded for who asked for gzip", request: "GET http://api.test/ HTTP/1.1\nAccept-Encoding: gzip",
        given: "HTTP/1.1 200 OK\nDate: x\nContent-Encoding: gzip\nContent-Length: 9", rules: rules(decompresses: true),
        expected: "HTTP/1.1 200 OK\nDate: x\nContent-Encoding: gzip\nVia: 1.1 px\nContent-Length: 9\n\n"),
      Case(
        name: "nor a part",
        given: "HTTP/1.1 206 OK\nDate: x\nContent-Encoding: gzip\nContent-Length: 9", rules: rules(decompresses: true),
        expected: "HTTP/1.1 206 OK\nDate: x\nContent-Encoding: gzip\nVia: 1.1 px\nContent-Length: 9\n\n"),
      Case(
        name: "nor against the origin's no-transform",
        given: "HTTP/1.1 200 OK\nDate: x\nCache-Control: no-transform\nContent-Encoding: gzip\nContent-Length: 9",
        rules: rules(decompresses: true),
        expected:
          "HTTP/1.1 200 OK\nDate: x\nCache-Control: no-transform\nContent-Encoding: gzip\nVia: 1.1 px\nContent-Length: 9\n\n"
      ),
      Case(
        name: "interim responses have their fields, and no word about who answered",
        given: "HTTP/1.1 103 Early Hints\nLink: <https://origin.test/n>\nProxy-Status: other\nConnection: x\nX: 1",
        expected: "HTTP/1.1 103 Early Hints\nLink: <http://api.test/n>\nVia: 1.1 px\n\n"),
      Case(name: "a 100 nobody waits for", given: "HTTP/1.1 100 Continue", expected: ""),
      Case(
        name: "no interim response to HTTP/1.0", request: "GET http://api.test/ HTTP/1.0", given: "HTTP/1.1 103 Early Hints",
        expected: ""),
      Case(
        name: "101", request: "GET http://api.test/ HTTP/1.1\nConnection: upgrade\nUpgrade: websocket",
        given: "HTTP/1.1 101 Switching\nDate: x\nConnection: upgrade\nUpgrade: WebSocket",
        expected: "HTTP/1.1 101 Switching\nDate: x\nUpgrade: WebSocket\nVia: 1.1 px\nConnection: upgrade\n\n"),
    ]
    for test in cases {
      let relayed = try #require(
        try Relayed(
          head(test.given), to: Self.request(test.request, test.rules), test.rules, keepsClient: test.keepsClient,
          note: test.note),
        "\(test.name)")
      #expect(relayed.text == test.expected, "\(test.name)")
      #expect(relayed.count <= relayed.limit, "\(test.name)")
    }
  }

  @Test func `a 101 to who did not ask for it is refused`() throws {
    let plain = try Self.request("GET http://a/ HTTP/1.1", rules())
    #expect(throws: ForwardingError.unexpectedUpgrade) {
      try Relayed(head("HTTP/1.1 101 -\nConnection: upgrade\nUpgrade: websocket"), to: plain, rules())
    }
    let upgrade = try Self.request("GET http://a/ HTTP/1.1\nConnection: upgrade\nUpgrade: websocket", rules())
    #expect(throws: ForwardingError.unexpectedUpgrade) {
      try Relayed(head("HTTP/1.1 101 -\nConnection: upgrade\nUpgrade: h2c"), to: upgrade, rules())
    }
  }

  /// An origin that is given the app's authority writes URLs with it.
  @Test(arguments: [
    ("http://asked.test:81/api/x", "http://api.test/v1/x"), ("https://ASKED.test:81/api", "http://api.test/v1"),
    ("https://origin.test/api/x", "http://api.test/v1/x"), ("https://asked.test/api/x", "http://api.test/v1/x"),
    ("//asked.test:81/api/x", "//api.test/v1/x"), ("http://asked.test/api/x", nil), ("http://asked.test:82/api/x", nil),
    ("http://asked.test.evil:81/api/x", nil), ("http://asked.test:81/x", nil),
  ]) func `host_header app makes URLs with the app's authority the origin's`(url: String, expected: String?) throws {
    for keepsHost in [true, false] {
      let rules = ForwardingRules(
        name: ProxyName("px"), credentialField: nil, keepsHost: keepsHost, rewriteTo: "http://api.test",
        paths: PathExchange(match: "/v1", origin: "/api"))
      let isExpected = keepsHost || url.hasPrefix("https://origin")
      let relayed = try #require(
        try Relayed(head("HTTP/1.1 302 Found\nLocation: \(url)\nContent-Length: 0"), to: OutboundRequest(), rules))
      #expect(relayed.text.contains("Location: \(isExpected ? expected ?? url : url)\n"), "\(relayed.text)")
      #expect(relayed.count <= relayed.limit)
    }
  }
}
