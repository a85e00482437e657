import Testing

@testable import Cache

@Suite("A stored answer's freshness")
struct FreshnessTests {
  private static let shared = CacheRules(share: .everyone)

  @Test("takes s-maxage before max-age before Expires, s-maxage only where shared")
  func order() {
    let all = "Cache-Control: s-maxage=3, max-age=2\r\nDate: \(date())\r\nExpires: \(date(1))"
    #expect(times(all, Self.shared).lifetime == 3)
    #expect(times(all, CacheRules(share: .all)).lifetime == 3)
    #expect(times(all, CacheRules(share: .client)).lifetime == 2)
    #expect(times(all, CacheRules(share: .credential)).lifetime == 2)
    #expect(times("Cache-Control: s-maxage=3, max-age=0").lifetime == 0)
    #expect(times("Cache-Control: max-age=0\r\nExpires: \(date(100))").lifetime == 0)
    #expect(times("Date: \(date())\r\nExpires: \(date(1))").lifetime == 1)
  }

  @Test(
    "is over where Expires is no date in the future",
    arguments: [
      "0", "-1", "", "now", "Thu, 18 Aug 2050 02:01:18 UTC", "Thu, 18 Aug 2050 02:01:18 AEST", "Thu, 18 Aug 50 02:01:18 GMT",
      "Thu 18 Aug 2050 02:01:18 GMT", "Thu, 18  Aug  2050 02:01:18 GMT", "Thu, 18-Aug-2050 02:01:18 GMT",
      "Thu, 18 Aug 2050 02.01.18 GMT", "Thu, 18 Aug 2050 2:01:18 GMT", "Thu, 32 Aug 2050 02:01:18 GMT", date(0), date(-100),
      "Thu, 18 Aug 2050 02:01:18 GMT\r\nExpires: Thu, 18 Aug 2050 02:01:19 GMT",
    ])
  func expired(text: String) {
    #expect(times("Date: \(date())\r\nExpires: \(text)", CacheRules(defaultLifetime: .seconds(60))).lifetime == 0)
  }

  @Test(
    "takes dates in three forms",
    arguments: ["Thu, 18 Aug 2050 02:01:18 GMT", "Thursday, 18-Aug-50 02:01:18 GMT", "Thu Aug 18 02:01:18 2050"])
  func forms(text: String) {
    #expect(times("Expires: \(text)").lifetime == 2_544_400_878 - noon)
  }

  @Test("counts Expires from Date, and from the receipt where Date is none")
  func expiresDate() {
    #expect(times("Date: \(date(400))\r\nExpires: \(date(300))").lifetime == 0)
    #expect(times("Date: \(date(-10))\r\nExpires: \(date(10))").lifetime == 20)
    #expect(times("Date: foo\r\nExpires: \(date(10))").lifetime == 10)
  }

  @Test("is what the operator says only where the origin says nothing")
  func defaults() {
    let rules = CacheRules(defaultLifetime: .seconds(60))
    #expect(times("", rules).lifetime == 60)
    #expect(times("Cache-Control: max-age=5", rules).lifetime == 5)
    #expect(times("Cache-Control: max-age=x", rules).lifetime == 0)
    #expect(times("Cache-Control: x=\"", rules).lifetime == 0)
    #expect(times("", status: 302, rules).lifetime == 0)
    #expect(times("", status: 500, rules).lifetime == 0)
    #expect(times("", status: 404, rules).lifetime == 60)
  }

  @Test("by heuristic is a tenth of the time since Last-Modified, at most a day")
  func heuristic() {
    let rules = CacheRules(defaultLifetime: .heuristic)
    #expect(times("Date: \(date())\r\nLast-Modified: \(date(-1000))", rules).lifetime == 100)
    #expect(times("Date: \(date())\r\nLast-Modified: \(date(-100_000_000))", rules).lifetime == 86_400)
    #expect(times("Date: \(date())\r\nLast-Modified: \(date(1000))", rules).lifetime == 0)
    #expect(times("Last-Modified: foo", rules).lifetime == 0)
    #expect(times("", rules).lifetime == 0)
    #expect(times("Last-Modified: \(date(-1000))").lifetime == 0)
  }

  @Test("is at least minimum_ttl, also against no-cache and max-age=0, and then what the origin says")
  func minimum() {
    let rules = CacheRules(minimumLifetime: 10)
    for text in ["max-age=0", "no-cache", "no-cache, max-age=5", "max-age=x"] {
      let times = times("Cache-Control: \(text)\r\nETag: \"a\"", rules)
      #expect(times.use(for: RequestNeeds(), now: 9 * second) == .now(timeLeft: 1), "\(text)")
      #expect(times.use(for: RequestNeeds(), now: 10 * second) == .afterValidation(ifError: false), "\(text)")
    }
    #expect(times("Cache-Control: max-age=20", rules).lifetime == 20)
    let always = times("Cache-Control: no-cache, max-age=100", rules)
    #expect(always.isFresh(9 * second) && !always.isFresh(11 * second))
  }

  @Test(
    "counts Age: its first member, and none that is no number",
    arguments: [
      ("abc", 0), ("-7200", 0), ("7200.0", 0), ("2147483647", 2_147_483_647), ("2147483648", 1 << 31), ("2147483649", 1 << 31),
      ("99999999999999999999", 1 << 31), ("7200, 0", 7200), ("0, 7200", 0), ("7200\r\nAge: 0", 7200), ("0\r\nAge: 7200", 0),
      ("0, 0", 0), ("7200;foo=bar", 0), ("", 0),
    ] as [(String, Int64)])
  func age(text: String, expected: Int64) {
    let times = times("Date: \(date())\r\nAge: \(text)\r\nCache-Control: max-age=3600")
    #expect(times.initialAge == expected)
    #expect(times.isFresh(0) == (expected < 3600))
  }

  @Test("counts the way here and the time since the receipt")
  func arithmetic() {
    // RFC 9111 section 4.2.3: apparent age 20; corrected 15 + 4.
    let some = facts("Date: \(date(-20))\r\nAge: 15\r\nCache-Control: max-age=100")
    let times = StoredTimes(some, CacheRules(), asked: 0, received: CacheTime(steady: 4 * second, wall: noon))
    #expect(times.initialAge == 20)
    #expect(times.age(4 * second) == 20 && times.age(10 * second) == 26)
    #expect(times.timeLeft(10 * second) == 74)
    let late = facts("Date: \(date(-2))\r\nAge: 15")
    #expect(late.initialAge(asked: 0, received: CacheTime(steady: 9 * second, wall: noon)) == 24)
    // A Date ahead of our clock makes nothing younger.
    #expect(facts("Date: \(date(50))\r\nAge: 3").initialAge(asked: 0, received: CacheTime(steady: 0, wall: noon)) == 3)
    #expect(facts("Date: foo\r\nAge: 3").initialAge(asked: 0, received: CacheTime(steady: 0, wall: noon)) == 3)
    // Before the clock began.
    #expect(times.age(0) == 20)
  }

  @Test("ends when the age reaches the lifetime")
  func border() {
    let times = times("Cache-Control: max-age=10, immutable")
    #expect(times.isFresh(10 * second - 1) && !times.isFresh(10 * second))
  }
}

@Suite("A stored answer's use")
struct StoredUseTests {
  private func use(_ answer: String, _ request: String, at time: Int64, _ rules: CacheRules = CacheRules()) -> StoredUse {
    times(answer, rules).use(for: needs(request, rules), now: time * second)
  }

  @Test(
    "follows the request",
    arguments: [
      ("max-age=100", "", 99, true), ("max-age=100", "", 100, false),
      ("max-age=100", "no-cache", 1, false), ("max-age=100", "max-age=0", 0, false), ("max-age=100", "max-age=5", 5, true),
      ("max-age=100", "max-age=5", 6, false), ("max-age=100", "min-fresh=50", 50, true),
      ("max-age=100", "min-fresh=50", 51, false),
      ("max-age=100", "min-fresh=200", 0, false), ("max-age=100", "max-stale", 100_000, true),
      ("max-age=100", "max-stale=10", 110, true), ("max-age=100", "max-stale=10", 111, false),
      ("max-age=100", "max-age=5, max-stale=10", 15, true), ("max-age=100", "max-age=5, max-stale=10", 16, false),
      ("max-age=100", "max-stale, no-cache", 1, false), ("max-age=100", "no-store", 1, true),
      ("max-age=100", "only-if-cached", 1, true),
    ])
  func request(answer: String, request: String, time: Int64, isUsed: Bool) {
    let use = use("Cache-Control: \(answer)", request.isEmpty ? "" : "Cache-Control: \(request)", at: time)
    if isUsed { #expect(use == .now(timeLeft: 100 - time)) } else { #expect(use == .afterValidation(ifError: false)) }
  }

  /// http-cache-semantics CVE-2026-93748.
  @Test(
    "`max-stale never reaches what must be validated`",
    arguments: [
      ("max-age=1, must-revalidate", CacheRules()), ("no-cache, max-age=1", CacheRules()),
      ("no-cache=\"x\", max-age=1", CacheRules()),
      ("max-age=1, s-maxage=1", CacheRules(share: .everyone)), ("max-age=1, proxy-revalidate", CacheRules(share: .all)),
      ("max-age=1, x=\"", CacheRules()),
    ])
  func maxStale(answer: String, rules: CacheRules) {
    #expect(
      use("Cache-Control: \(answer)\r\nETag: \"a\"", "Cache-Control: max-stale", at: 5, rules)
        == .afterValidation(ifError: false))
  }

  @Test("stale is possible in a private cache, whatever is said to shared ones")
  func privateStale() {
    for share in [CacheRules.Share.client, .credential] {
      let rules = CacheRules(share: share)
      let answer = "Cache-Control: max-age=1, s-maxage=1, proxy-revalidate"
      #expect(use(answer, "Cache-Control: max-stale", at: 5, rules) == .now(timeLeft: -4))
    }
  }

  @Test("`a no-cache answer is stored and always validated`")
  func noCache() {
    // test-infra#7848.
    #expect(refusal("Cache-Control: no-cache\r\nETag: \"a\"") == nil)
    #expect(use("Cache-Control: no-cache, max-age=100\r\nETag: \"a\"", "", at: 0) == .afterValidation(ifError: false))
  }

  @Test("while it is validated in the background: as long as origin or operator grants")
  func whileRevalidate() {
    let answer = "Cache-Control: max-age=10, stale-while-revalidate=20"
    #expect(use(answer, "", at: 30) == .whileRevalidating(timeLeft: -20))
    #expect(use(answer, "", at: 31) == .afterValidation(ifError: false))
    #expect(use(answer, "", at: 40, CacheRules(staleWhileRevalidate: 30)) == .whileRevalidating(timeLeft: -30))
    #expect(use(answer, "", at: 30, CacheRules(staleWhileRevalidate: 5)) == .whileRevalidating(timeLeft: -20))
    #expect(use(answer, "Cache-Control: no-cache", at: 15) == .afterValidation(ifError: false))
    #expect(use(answer, "Cache-Control: max-age=5", at: 15) == .afterValidation(ifError: false))
    #expect(use(answer, "Cache-Control: min-fresh=1", at: 15) == .afterValidation(ifError: false))
    let rules = CacheRules(staleWhileRevalidate: 60)
    #expect(use("Cache-Control: max-age=10, must-revalidate", "", at: 11, rules) == .afterValidation(ifError: false))
    #expect(use("Cache-Control: max-age=10, stale-while-revalidate=x", "", at: 11) == .afterValidation(ifError: false))
  }

  @Test("if the origin fails: with a validator or without, and not where it must be validated")
  func ifError() {
    let answer = "Cache-Control: max-age=10, stale-if-error=20"
    #expect(use(answer, "", at: 30) == .afterValidation(ifError: true))
    #expect(use(answer, "", at: 31) == .afterValidation(ifError: false))
    #expect(use("Cache-Control: max-age=10", "", at: 30, CacheRules(staleIfError: 20)) == .afterValidation(ifError: true))
    #expect(use("Cache-Control: max-age=10", "", at: 11) == .afterValidation(ifError: false))
    #expect(use(answer, "Cache-Control: no-cache", at: 15) == .afterValidation(ifError: false))
    let must = "Cache-Control: max-age=10, must-revalidate, stale-if-error=20"
    #expect(use(must, "", at: 15, CacheRules(staleIfError: 99)) == .afterValidation(ifError: false))
    let shared = CacheRules(share: .everyone, staleIfError: 99)
    #expect(use("Cache-Control: s-maxage=10", "", at: 15, shared) == .afterValidation(ifError: false))
  }

  @Test("ends where nothing can come of it")
  func useless() {
    #expect(times("Cache-Control: max-age=10").isUseless(11 * second))
    #expect(!times("Cache-Control: max-age=10").isUseless(9 * second))
    #expect(!times("Cache-Control: max-age=10\r\nETag: \"a\"").isUseless(1 << 60))
    #expect(!times("Cache-Control: max-age=10, stale-if-error=50").isUseless(59 * second))
    #expect(times("Cache-Control: max-age=10, stale-if-error=50").isUseless(61 * second))
  }
}
