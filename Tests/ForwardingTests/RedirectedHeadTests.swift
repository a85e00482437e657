import Forwarding
import HTTPWire
import Testing

@Suite struct RedirectedHeadTests {
  private static let sent = """
    POST http://api.test/start?x HTTP/1.1
    Host: api.test
    proxy-authorization: Basic cHctNWVjcmV0
    Authorization: Bearer mine-5ecret
    Cookie: a=5ecret
    COOKIE: b=5ecret
    x_api_key: 5ecret
    X-Api-Keys: kept
    Content-Type: text/plain
    Content_Language: en
    Content-Length: 3
    Digest: sha-256=x
    Repr-Digest: sha-256=:x:
    Trailer: X-Sum
    Expect: 100-continue
    Last-Modified: x
    Accept:  */*
    Range: bytes=0-1
    Contented: yes
    Connection: X-Api-Keys
    """

  @Test func `at the same entry the app's fields stay, and Host is the target's`() throws {
    let text = try redirected(Self.sent, "PUT", "https://api.test:8443/next?y=1")
    #expect(
      text.hasPrefix("PUT https://api.test:8443/next?y=1 HTTP/1.1\nHost: api.test:8443\nAuthorization: Bearer mine-5ecret\n"))
    let stayed = Self.sent.split(separator: "\n").dropFirst(3)
    let lines = text.split(separator: "\n").dropFirst(2)
    #expect(lines.map { $0.replacing(" ", with: "") } == stayed.map { $0.replacing(" ", with: "") })
  }

  @Test func `without content the fields that describe it go`() throws {
    let text = try redirected(Self.sent, "GET", "http://api.test", dropsContent: true)
    #expect(
      text == """
        GET http://api.test/ HTTP/1.1
        Host: api.test
        Authorization: Bearer mine-5ecret
        Cookie: a=5ecret
        COOKIE: b=5ecret
        x_api_key: 5ecret
        X-Api-Keys: kept
        Accept: */*
        Range: bytes=0-1
        Contented: yes
        Connection: X-Api-Keys


        """)
  }

  @Test func `at another entry Authorization, Cookie and all fields of credentials go, however they are spelled`() throws {
    let text = try redirected(
      Self.sent, "GET", "https://[2001:db8::1]/x", dropsContent: true, withheld: ["X-Api-Key", "X-Unknown"])
    #expect(!text.contains("5ecret"))
    #expect(text.hasPrefix("GET https://[2001:db8::1]/x HTTP/1.1\nHost: [2001:db8::1]\nX-Api-Keys: kept\nAccept: */*\n"))
  }

  @Test func `a body that leaves with its length has no trailers`() throws {
    let text = try redirected(Self.sent, "POST", "http://api.test/", dropsTrailer: true)
    #expect(!text.contains("Trailer") && text.contains("Content-Length: 3"))
  }

  @Test func `an app without Host gets one, and keeps its version`() throws {
    let text = try redirected("GET http://api.test/ HTTP/1.0\nA: b", "GET", "http://api.test:8080/x")
    #expect(text == "GET http://api.test:8080/x HTTP/1.0\nHost: api.test:8080\nA: b\n\n")
  }

  @Test(
    arguments: [
      ("Referer: http://api.test/a?b#c", "https://cdn.test/", "Referer: http://api.test/"),
      ("referer: https://API.test:443/a", "https://cdn.test/", "referer: https://api.test/"),
      ("Referer: https://api.test:444/a", "https://cdn.test/", "Referer: https://api.test:444/"),
      ("Referer: https://api.test/a", "http://cdn.test/", nil),
      ("Referer: http://api.test/a", "http://cdn.test/", "Referer: http://api.test/"),
      ("Referer: http://u:p@api.test/", "https://cdn.test/", nil), ("Referer: /a", "https://cdn.test/", nil),
      ("Referer:", "https://cdn.test/", nil), ("Origin: http://api.test", "https://cdn.test/", "Origin: http://api.test"),
      ("Origin: http://api.test/x", "https://cdn.test/", "Origin: null"),
      ("Origin: https://api.test", "https://cdn.test/", "Origin: null"),
      ("Origin: http://api.test http://b.test", "https://cdn.test/", "Origin: null"),
      ("Origin: null", "https://cdn.test/", "Origin: null"),
      ("Origins: x", "https://cdn.test/", "Origins: x"),
    ] as [(String, String, String?)])
  func `at another entry, where the app comes from has no path`(_ field: String, _ url: String, _ expected: String?) throws {
    let sent = "GET http://api.test/ HTTP/1.1\n" + field
    let text = try redirected(sent, "GET", url, withheld: [])
    #expect(text.split(separator: "\n").dropFirst(2).first.map { String($0) } == expected, "\(text)")
    let stays = try redirected(sent, "GET", url)
    #expect(stays.split(separator: "\n").dropFirst(2).first?.replacing(" ", with: "") == field.replacing(" ", with: "")[...])
  }

  @Test func `behind another host, Origin is null`() throws {
    let text = try redirected(
      "GET http://api.test/ HTTP/1.1\nOrigin: http://api.test", "GET", "https://cdn.test/", withheld: [], origin: nil)
    #expect(text.contains("Origin: null\n"))
  }

  @Test func `validators are not asked of another resource`() throws {
    let conditions = [
      "If-None-Match: \"1\"", "if-modified-since: x", "If-Match: \"2\"", "If_None_Match: \"3\"", "IF_UNMODIFIED_SINCE: y",
    ]
    let sent = (["PUT http://api.test/ HTTP/1.1"] + conditions + ["Range: bytes=0-1"]).joined(separator: "\n")
    #expect(try redirected(sent, "GET", "http://api.test/b").hasSuffix("Host: api.test\nRange: bytes=0-1\n\n"))
    for range in ["If-Range", "if_range"] {
      #expect(try redirected("\(sent)\n\(range): \"1\"", "HEAD", "http://api.test/b").hasSuffix("Host: api.test\n\n"))
    }
    #expect(try redirected(sent, "PUT", "http://api.test/b").contains(conditions.joined(separator: "\n")))
  }

  private func redirected(
    _ sent: String, _ method: String, _ url: String, dropsContent: Bool = false, dropsTrailer: Bool = false,
    withheld: [String]? = nil, origin: String? = "http://api.test"
  ) throws -> String {
    let plan = RedirectedHead(
      method: method, url: try HTTPURL(url), dropsContent: dropsContent, dropsTrailer: dropsTrailer,
      departure: withheld.map { .init(withheld: $0.map { Array($0.utf8) }, isHTTPS: url.hasPrefix("https"), origin: origin) })
    let text = head(sent).withUnsafeBytes { bytes -> [UInt8] in
      var head = RequestHead()
      guard case .complete = head.parse(bytes, limit: bytes.count) else { return [] }
      return plan.text(of: head, in: bytes)
    }
    var again = RequestHead()
    let isHead = text.withUnsafeBytes { again.parse($0, limit: $0.count) == .complete }
    #expect(isHead)
    return lines(text)
  }
}
