import Testing

@testable import Cache

@Suite("An answer is stored")
struct StoringTests {
  private static let everyone = CacheRules(share: .everyone)
  private static let all = CacheRules(share: .all)
  private static let credential = CacheRules(share: .credential)

  @Test(
    "never with a status that says something about the asker or the connection",
    arguments: [100, 206, 304, 401, 403, 407, 421, 425, 428, 429, 431, 511, 600, 999])
  func status(status: Int) {
    for rules in [CacheRules(), Self.everyone, Self.all, Self.credential] {
      #expect(refusal("Cache-Control: public, max-age=60\r\nETag: \"a\"", status: status, rules) == .status)
    }
  }

  @Test(
    "with any other status if its freshness is explicit",
    arguments: [200, 201, 226, 299, 302, 307, 400, 404, 410, 500, 503, 599])
  func explicit(status: Int) {
    #expect(refusal("Cache-Control: max-age=60", status: status) == nil)
    #expect(refusal("Date: \(date())\r\nExpires: \(date(60))", status: status) == nil)
  }

  @Test(
    "with few statuses if it has only a validator, or a lifetime of the operator's",
    arguments: [
      (200, true), (203, true), (204, true), (300, true), (301, true), (308, true), (404, true), (405, true), (410, true),
      (414, true),
      (501, true), (201, false), (202, false), (302, false), (303, false), (307, false), (400, false), (500, false),
      (503, false),
      (599, false),
    ])
  func heuristic(status: Int, isStored: Bool) {
    #expect(refusal("ETag: \"a\"", status: status) == (isStored ? nil : .noFreshness))
    #expect(refusal("Last-Modified: \(date(-60))", status: status) == (isStored ? nil : .noFreshness))
    #expect(refusal("", status: status, CacheRules(defaultLifetime: .seconds(9))) == (isStored ? nil : .noFreshness))
    #expect(refusal("", status: status, CacheRules(minimumLifetime: 9)) == (isStored ? nil : .noFreshness))
    #expect(refusal("", status: status) == .noFreshness)
  }

  @Test(
    "not without a use",
    arguments: ["max-age=0", "no-cache", "no-cache, max-age=60", "max-age=x", "max-age=60\r\nAge: 60", "x=\"y"])
  func useless(text: String) {
    #expect(refusal("Cache-Control: \(text)") == .noFreshness)
    #expect(refusal("Cache-Control: \(text)\r\nETag: \"a\"") == nil)
  }

  @Test(
    "not against no-store on either side",
    arguments: ["no-store", "No-Store, max-age=60", "max-age=60, no-store=\"x\"", "x=\", no-store"])
  func noStore(text: String) {
    for rules in [CacheRules(minimumLifetime: 60), Self.everyone, Self.all, Self.credential] {
      #expect(refusal("Cache-Control: public, \(text)\r\nExpires: \(date(60))", rules) == .noStore)
    }
    #expect(refusal("Cache-Control: max-age=60", request: "Cache-Control: no-store") == .noStore)
    #expect(
      refusal("Cache-Control: max-age=60", CacheRules(honoursClientDirectives: false), request: "Cache-Control: no-store")
        == nil)
  }

  @Test("with must-understand only if the status is known, and then in spite of no-store")
  func mustUnderstand() {
    #expect(refusal("Cache-Control: max-age=60, must-understand, no-store") == nil)
    #expect(refusal("Cache-Control: max-age=60, must-understand, no-store", status: 599) == .status)
    #expect(refusal("Cache-Control: max-age=60, must-understand", status: 599) == .status)
    #expect(refusal("Cache-Control: max-age=60, must-understand, no-store", status: 401) == .status)
    #expect(refusal("Cache-Control: max-age=60, must-understand, private, no-store", Self.everyone) == .isPrivate)
    #expect(refusal("Cache-Control: must-understand, x=\", no-store\r\nETag: \"a\"") == .noStore)
  }

  @Test(
    "where shared, not if it is private in any form",
    arguments: ["private", "Private", "private=\"x\"", "private=x", "private=", "private =\"a, b\"", "x=\", private"])
  func isPrivate(text: String) {
    let answer = "Cache-Control: public, s-maxage=60, max-age=60, must-revalidate, \(text)"
    #expect(refusal(answer, Self.everyone) == .isPrivate)
    #expect(refusal(answer, Self.all) == .isPrivate)
    #expect(refusal(answer, CacheRules(share: .all, minimumLifetime: 60)) == .isPrivate)
    #expect(refusal(answer + "\r\nETag: \"a\"") == nil)
    #expect(refusal(answer + "\r\nETag: \"a\"", Self.credential) == nil)
  }

  /// envoy#9857, tempesta#3.
  @Test("`where shared, only with public, s-maxage or must-revalidate if it was fetched with a credential`")
  func authorized() {
    for who in [byProxy, byApp] {
      #expect(refusal("Cache-Control: max-age=60", Self.everyone, who) == .authorized)
      #expect(refusal("Cache-Control: max-age=60, proxy-revalidate", Self.everyone, who) == .authorized)
      for permission in ["public, max-age=60", "s-maxage=60", "must-revalidate, max-age=60"] {
        #expect(refusal("Cache-Control: \(permission)", Self.everyone, who) == nil)
      }
      #expect(refusal("Cache-Control: public, max-age=60, x=\"\r\nETag: \"a\"", Self.everyone, who) == .authorized)
      // What cannot be read permits nothing.
      for other in ["s-maxage=x", "s-maxage", "s-maxage=\"", "must-revalidate=x, max-age=60", "public=1, max-age=60"] {
        #expect(refusal("Cache-Control: \(other)\r\nETag: \"a\"", Self.everyone, who) == .authorized, "\(other)")
      }
    }
    #expect(refusal("Cache-Control: max-age=60", Self.everyone, nobody) == nil)
    // `all` lifts it for our credential, not for the app's.
    #expect(refusal("Cache-Control: max-age=60", Self.all, byProxy) == nil)
    #expect(refusal("Cache-Control: max-age=60", Self.all, byApp) == .authorized)
    #expect(refusal("Cache-Control: max-age=60", Self.credential, byProxy) == nil)
    #expect(refusal("Cache-Control: max-age=60", CacheRules(), byApp) == nil)
  }

  @Test("`not if it sets a cookie`", arguments: ["Set-Cookie: a=b", "set-cookie2: a=b"])
  func cookie(field: String) {
    // actor-ts#980
    for rules in [CacheRules(), Self.everyone, Self.all, Self.credential] {
      #expect(refusal("Cache-Control: public, max-age=60\r\n\(field)", rules) == .setCookie)
    }
  }

  @Test("not if it is a stream, has trailers or is too large")
  func others() {
    #expect(refusal("Cache-Control: max-age=60\r\nContent-Type: text/event-stream; charset=utf-8") == .eventStream)
    #expect(refusal("Cache-Control: max-age=60\r\nTrailer: X-Sum") == .trailers)
    #expect(refusal("Cache-Control: max-age=60\r\nContent-Length: 1048577") == .tooLarge)
    #expect(refusal("Cache-Control: max-age=60\r\nContent-Length: 1048576") == nil)
  }

  @Test(
    "not with a Vary that no later request is known to match",
    arguments: ["*", "*, *", "*\r\nVary: *", ", *", ",\r\nVary: *", "*, Foo", "Foo, *", "Foo\r\nVary: , *"])
  func varyAll(text: String) {
    #expect(refusal("Cache-Control: max-age=60\r\nVary: \(text)") == .vary)
  }

  @Test(
    "not with a Vary that is no list of names",
    arguments: ["Cookie Accept", "Cookie;Accept", "\"Cookie\"", "a, b c", "a:b", "(x)"])
  func varyMalformed(text: String) {
    // Another reader may find the name of a field in it.
    #expect(refusal("Cache-Control: max-age=60\r\nVary: \(text)") == .vary)
  }

  @Test("not with a Vary of more than 16 names or 1 KiB")
  func varyLimits() {
    func names(_ count: Int, _ size: Int = 3) -> String {
      (0..<count).map { "a\($0)" + String(repeating: "x", count: max(0, size - 3)) }.joined(separator: ",")
    }
    #expect(refusal("Cache-Control: max-age=60\r\nVary: \(names(16))") == nil)
    #expect(refusal("Cache-Control: max-age=60\r\nVary: \(names(17))") == .vary)
    #expect(refusal("Cache-Control: max-age=60\r\nVary: \(names(40))") == .vary)
    #expect(refusal("Cache-Control: max-age=60\r\nVary: \(names(4, 300))") == .vary)
    #expect(refusal("Cache-Control: max-age=60\r\nVary: a, A, a\r\nVary: a") == nil)
  }

  @Test("without obeying fields that are for CDNs")
  func targeted() {
    #expect(refusal("CDN-Cache-Control: max-age=60") == .noFreshness)
    #expect(refusal("Cache-Control: max-age=60\r\nCDN-Cache-Control: no-store") == nil)
  }

  @Test("with `collapse: all`, those who wait share what only lacks freshness")
  func shared() {
    for refusal in StoreRefusal.allCases { #expect(refusal.lacksOnlyFreshness == (refusal == .noFreshness)) }
    #expect(refusal("", status: 500) == .noFreshness)
    #expect(refusal("Set-Cookie: a=b", status: 200) == .setCookie)
  }
}
