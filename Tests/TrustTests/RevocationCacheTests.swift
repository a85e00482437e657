import RevocationAnswers
import TLS
import Testing

@testable import Trust

@Suite struct RevocationCacheTests {
  let root: Authority
  let leaf: Certificate
  init() throws {
    root = try Authority()
    leaf = try root.leaf().certificate
  }

  private func request(_ number: Int, ofParent: Bool = false) -> FetchRequest {
    .list("http://crl.example.com/\(number)", root.certificate, timeout: 1, judgesParent: ofParent)
  }

  private func lookup(
    _ cache: RevocationCache, _ number: Int, _ time: Int64, ofParent: Bool = false
  ) -> RevocationCache.Lookup {
    cache.lookup(request(number, ofParent: ofParent), of: leaf, issuer: root.certificate, now: time)
  }

  @Test func `one fetch serves every check that began meanwhile`() {
    let cache = RevocationCache()
    #expect(cache.begin(request(1)) == .lead)
    #expect(cache.begin(request(1)) == .join)
    #expect(cache.begin(request(2)) == .lead)
    cache.finish(request(1), .failed, now: 100)
    #expect(cache.begin(request(1)) == .lead)
  }

  @Test func `a failure is forgotten when it is told to, an answer is not`() {
    let cache = RevocationCache()
    cache.finish(request(1), .failed, now: 0)
    cache.finish(request(2), .status(.good(until: 1000)), now: 0)
    #expect(lookup(cache, 1, 10) == .failed(retryAt: 60))
    cache.forgetFailures()
    #expect(lookup(cache, 1, 10) == .absent)
    #expect(lookup(cache, 2, 10) == .answer(.good(until: 1000)))
    cache.finish(request(1), .failed, now: 10)
    #expect(lookup(cache, 1, 11) == .failed(retryAt: 70))
  }

  @Test func `a forbidden pointer does not count as a failure of the operator's responder`() throws {
    let (certificate, issuer) = (leaf, root.certificate)
    func request(isConfigured: Bool) throws -> FetchRequest {
      try #require(
        FetchRequest.ocsp("http://ocsp.example.com/", certificate, issuer, timeout: 1, isConfigured: isConfigured))
    }
    #expect(try request(isConfigured: true).key != request(isConfigured: false).key)
    #expect(try request(isConfigured: true).key == request(isConfigured: true).key)
  }

  @Test func `what is in use is due again after three quarters of its life`() {
    let cache = RevocationCache()
    cache.finish(request(1), .status(.good(until: 1000)), now: 0)
    cache.finish(request(2), .status(.good(until: 1000)), now: 0)
    #expect(lookup(cache, 1, 10) == .answer(.good(until: 1000)))
    #expect(cache.due(now: 749).isEmpty)
    #expect(cache.due(now: 751).map(\.url) == [request(1).url])
    #expect(cache.begin(request(1)) == .lead)
    #expect(cache.due(now: 751).isEmpty)
    cache.finish(request(1), .failed, now: 751)
    #expect(cache.due(now: 760).isEmpty)
    #expect(cache.due(now: 811).count == 1)
    cache.finish(request(1), .status(.good(until: 2000)), now: 820)
    #expect(cache.due(now: 900).isEmpty)
    #expect(lookup(cache, 1, 1500) == .answer(.good(until: 2000)))
    #expect(lookup(cache, 2, 1500) == .absent)
  }

  @Test func `that an answer could not be renewed does not keep it from being asked for when it has expired`() {
    let cache = RevocationCache()
    cache.finish(request(1), .status(.good(until: 1000)), now: 0)
    for time in stride(from: Int64(760), to: 1000, by: 60) { cache.finish(request(1), .failed, now: time) }
    #expect(lookup(cache, 1, 999) == .answer(.good(until: 1000)))
    #expect(lookup(cache, 1, 1001) == .absent)
    cache.finish(request(1), .failed, now: 1001)
    #expect(lookup(cache, 1, 1002) == .failed(retryAt: 1061))
  }

  @Test func `a question that judges a parent waits for no other one, and fails alone, but has the same answers`() {
    let cache = RevocationCache()
    #expect(cache.begin(request(1)) == .lead)
    #expect(cache.begin(request(1, ofParent: true)) == .lead)
    #expect(cache.begin(request(1, ofParent: true)) == .join)
    cache.finish(request(1), .failed, now: 0)
    #expect(lookup(cache, 1, 10) == .failed(retryAt: 60))
    #expect(lookup(cache, 1, 10, ofParent: true) == .absent)
    cache.finish(request(1, ofParent: true), .status(.good(until: 1000)), now: 10)
    #expect(lookup(cache, 1, 20) == .answer(.good(until: 1000)))
    #expect(lookup(cache, 1, 20, ofParent: true) == .answer(.good(until: 1000)))
    // It is renewed as it was asked for.
    #expect(cache.due(now: 900).map(\.judgesParent) == [true])
    cache.finish(request(1), .status(.revoked(at: 5)), now: 30)
    #expect(lookup(cache, 1, 40, ofParent: true) == .answer(.revoked(at: 5)))
  }

  @Test func `it is bounded; the longest unused go first`() {
    let cache = RevocationCache(entryLimit: 3)
    for number in 1...3 { cache.finish(request(number), .status(.good(until: 1000)), now: Int64(number)) }
    #expect(lookup(cache, 1, 10) == .answer(.good(until: 1000)))
    cache.finish(request(4), .status(.good(until: 1000)), now: 11)
    #expect(cache.count == 3)
    #expect(lookup(cache, 2, 12) == .absent)
    #expect(lookup(cache, 1, 12) == .answer(.good(until: 1000)))
  }

  @Test func `large lists count by their size`() throws {
    let cache = RevocationCache(byteLimit: 1_000_000)
    let list = try CertificateListBuilder().signed(by: root.certificate, root.key)
    for number in 1...5 { cache.finish(request(number), .list(list, bytes: 100_000), now: now + Int64(number)) }
    #expect(cache.count == 2)
  }

  @Test func `an answer that only the clock allowance keeps is held for a minute`() {
    let cache = RevocationCache()
    cache.finish(request(1), .status(.good(until: 900)), now: 1000)
    #expect(lookup(cache, 1, 1059) == .answer(.good(until: 1060)))
    #expect(lookup(cache, 1, 1060) == .absent)
  }
}
