import HTTPWire
import Testing

@testable import Cache

@Suite("Cache-Control")
struct DirectivesTests {
  @Test(
    "gives a lifetime that another cache would read, or none",
    arguments: [
      ("max-age=3600", 3600), ("MaX-AgE=3600", 3600), ("max-age=\"3600\"", 3600), ("max-age=003600", 3600),
      ("max-age=2147483649", 1 << 31), ("max-age=99999999999999999999999", 1 << 31),
      ("max-age=1800, max-age=1", 1800), ("max-age=1, max-age=1800", 1), ("max-age=1800\r\nCache-Control: max-age=1", 1800),
      ("extension=\"max-age=3600\", max-age=1", 1), ("max-age=1, extension=\"max-age=3600\"", 1),
      ("extension=\"a\\\", max-age=3600\", max-age=1", 1), (",, ,max-age=7,", 7),
      // Not readable: stale.
      ("max-age='3600'", 0), ("max-age=-3600", 0), ("max-age=3600.5", 0), ("max-age=3600a", 0), ("max-age=a3600", 0),
      ("max-age =3600", 0), ("max-age= 3600", 0), ("max-age", 0), ("max-age=", 0), ("max-age=\"\"", 0), ("max-age=\"36", 0),
      ("max-age=3600, x=\"", 0), ("max-age=3600, x\"y, no-store, \"", 0), ("max-age=3600, x=\"a, b\"c", 0), ("max-age=0x10", 0),
      ("max-age=+1", 0),
    ] as [(String, Int64)])
  func lifetime(text: String, expected: Int64) {
    #expect(facts("Cache-Control: \(text)").lifetime(CacheRules(), wall: noon) == expected)
  }

  @Test(
    "restricts in any form",
    arguments: [
      ("no-store", CacheDirectives.Flags.noStore), ("nO-StOrE", .noStore), ("no-store=1", .noStore),
      ("no-store =\"x\"", .noStore),
      ("max-age=1,no-store", .noStore), ("private", .isPrivate), ("private=\"x, y\"", .isPrivate), ("private=", .isPrivate),
      ("no-cache=\"set-cookie\"", .noCache), ("x=\", no-store", .noStore), ("x=\", private", .isPrivate),
      ("x=\"\\\", no-store", .noStore),
      // A quotation mark where no quoted string can be: others split at the commas.
      ("x\"y, no-store, \"", .noStore), ("max-age=60\"a, private, b\"", .isPrivate), ("x=\"a\"b, no-cache, \"", .noCache),
      ("x=\"a\" \"b, no-store, c\"", .noStore), ("\"x, private, y\"", .isPrivate),
    ])
  func restricts(text: String, flag: CacheDirectives.Flags) {
    #expect(facts("Cache-Control: \(text)").directives.flags.contains(flag))
  }

  @Test(
    "permits only as it is written",
    arguments: ["public=1", "x=\"public\"", "x=\", public", "publi", "public2", "\"public\""])
  func permits(text: String) {
    #expect(!facts("Cache-Control: \(text)").directives.flags.contains(.isPublic))
  }

  @Test("of a request is read from all of its lines")
  func request() {
    let needs = needs("Cache-Control: max-age=9, max-stale\r\nCache-Control: min-fresh=5, only-if-cached, no-store")
    #expect(needs.maxAge == 9 && needs.maxStale == CacheDirectives.longest && needs.minFresh == 5)
    #expect(needs.onlyIfCached && needs.noStore && !needs.noCache)
  }

  @Test("of a request that cannot be read asks for the most")
  func unreadableRequest() {
    #expect(needs("Cache-Control: max-age=x").noCache)
    #expect(needs("Cache-Control: min-fresh=x").minFresh == CacheDirectives.longest)
    #expect(needs("Cache-Control: max-stale=x").maxStale == nil)
    #expect(needs("Cache-Control: a=\"").noCache)
  }

  @Test("of a request counts for nothing with `client_directives: ignore`")
  func ignored() {
    let rules = CacheRules(honoursClientDirectives: false)
    #expect(needs("Cache-Control: no-cache, no-store, only-if-cached", rules) == RequestNeeds())
    #expect(needs("Pragma: no-cache", rules) == RequestNeeds())
  }

  @Test("is preferred to Pragma")
  func pragma() {
    #expect(needs("Pragma: no-cache").noCache)
    #expect(needs("pragma: x, No-Cache").noCache)
    #expect(!needs("Pragma: no-cache\r\nCache-Control: max-stale").noCache)
    #expect(!needs("Pragma: x-no-cache").noCache)
  }
}
