import Foundation
import Testing

/// Fields of origins that make no sense, or that are meant to harm.
@Suite struct CacheHostileOriginTests {
  private let origin: Origin
  init() throws { origin = try Origin.shared() }

  private static let fresh = "Cache-Control: max-age=600"

  /// Whether the second request gets the first one's answer.
  @Test(arguments: [
    ("Cache-Control: max-age", false), ("Cache-Control: max-age=", false), ("Cache-Control: max-age=-1", false),
    ("Cache-Control: max-age=1.5", false), ("Cache-Control: max-age=600x", false), ("Cache-Control: max-age=0x600", false),
    ("Cache-Control: max-age=99999999999999999999", true), ("Cache-Control: MAX-AGE=600", true),
    ("Cache-Control: max-age=600, max-age=0", true), ("Cache-Control: max-age=0, max-age=600", false),
    ("Cache-Control: ,, ,max-age=600,,", true), ("Cache-Control: max-age=600, no-store=\"x\"", false),
    ("Cache-Control: max-age=600, NO-STORE", false), ("Cache-Control: max-age=600\r\nCache-Control: no-store", false),
    ("Cache-Control: x=\"max-age=600\"", false), ("Cache-Control: x=\", max-age=600", false),
    ("Cache-Control: max-age=600\r\nAge: 601", false), ("Cache-Control: max-age=600\r\nAge: 99999999999999999999", false),
    ("Cache-Control: max-age=600\r\nAge: 601, 0", false), ("Cache-Control: max-age=600\r\nAge: 5", true),
    ("Expires: 0", false), ("Expires: -1", false), ("Expires: Thu, 99 Foo 2050 00:00:00 GMT", false),
    ("Expires: Thu, 01 Jan 1970 00:00:00 GMT", false), ("Expires: Thu, 18 Aug 2050 02:01:18 GMT", true),
    ("Expires: Thu, 18 Aug 2050 02:01:18 GMT\r\nExpires: 0", false),
    ("Cache-Control: max-age=0\r\nExpires: Thu, 18 Aug 2050 02:01:18 GMT", false),
    ("Cache-Control: max-age=x\r\nExpires: Thu, 18 Aug 2050 02:01:18 GMT", false),
    ("Cache-Control: max-age=600\r\nVary: *", false), ("Cache-Control: max-age=600\r\nVary: Accept, *", false),
    ("Cache-Control: max-age=600\r\nVary: ,,", true), ("Cache-Control: max-age=600\r\nVary: X-\u{e9}", false),
    ("Cache-Control: max-age=600\r\nSet-Cookie:", false),
  ])
  func `what cannot be read is never fresh`(_ fields: String, _ isHit: Bool) throws {
    let name = Origin.newName()
    try origin.answers(name, fields)
    try withProxy(try Configuration.https("cache: {}")) { proxy throws in
      let url = "http://api.test/?id=\(name)"
      #expect(try proxy.ask(url).text == "first")
      let again = try proxy.ask(url)
      #expect(again.text == (isHit ? "first" : "second"), "\(again.cacheStatus ?? "none")")
    }
  }

  @Test func `a Vary of 40 names is not stored, one of 16 is`() throws {
    for (count, isStored) in [(40, false), (17, false), (16, true)] {
      let name = Origin.newName()
      try origin.answers(name, Self.fresh, "Vary: " + (0..<count).map { "X-Part-\($0)" }.joined(separator: ", "))
      try withProxy(try Configuration.https("cache: {}")) { proxy throws in
        let answer = try proxy.ask("http://api.test/?id=\(name)")
        #expect(answer.cacheStatus == (isStored ? "fwd=uri-miss; stored" : "fwd=uri-miss; detail=vary"), "\(count)")
      }
    }
  }

  @Test func `a URI has at most 32 answers, and then the oldest goes`() throws {
    let name = Origin.newName()
    try origin.script(name, [.readBody, .send("HTTP/1.1 200 OK\r\n\(Self.fresh)\r\nContent-Length: 2\r\n\r\nok")])
    try withProxy(try Configuration.https("cache: {}", top: "threads: 1\nadmin: 127.0.0.1:0")) { proxy throws in
      func isHit(_ user: Int) throws -> Bool {
        try proxy.ask("http://api.test/?id=\(name)", ["X-User: \(user)"]).cacheStatus?.hasPrefix("hit") == true
      }
      for user in 0..<200 { #expect(try !isHit(user)) }
      #expect(try proxy.metric("authproxy_cache_objects") == 32)
      for user in 168..<200 { #expect(try isHit(user)) }
      #expect(try !isHit(167))
    }
  }

  @Test(arguments: ["206 Partial Content", "200 OK"])
  func `a Content-Range that nobody has asked for makes no part of a whole`(_ status: String) throws {
    let name = Origin.newName()
    let answer = "HTTP/1.1 \(status)\r\n\(Self.fresh)\r\nContent-Range: bytes 0-4/1000\r\nContent-Length: 5\r\n\r\nfirst"
    try origin.script(name, [.readBody, .send(answer)])
    try withProxy(try Configuration.https("cache: {}")) { proxy throws in
      let url = "http://api.test/?id=\(name)"
      #expect(try proxy.ask(url).text == "first")
      let again = try proxy.ask(url, ["Range: bytes=1-2"])
      if status.hasPrefix("200") {
        #expect(again.status == 206 && again.text == "ir" && again.all("Content-Range") == ["bytes 1-2/5"], "\(again.head)")
      } else {
        #expect(try origin.exchanges(name).count == 2)
        #expect(again.cacheStatus?.hasPrefix("hit") == false)
      }
    }
  }

  @Test(arguments: [
    "authproxy; hit; ttl=999", "authproxy; hit, cdn; hit; ttl=3", "cdn; hit; ttl=3,authproxy;hit", "\"authproxy\"; hit",
    "authproxy", "authproxy; key=\"a, authproxy; hit\"", "\"authproxy", ",,authproxy; hit,,",
  ])
  func `a Cache-Status that pretends to be ours is removed, others stay`(_ forged: String) throws {
    let name = Origin.newName()
    try origin.answers(name, Self.fresh, "Cache-Status: \(forged)")
    try withProxy(try Configuration.https("cache: {}")) { proxy throws in
      let url = "http://api.test/?id=\(name)"
      for expected in ["authproxy; fwd=uri-miss; stored", "authproxy; hit; ttl="] {
        let said = try proxy.ask(url).all("Cache-Status")
        let members = said.joined(separator: ", ")
        #expect(said.last?.hasPrefix(expected) == true, "\(said)")
        #expect(members.components(separatedBy: "authproxy").count == 2, "\(said)")
        if forged.contains("cdn") { #expect(members.contains("cdn; hit; ttl=3"), "\(said)") }
      }
    }
  }

  @Test func `ranges that cost more than they bring are answered with the whole, or pass`() throws {
    let bombs = [
      "bytes=" + (0..<2000).map { "\($0 % 10)-\($0 % 10)" }.joined(separator: ","), "bytes=0-,0-,0-,0-,0-", "bytes=5-2",
      "bytes=a-b", "bytes=-", "bytes=", "items=0-1", "bytes=0-1,", "bytes 0-1",
      "bytes=18446744073709551617-18446744073709551618",
      "bytes=-0", "bytes=0-18446744073709551617", "bytes=-18446744073709551617", "BYTES=0-0",
    ]
    let name = Origin.newName()
    try origin.answers(name, Self.fresh, "Accept-Ranges: bytes", bodies: ["0123456789"])
    try withProxy(try Configuration.https("cache: {}", top: "admin: 127.0.0.1:0")) { proxy throws in
      let url = "http://api.test/?id=\(name)"
      // A miss passes as it came, and leaves nothing.
      for (number, bomb) in bombs.enumerated() {
        #expect(try proxy.ask(url + "&\(number)", ["Range: \(bomb)"]).text == "0123456789")
        #expect(try origin.exchanges(name).last?["Range"] == bomb)
      }
      #expect(try proxy.metric("authproxy_cache_objects") == 0)
      _ = try proxy.ask(url)
      let asked = try origin.exchanges(name).count
      for bomb in bombs {
        let answer = try proxy.ask(url, ["Range: \(bomb)"])
        switch answer.status {
        case 200: #expect(answer.text == "0123456789", "\(bomb)")
        case 206:
          #expect(["bytes 0-9/10", "bytes 0-0/10", "bytes 0-1/10"].contains(answer["Content-Range"]), "\(bomb.prefix(50))")
        default: #expect(answer.status == 416 && answer.body.isEmpty && answer["Content-Range"] == "bytes */10", "\(bomb)")
        }
      }
      #expect(try origin.exchanges(name).count == asked)
    }
  }
}
