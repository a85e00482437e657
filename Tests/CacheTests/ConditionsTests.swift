import HTTPWire
import Testing

@testable import Cache

@Suite("A condition of the app")
struct ConditionsTests {
  private func isMet(_ request: String, _ answer: String, status: Int = 200) -> Bool {
    plan(request).condition.isMet(by: facts(answer, status: status), received: noon)
  }

  @Test(
    "by entity tag is met weakly",
    arguments: [
      ("\"a\"", "\"a\"", true), ("W/\"a\"", "\"a\"", true), ("\"a\"", "W/\"a\"", true), ("W/\"a\"", "W/\"a\"", true),
      ("\"a\"", "\"b\"", false), ("\"x\", \"a\"", "\"a\"", true), ("\"a\", \"x\"", "\"a\"", true),
      ("\"x\",\"a\" , \"y\"", "\"a\"", true),
      ("*", "\"a\"", true), ("*", "", true), ("a", "\"a\"", false), ("\"a\"", "a", false), ("\"a\"", "", false),
      ("\"A\"", "\"a\"", false),
      ("w/\"a\"", "\"a\"", false), ("\"a", "\"a\"", false), ("\"a\\\"", "\"a\\\"", true), ("\"a,b\"", "\"a,b\"", true),
      ("\"é\"", "\"é\"", true), ("\"x\"\r\nIf-None-Match: \"a\"", "\"a\"", true), ("", "\"a\"", false),
      ("\"a\"b", "\"a\"", false),
      ("\"\"", "\"\"", true),
    ])
  func tag(condition: String, tag: String, expected: Bool) {
    #expect(isMet("If-None-Match: \(condition)", tag.isEmpty ? "" : "ETag: \(tag)") == expected)
  }

  @Test("by date is met if the answer is not newer")
  func date() {
    let modified = "Last-Modified: \(CacheTests.date(-100))"
    #expect(isMet("If-Modified-Since: \(CacheTests.date(-100))", modified))
    #expect(isMet("If-Modified-Since: \(CacheTests.date(-50))", modified))
    #expect(!isMet("If-Modified-Since: \(CacheTests.date(-101))", modified))
    #expect(!isMet("If-Modified-Since: yesterday", modified))
    #expect(!isMet("If-Modified-Since: \(CacheTests.date())\r\nIf-Modified-Since: \(CacheTests.date())", modified))
    // Without Last-Modified: Date, then the receipt (RFC 9111 section 4.3.2).
    #expect(isMet("If-Modified-Since: \(CacheTests.date(-10))", "Date: \(CacheTests.date(-10))"))
    #expect(!isMet("If-Modified-Since: \(CacheTests.date(-11))", "Date: \(CacheTests.date(-10))"))
    #expect(isMet("If-Modified-Since: \(CacheTests.date())", ""))
    #expect(!isMet("If-Modified-Since: \(CacheTests.date(-1))", ""))
  }

  @Test("by entity tag comes before one by date, also if it cannot be read")
  func precedence() {
    let answer = "ETag: \"a\"\r\nLast-Modified: \(CacheTests.date(-100))"
    #expect(!isMet("If-None-Match: \"b\"\r\nIf-Modified-Since: \(CacheTests.date())", answer))
    #expect(!isMet("If-None-Match: b\r\nIf-Modified-Since: \(CacheTests.date())", answer))
    #expect(isMet("If-None-Match: \"a\"\r\nIf-Modified-Since: \(CacheTests.date(-1000))", answer))
  }

  @Test("counts for 200 only", arguments: [204, 301, 404, 410, 500])
  func status(status: Int) {
    #expect(!isMet("If-None-Match: *", "ETag: \"a\"", status: status))
    #expect(!isMet("If-Modified-Since: \(CacheTests.date())", "", status: status))
  }

  @Test(
    "that only an origin evaluates goes by the store", arguments: ["If-Match: *", "If-Match: \"a\"", "If-Unmodified-Since: x"])
  func origin(field: String) {
    #expect(plan(field).pass == .bypass)
  }
}

@Suite("A 304 to a validation")
struct ValidationTests {
  private func isRenewed(_ stored: String, _ answer: String) -> Bool {
    switch facts(stored).validated(by: facts(answer, status: 304)) {
    case .renewed: true
    case .mismatch: false
    }
  }

  @Test("renews the answer that it is about, and no other")
  func selects() {
    #expect(isRenewed("ETag: \"a\"", "ETag: \"a\""))
    #expect(isRenewed("ETag: \"a\"", ""))
    #expect(isRenewed("ETag: W/\"a\"", "ETag: W/\"a\""))
    #expect(isRenewed("ETag: \"a\"", "ETag: W/\"a\""))
    #expect(!isRenewed("ETag: \"a\"", "ETag: \"b\""))
    #expect(!isRenewed("Last-Modified: \(date(-10))", "ETag: \"b\""))
    #expect(isRenewed("Last-Modified: \(date(-10))", "Last-Modified: \(date(-10))"))
    #expect(!isRenewed("Last-Modified: \(date(-10))", "Last-Modified: \(date(-5))"))
    #expect(isRenewed("Last-Modified: \(date(-10))", ""))
    // Without an entity tag it is about another version if it says another date, for example behind a restored backup.
    #expect(!isRenewed("ETag: \"a\"\r\nLast-Modified: \(date(-10))", "Last-Modified: \(date(-20))"))
    #expect(isRenewed("ETag: \"a\"\r\nLast-Modified: \(date(-10))", "ETag: \"a\"\r\nLast-Modified: \(date(-5))"))
  }

  @Test("brings newer facts, and leaves those that it does not have")
  func facts304() {
    let old = facts("Cache-Control: max-age=1, must-revalidate\r\nDate: \(date(-100))\r\nAge: 50\r\nETag: \"a\"\r\nVary: X")
    guard case .renewed(let new) = old.validated(by: facts("Cache-Control: max-age=60\r\nDate: \(date())", status: 304)) else {
      Issue.record("no match")
      return
    }
    let times = StoredTimes(new, CacheRules(), asked: 0, received: CacheTime(steady: 0, wall: noon))
    #expect(new.status == 200 && times.lifetime == 60 && times.initialAge == 0 && !times.neverStale && new.tag == old.tag)
    guard case .renewed(let same) = old.validated(by: facts("Date: \(date())", status: 304)) else { return }
    #expect(same.directives == old.directives && same.date == noon && same.age == 0)
    guard case .names(let vary) = same.vary else { return }
    #expect(vary.names == [Array("x".utf8)])
  }

  @Test("may forbid to keep the answer")
  func forbids() {
    let old = facts("Cache-Control: public, max-age=1\r\nETag: \"a\"")
    for (text, expected) in [("no-store", StoreRefusal.noStore), ("private", .isPrivate)] {
      guard case .renewed(let new) = old.validated(by: facts("Cache-Control: \(text)", status: 304)) else { continue }
      let refusal = new.storeRefusal(
        CacheRules(share: .everyone), RequestNeeds(), byProxy, asked: 0, received: CacheTime(steady: 0, wall: noon))
      #expect(refusal == expected)
    }
  }

  @Test("`that sets a cookie ends the storage: no later request gets it`", arguments: ["Set-Cookie", "set-cookie2"])
  func cookie(name: String) {
    for share in [CacheRules.Share.client, .everyone, .all, .credential] {
      let rules = CacheRules(share: share)
      let old = facts("Cache-Control: public, max-age=1\r\nETag: \"a\"")
      guard case .renewed(let new) = old.validated(by: facts("\(name): session=1", status: 304)) else {
        Issue.record("no match")
        return
      }
      let received = CacheTime(steady: 0, wall: noon)
      #expect(new.storeRefusal(rules, RequestNeeds(), byProxy, asked: 0, received: received) == .setCookie)
      // Nor does a 304 without one give it back.
      guard case .renewed(let again) = new.validated(by: facts("", status: 304)) else { return }
      #expect(again.storeRefusal(rules, RequestNeeds(), byProxy, asked: 0, received: received) == .setCookie)
    }
  }

  @Test("asks with the validators of the store, as the origin wrote them")
  func writes() {
    let stored = facts("ETag: W/\"a\"\r\nLast-Modified: Sunday, 06-Nov-94 08:49:37 GMT")
    let text = written { $0.append(validationOf: stored) }
    #expect(text == "If-None-Match: W/\"a\"\r\nIf-Modified-Since: Sunday, 06-Nov-94 08:49:37 GMT\r\n")
    #expect(text.utf8.count <= ByteWriter.validationSize(of: stored))
    #expect(written { $0.append(validationOf: facts("ETag: a\r\nLast-Modified: x")) }.isEmpty)
  }

  @Test("comes from a HEAD, too: same validators and length, or the stored answer is dropped")
  func head() {
    let stored = facts("ETag: \"a\"\r\nLast-Modified: \(date(-10))")
    let same = "ETag: \"a\"\r\nLast-Modified: \(date(-10))"
    #expect(stored.isRenewed(byHead: facts(same + "\r\nContent-Length: 5"), size: 5))
    #expect(stored.isRenewed(byHead: facts(same), size: 5))
    #expect(!stored.isRenewed(byHead: facts(same + "\r\nContent-Length: 6"), size: 5))
    #expect(!stored.isRenewed(byHead: facts("ETag: \"b\"\r\nLast-Modified: \(date(-10))"), size: 5))
    #expect(!stored.isRenewed(byHead: facts("ETag: \"a\""), size: 5))
    #expect(!stored.isRenewed(byHead: facts(same, status: 410), size: 5))
    // Without a validator nothing says that it is about this body, its length neither.
    #expect(!facts("").isRenewed(byHead: facts("Cache-Control: max-age=60"), size: 5))
    #expect(!facts("").isRenewed(byHead: facts("Cache-Control: max-age=60\r\nContent-Length: 5"), size: 5))
  }
}
