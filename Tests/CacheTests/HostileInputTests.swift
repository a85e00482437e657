import HTTPWire
import Testing

@testable import Cache

/// Heads put together at random from pieces that have broken caches, and then damaged. Debug builds trap each overflow and each byte
/// outside of its buffer.
@Suite("A head that is meant to harm")
struct HostileInputTests {
  private static let names = [
    "Cache-Control", "cache-control", "Age", "Date", "Expires", "Vary", "ETag", "Last-Modified", "Content-Length",
    "Content-Range",
    "Content-Type", "Set-Cookie", "Location", "Content-Location", "Trailer", "Cache-Status", "Pragma", "Range", "If-Range",
    "If-None-Match", "If-Modified-Since", "Authorization", "Cookie", "X-User", "Accept",
  ]
  private static let pieces = [
    "max-age=", "s-maxage=", "private", "public", "no-store", "no-cache", "must-revalidate", "must-understand", "max-stale",
    "min-fresh=", "stale-if-error=", "stale-while-revalidate=", "only-if-cached", "0", "60", "-1", "99999999999999999999",
    "9223372036854775807", "\"", "\\", "\"a\"", "W/\"a\"", "*", ",", ", ", ";", "=", " ", "\t", "bytes=", "0-", "-5", "0-1,2-3",
    "18446744073709551616-", "bytes */5", "bytes 0-1/9", "Thu, 18 Aug 2050 02:01:18 GMT", "Thursday, 18-Aug-50 02:01:18 GMT",
    "Thu Aug 18 02:01:18 9999", "Mon, 01 Jan 0000 00:00:00 GMT", "/../../x?y#z", "//h", "https://h/..", "authproxy; hit",
    "text/event-stream", "cookie", "X-User", "\u{e9}",
  ]

  private static func head(_ line: String, _ random: inout Seeded) -> [UInt8] {
    var text = Array(line.utf8) + [13, 10]
    for _ in 0..<random.next() % 8 {
      text += Array(names[Int(random.next() % UInt64(names.count))].utf8) + Array(": ".utf8)
      for _ in 0..<random.next() % 7 { text += Array(pieces[Int(random.next() % UInt64(pieces.count))].utf8) }
      text += [13, 10]
    }
    if random.next() % 4 == 0 {
      let place = line.utf8.count + 2 + Int(random.next() % 60)
      if place < text.count, text[place] > 32 { text[place] = UInt8(truncatingIfNeeded: random.next() | 0x21) }
    }
    return text + [13, 10]
  }

  @Test("traps nowhere, and never makes storable what must not be stored")
  func random() {
    var random = Seeded(5)
    var (stored, refused, renewed) = (0, 0, 0)
    let statuses = [200, 200, 200, 200, 204, 206, 301, 304, 401, 403, 404, 410, 416, 500, 511]
    var last = facts("ETag: \"a\"\r\nCache-Control: max-age=60")
    for _ in 0..<20_000 {
      let status = statuses[Int(random.next() % UInt64(statuses.count))]
      let share = [CacheRules.Share.client, .everyone, .all, .credential][Int(random.next() % 4)]
      let rules = CacheRules(
        share: share, defaultLifetime: random.next() % 2 == 0 ? .heuristic : .seconds(5),
        minimumLifetime: Int64(random.next() % 2))
      let answer = Self.head("HTTP/1.1 \(status) x", &random)
      let request = Self.head("GET /a?b HTTP/1.1\r\nHost: h", &random)
      answer.withUnsafeBytes { bytes in
        var head = ResponseHead()
        guard head.parse(bytes, limit: 1 << 16) == .complete else { return }
        let facts = ResponseFacts(head, in: bytes, wall: noon)
        let times = StoredTimes(facts, rules, asked: 0, received: CacheTime(steady: second, wall: noon))
        let text = String(decoding: bytes, as: UTF8.self).lowercased()
        let plan = request.withUnsafeBytes { bytes -> RequestPlan? in
          var head = RequestHead()
          guard head.parse(bytes, limit: 1 << 16) == .complete else { return nil }
          _ = VariantReader(rules).variant(of: head.fields, in: bytes, vary: .none)
          return RequestPlan(head, in: bytes, framing: .none, rules, wall: noon)
        }
        let needs = plan?.needs ?? RequestNeeds()
        let refusal = facts.storeRefusal(rules, needs, byProxy, asked: 0, received: CacheTime(steady: second, wall: noon))
        if refusal == nil {
          stored += 1
          #expect(![206, 304, 401, 403, 511].contains(status) && !needs.noStore && !text.contains("\r\nset-cookie:"))
          if share == .everyone || share == .all { #expect(!facts.directives.flags.contains(.isPrivate)) }
          // However it is written, unless a well-formed quoted string or another word has it.
          if !text.contains("\""), !text.contains("must-understand"), text.contains("cache-control: no-store\r\n") {
            Issue.record("stored: \(text)")
          }
        } else {
          refused += 1
        }
        for now in [0, second, 100 * second, Int64.max] {
          if case .now(let left) = times.use(for: needs, now: now), needs.maxStale == nil {
            #expect(left > 0 && !needs.noCache)
          }
          _ = times.isUseless(now)
        }
        if let plan {
          switch plan.answer(from: facts, size: 10, received: noon) {
          case .part(let range): #expect(!range.isEmpty && range.lowerBound >= 0 && range.upperBound <= 10)
          default: break
          }
        }
        let paths = Invalidation.paths(head, in: bytes, target: Array("/a/b?c".utf8), bases: [Array("https://h".utf8)])
        #expect(paths.allSatisfy { $0.first == UInt8(ascii: "/") })
        if case .renewed(let newer) = last.validated(by: facts) {
          renewed += 1
          #expect(newer.status == 200 && (newer.setsCookie || !facts.setsCookie))
        }
        if status == 200 { last = facts }
        if let stored = StoredHead(relayed: bytes, name: Array("authproxy".utf8)) {
          #expect(stored.renewed(relayed: bytes, name: Array("authproxy".utf8)) != nil)
          for part in [StoredPart.whole, .part(0..<1), .notModified, .unsatisfiable] {
            #expect(written { $0.append(stored, part: part, size: 10, age: .max) }.utf8.count <= stored.sizeLimit)
          }
        }
      }
    }
    #expect(stored > 500 && refused > 5000 && renewed > 500, "\(stored) \(refused) \(renewed)")
  }
}
