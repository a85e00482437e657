import HTTPWire
import Testing

@testable import Cache

@Suite("An outcome")
struct OutcomeTests {
  @Test(
    "is said in Cache-Status, and with one word",
    arguments: [
      (CacheOutcome.hit(ttl: 57), "hit; ttl=57", "hit"), (.hit(ttl: 0), "hit; ttl=0", "hit"),
      (.hit(ttl: -3), "hit; ttl=-3", "stale"),
      (.hit(ttl: .max), "hit; ttl=2147483648", "hit"),
      (.forwarded(.targetMiss, status: 0, isStored: true, refusal: nil), "fwd=uri-miss; stored", "miss"),
      (.forwarded(.variantMiss, status: 0, isStored: false, refusal: nil), "fwd=vary-miss", "miss"),
      (.forwarded(.targetMiss, status: 0, isStored: false, refusal: .isPrivate), "fwd=uri-miss; detail=private", "miss"),
      (.forwarded(.stale, status: 304, isStored: true, refusal: nil), "fwd=stale; fwd-status=304; stored", "revalidated"),
      (
        .forwarded(.stale, status: 200, isStored: false, refusal: .setCookie), "fwd=stale; fwd-status=200; detail=set-cookie",
        "miss"
      ),
      (.collapsed(.targetMiss), "fwd=uri-miss; collapsed", "collapsed"),
      (.staleIfError(status: 503), "fwd=stale; fwd-status=503; detail=stale-if-error", "stale"),
      (.staleIfError(status: 0), "fwd=stale; detail=stale-if-error", "stale"),
      (.forwarded(.method, status: 0, isStored: false, refusal: .method), "fwd=method", "bypass"),
      (.forwarded(.targetMiss, status: 0, isStored: false, refusal: .method), "fwd=uri-miss; detail=method", "miss"),
      (.forwarded(.bypass, status: 0, isStored: false, refusal: nil), "fwd=bypass", "bypass"),
      (.forwarded(.request, status: 0, isStored: false, refusal: .noStore), "fwd=request; detail=no-store", "miss"),
    ])
  func words(outcome: CacheOutcome, text: String, word: String) {
    let line = written { $0.append(cacheStatus: outcome, name: Array("authproxy".utf8)) }
    #expect(line == "Cache-Status: authproxy; \(text)\r\n" && outcome.result.rawValue == word)
    #expect(line.utf8.count <= ByteWriter.cacheStatusLimit)
  }

  /// Meziantou.Framework#2824, guzzle/cache-subscriber#49.
  @Test("`of a validation keeps a stale answer only where the origin has a fault`")
  func verdict() {
    for status in [500, 502, 503, 504] { #expect(OriginVerdict(status: status) == .fault) }
    for status in [200, 206, 301, 302, 401, 403, 404, 410] { #expect(OriginVerdict(status: status) == .replaces) }
    for status in [400, 429, 431, 501, 505] { #expect(OriginVerdict(status: status) == .other) }
    #expect(OriginVerdict(status: 304) == .notModified)
  }

  /// undici#5507.
  @Test("`of a failure permits a stale answer, but never in place of a refusal by trust or of a dead credential`")
  func failure() {
    let permitted = OriginFailure.allCases.filter(\.permitsStale)
    #expect(permitted == [.connection, .timeout, .noToken])
  }
}
