import HTTPWire
import Testing

@testable import Cache

/// What a loop remembers of requests and answers says the same as what is read anew.
@Suite("What was read lately") struct RecentTests {
  private static let reader = VariantReader(CacheRules(share: .all))
  private static let fields = "User-Agent: a/1\r\nAccept: text/html\r\nAccept-Language: de\r\nSec-Fetch-Mode: cors"

  private func find(_ recent: RecentRequests, _ fields: String, _ reader: VariantReader = Self.reader) -> AskedFields? {
    withRequest(fields) { head, bytes in recent.find(reader, head.fields, in: bytes) }
  }

  @Test("is shared by requests that say the same")
  func shared() throws {
    let recent = RecentRequests()
    let first = try #require(find(recent, Self.fields))
    #expect(find(recent, Self.fields) === first)
    #expect(find(recent, Self.fields, VariantReader(CacheRules())) !== first)
  }

  @Test(
    "is not shared by requests that differ",
    arguments: [
      ("User-Agent: a/1", "User-Agent: a/2"), ("Accept: a", "Accept: b"),
      ("Accept: ab\r\nUser-Agent: c", "Accept: a\r\nUser-Agent: bc"),
      ("Accept: a", "User-Agent: a"), ("Accept: a", ""), ("Accept: a\r\nAccept: b", "Accept: b\r\nAccept: a"),
      ("Accept-Language: de", "Accept-Language: fr"), ("Sec-Fetch-Mode: a", "Sec-Fetch-Dest: a"),
    ])
  func different(one: String, other: String) throws {
    let recent = RecentRequests()
    for (first, second) in [(one, other), (other, one)] {
      let asked = try #require(find(recent, first))
      #expect(find(recent, second) !== asked)
    }
  }

  @Test(
    "has no field that may be a secret, or another one each time",
    arguments: ["Cookie: a", "Authorization: Basic x", "X-Api-Key: k", "traceparent: 00-1", "X-Request-Id: 7", "X-User: me"])
  func secrets(field: String) {
    #expect(find(RecentRequests(), Self.fields + "\r\n" + field) == nil)
    #expect(find(RecentRequests(), field) == nil)
  }

  @Test("has no credential of an app's own, whatever name it has", arguments: ["User-Agent", "accept", "Sec-Fetch-Key"])
  func ownCredential(name: String) {
    let reader = VariantReader(CacheRules(), credential: [Array(name.utf8)])
    #expect(find(RecentRequests(), "Accept-Language: de\r\n" + name.uppercased() + ": 5ecret", reader) == nil)
    #expect(find(RecentRequests(), "Accept-Language: de", reader) != nil)
  }

  @Test("has no long fields")
  func long() { #expect(find(RecentRequests(), "Accept: " + String(repeating: "a", count: 1100)) == nil) }

  @Test("tells a request apart as its own fields do, under each Vary")
  func sameVariants() throws {
    let recent = RecentRequests()
    let all: [[String]] = [
      [], ["accept-language"], ["user-agent"], ["accept", "cookie"], ["host"], ["accept-encoding"], ["dnt"],
    ]
    for share in [CacheRules.Share.client, .all] {
      let rules = CacheRules(share: share)
      let reader = VariantReader(rules)
      for fields in [Self.fields, "Accept: a, b", "Accept-Language: de", "", "User-Agent: x\r\nAccept:  a ,b"] {
        for _ in 0..<2 {
          let asked = try #require(find(recent, fields, reader))
          for vary in all {
            let names = VaryNames(vary.map { Array($0.utf8) })
            #expect(asked.variant(names) == variant(fields, rules, vary: vary), "\(fields) \(vary)")
          }
        }
      }
    }
  }

  @Test("keeps the fields that go on, and only those, for a Vary to come")
  func kept() throws {
    let store = CacheStore(limit: 1 << 20)
    let text = Array("GET /secret HTTP/1.1\r\nHost: h\r\nX-A: 1\r\nX-B: 2\r\nX-a: 3\r\n\r\n".utf8)
    try text.withUnsafeBytes { bytes in
      var head = RequestHead()
      #expect(head.parse(bytes, limit: 4096) == .complete)
      head.fields.drop(named: Array("X-B".utf8), in: bytes)
      do {
        let asked = try #require(AskedFields(Self.reader, head.fields, in: bytes, of: store))
        #expect(store.bytes > 0)
        for vary in [[], ["x-a"], ["x-b"], ["host"]] {
          let names = VaryNames(vary.map { Array($0.utf8) })
          #expect(asked.variant(names) == Self.reader.variant(of: head.fields, in: bytes, vary: names))
          #expect(asked.variant(names) == variant("X-A: 1\r\nX-a: 3", CacheRules(share: .all), vary: vary))
        }
      }
      #expect(store.bytes == 0)
      #expect(AskedFields(Self.reader, head.fields, in: bytes, of: CacheStore(limit: 64)) == nil)
    }
  }

  @Test("of answers reads them as if nothing was remembered, whatever came before")
  func heads() {
    let recent = RecentHeads()
    let lines = [
      "Cache-Control: max-age=60", "Cache-Control: max-age=61", "Cache-Control: no-store, max-age=60",
      "Cache-Control: max-age=60\r\nCache-Control: no-store", "Cache-Control: x=\"", "", "Vary: Accept", "Vary: Accept, Cookie",
      "Vary: *", "Vary: Accept\r\nVary: *", "Content-Length: 5", "Content-Length: 5, 5", "Content-Length: 1234567890123456789",
      "Content-Type: text/event-stream", "Content-Type: text/event-stream; charset=utf-8", "Content-Type: text/plain",
    ]
    for line in lines + lines.reversed() + lines {
      let text = Array("HTTP/1.1 200 OK\r\nETag: \"a\"\r\n\(line.isEmpty ? "" : line + "\r\n")\r\n".utf8)
      text.withUnsafeBytes { bytes in
        var head = ResponseHead()
        #expect(head.parse(bytes, limit: 4096) == .complete)
        let remembered = ResponseFacts(head, in: bytes, wall: noon, recent: recent)
        let anew = ResponseFacts(head, in: bytes, wall: noon)
        #expect(remembered.directives == anew.directives && remembered.length == anew.length, "\(line)")
        #expect(
          remembered.isEventStream == head.isEventStream(in: bytes) && anew.length == head.contentLength(in: bytes), "\(line)")
        #expect(names(remembered.vary) == names(anew.vary), "\(line)")
      }
    }
  }

  private func names(_ vary: VaryReading) -> [[UInt8]]? { if case .names(let names) = vary { names.names } else { nil } }
}
