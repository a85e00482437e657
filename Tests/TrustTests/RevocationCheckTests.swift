import RevocationAnswers
import TLS
import Testing

@testable import Trust

/// The gate step by step: what it asks for, and what it decides from the answers. No network, no handshake.
@Suite struct RevocationCheckTests {
  static let leafOCSP = "http://ocsp.example.com/leaf"
  static let leafList = "http://crl.example.com/leaf.crl"
  static let middleOCSP = "http://ocsp.example.com/middle"

  let root: Authority
  let middle: Authority
  let leaf: Certificate
  let cache = RevocationCache()
  let start = now

  init() throws {
    root = try Authority()
    middle = try root.intermediate { $0.revocation.responders = [Self.middleOCSP] }
    leaf = try middle.leaf {
      $0.revocation.responders = [Self.leafOCSP]
      $0.revocation.lists = [Self.leafList]
    }.certificate
  }

  private func check(
    _ settings: TrustPolicy.Revocation = .init(scope: .leaf), staple: [UInt8]? = nil, chain: [Certificate]? = nil
  ) throws -> RevocationCheck {
    let policy = TrustPolicy.over(root.certificate, [.chain(.init()), .composite([.revocation(settings)])])
    return try TrustEvaluation(policy)
      .gate(host: PeerName("api.example.com"), chain: chain ?? [leaf, middle.certificate, root.certificate], staple: staple)
  }

  private func answer(
    _ status: OCSPAnswerBuilder.Status, about certificate: Certificate? = nil, lifetime: Int64 = 3600
  ) throws -> [UInt8] {
    let isLeaf = certificate == nil || certificate == leaf
    let issuer = isLeaf ? middle : root
    var entry = OCSPAnswerBuilder.Entry(certificate ?? leaf, issuer: issuer.certificate, status)
    entry.nextUpdate = start + lifetime
    return try OCSPAnswerBuilder([entry]).signed(by: issuer.certificate, issuer.key)
  }

  /// Runs all steps with `web`, which answers by URL; nil = down. Returns the requested URLs, in order.
  private func run(
    _ check: inout RevocationCheck, at time: Int64? = nil, _ web: (String) throws -> [UInt8]?
  ) throws -> (action: RevocationCheck.Action, asked: [String]) {
    var asked: [String] = []
    for _ in 0..<12 {
      let action = check.next(cache, now: time ?? start)
      guard case .fetch(let request) = action else { return (action, asked) }
      asked.append(request.url)
      #expect(cache.begin(request) == .lead)
      let body = try web(request.url)
      let outcome = body.map { FetchOutcome.read($0, for: request, now: time ?? start) } ?? .failed
      cache.finish(request, outcome, now: time ?? start)
    }
    Issue.record("it does not come to an end")
    return (check.next(cache, now: start), asked)
  }

  private func until(_ action: RevocationCheck.Action) -> Int64? {
    if case .trusted(let until) = action { until } else { nil }
  }

  private func refusal(_ action: RevocationCheck.Action) -> TrustRefusal? {
    if case .refused(let refusal) = action { refusal } else { nil }
  }

  @Test func `a policy without revocation passes until the chain expires`() throws {
    var gate = try TrustEvaluation(.over(root.certificate)).gate(
      host: PeerName("api.example.com"), chain: [leaf, middle.certificate, root.certificate], staple: nil)
    let first = [leaf, middle.certificate, root.certificate].map(\.notAfter).min()
    #expect(until(gate.next(cache, now: start)) == first)
    #expect(refusal(gate.next(cache, now: (first ?? 0) + 1))?.reason == .expired)
    var free = try TrustEvaluation(.over(nil, [.disabled])).gate(host: PeerName("x"), chain: [], staple: nil)
    #expect(until(free.next(cache, now: start)) == .max)
  }

  @Test func `a good answer is asked for once and holds until its next update`() throws {
    var first = try check()
    let (action, asked) = try run(&first) { _ in try answer(.good) }
    #expect(until(action) == start + 3600)
    #expect(asked == [Self.leafOCSP])
    #expect(first.observations == [.init(source: .ocsp, result: .good)])
    #expect(first.warnings.isEmpty)

    var second = try check()
    #expect(try run(&second) { _ in nil }.asked.isEmpty)
    #expect(second.observations == [.init(source: .cache, result: .good)])

    var later = try check()
    #expect(try run(&later, at: start + 3601) { _ in nil }.asked.first == Self.leafOCSP)
  }

  @Test func `the request is a POST that the responder understands, limited in size and time`() throws {
    var check = try check(.init(timeout: 1234, scope: .leaf))
    guard case .fetch(let request) = check.next(cache, now: start) else {
      Issue.record("must fetch")
      return
    }
    #expect(OCSPAnswerBuilder.serialNumbers(ofRequest: request.body ?? []) == [leaf.serialNumber])
    #expect(request.timeout == 1234)
    #expect(request.limitBytes == 65_536)
    #expect(!request.isConfigured)
    let large = try answer(.good) + [UInt8](repeating: 0, count: 65_536)
    guard case .failed = FetchOutcome.read(large, for: request, now: start) else {
      Issue.record("over the limit is a failure")
      return
    }
  }

  @Test func `revoked fails, also where a soft fail is allowed, and stays so in the cache`() throws {
    var first = try check()
    let refused = try refusal(run(&first) { _ in try answer(.revoked(at: 1_700_000_000)) }.action)
    #expect(refused?.reason == .revoked)
    #expect(refused?.evaluator == "composite.revocation")
    #expect(refused?.detail.contains("2023-11-14T22:13:20Z") == true)
    var second = try check()
    #expect(try refusal(run(&second) { _ in nil }.action)?.reason == .revoked)
    #expect(second.observations == [.init(source: .cache, result: .revoked)])
  }

  @Test func `a stapled answer is enough; one that is not about the leaf, stale or forged is none`() throws {
    var stapled = try check(staple: answer(.good))
    #expect(try run(&stapled) { _ in nil }.asked.isEmpty)
    #expect(stapled.observations == [.init(source: .staple, result: .good)])
    var revoked = try check(staple: answer(.revoked(at: 5)))
    #expect(try refusal(run(&revoked) { _ in nil }.action)?.reason == .revoked)

    let other = try middle.leaf(["other.example.com"]).certificate
    let stranger = try Authority("Stranger")
    let forged = try OCSPAnswerBuilder([.init(leaf, issuer: middle.certificate, .good)])
      .signed(by: stranger.certificate, stranger.key)
    let foreign = try OCSPAnswerBuilder([.init(other, issuer: middle.certificate, .good)])
      .signed(by: middle.certificate, middle.key)
    for staple in [foreign, forged, try answer(.good, lifetime: -400), [], [1, 2, 3]] {
      var check = try check(.init(requirePositiveResponse: true, scope: .leaf), staple: staple)
      guard case .fetch = check.next(RevocationCache(), now: start) else {
        Issue.record("an unusable staple must lead to a fetch")
        return
      }
      #expect(check.observations == [.init(source: .staple, result: .unusable)])
    }
  }

  @Test func `methods are tried in order, and what is down is left alone for a while`() throws {
    let list = try CertificateListBuilder().signed(by: middle.certificate, middle.key).der
    var first = try check()
    let (action, asked) = try run(&first) { $0 == Self.leafList ? list : nil }
    #expect(asked == [Self.leafOCSP, Self.leafList])
    #expect(until(action) != nil)
    #expect(first.observations == [.init(source: .ocsp, result: .unusable), .init(source: .crl, result: .good)])
    var reversed = try check(.init(methods: [.crl, .ocsp], scope: .leaf))
    #expect(try run(&reversed) { _ in nil }.asked.isEmpty)
  }

  @Test func `unknown and unauthorized are no answers`() throws {
    for body in [try answer(.unknown), OCSPAnswerBuilder.error(6), OCSPAnswerBuilder.error(3), Array("<html>".utf8)] {
      let cache = RevocationCache()
      var strict = try check(.init(methods: [.ocsp], requirePositiveResponse: true, scope: .leaf))
      guard case .fetch(let request) = strict.next(cache, now: start) else {
        Issue.record("must fetch")
        return
      }
      cache.finish(request, .read(body, for: request, now: start), now: start)
      let refused = refusal(strict.next(cache, now: start))
      #expect(refused?.reason == .revocationUnknown)
      #expect(refused?.evaluator == "composite.revocation")
    }
  }

  @Test func `without an answer it passes with a counted warning, for as long as nobody is asked again`() throws {
    var soft = try check()
    let (action, asked) = try run(&soft) { _ in nil }
    #expect(asked == [Self.leafOCSP, Self.leafList])
    #expect(until(action) == start + 60)
    #expect(soft.warnings.map(\.kind) == [.revocationUnknown])
    #expect(soft.observations.last == .init(source: .none, result: .unknown))

    var again = try check()
    #expect(try run(&again, at: start + 59) { _ in nil }.asked.isEmpty)
    #expect(again.warnings.count == 1)
    var late = try check()
    let second = try run(&late, at: start + 60) { _ in nil }
    #expect(second.asked.count == 2)
    #expect(until(second.action) == start + 60 + 120)
  }

  @Test func `a failure is remembered for 60 s, doubling to an hour, and forgotten by a success`() throws {
    guard
      case .fetch(let request) = try {
        var check = try check()
        return check.next(cache, now: start)
      }()
    else { return }
    var time = start
    for expected: Int64 in [60, 120, 240, 480, 960, 1920, 3600, 3600] {
      cache.finish(request, .failed, now: time)
      #expect(cache.lookup(request, of: leaf, issuer: middle.certificate, now: time) == .failed(retryAt: time + expected))
      time += expected
      #expect(cache.lookup(request, of: leaf, issuer: middle.certificate, now: time) == .absent)
    }
    cache.finish(request, .status(.good(until: time + 500)), now: time)
    cache.finish(request, .failed, now: time)
    // The answer is still valid. The next failure starts from the beginning.
    #expect(cache.lookup(request, of: leaf, issuer: middle.certificate, now: time) == .answer(.good(until: time + 500)))
    #expect(cache.lookup(request, of: leaf, issuer: middle.certificate, now: time + 501) == .absent)
  }

  @Test func `check chain asks for every certificate but the anchor`() throws {
    var whole = try check(.init(methods: [.ocsp]))
    let (action, asked) = try run(&whole) { url in
      try url == Self.leafOCSP ? answer(.good) : answer(.good, about: middle.certificate, lifetime: 1800)
    }
    #expect(asked == [Self.leafOCSP, Self.middleOCSP])
    #expect(until(action) == start + 1800)

    let other = RevocationCache()
    var revoked = try check(.init(methods: [.ocsp]), staple: answer(.good))
    guard case .fetch(let request) = revoked.next(other, now: start) else { return }
    #expect(request.url == Self.middleOCSP)
    let body = try answer(.revoked(at: 1), about: middle.certificate)
    other.finish(request, .read(body, for: request, now: start), now: start)
    #expect(refusal(revoked.next(other, now: start))?.detail.contains("Test Intermediate") == true)
  }

  @Test func `a configured responder is asked instead of the certificate's`() throws {
    var check = try check(.init(methods: [.ocsp], responder: "http://10.0.0.1/ocsp"))
    let (_, asked) = try run(&check) { _ in nil }
    #expect(asked == ["http://10.0.0.1/ocsp", "http://10.0.0.1/ocsp"])
    var fresh = try self.check(.init(responder: "http://10.0.0.1/x"))
    guard case .fetch(let request) = fresh.next(cache, now: start) else { return }
    #expect(request.isConfigured)
  }

  @Test func `without network only staples, files and the cache count`() throws {
    var offline = try check(.init(network: false, requirePositiveResponse: true, scope: .leaf))
    #expect(refusal(offline.next(cache, now: start))?.reason == .revocationUnknown)
    var stapled = try check(.init(network: false, requirePositiveResponse: true, scope: .leaf), staple: answer(.good))
    #expect(until(stapled.next(cache, now: start)) != nil)
    let list = try CertificateListBuilder().signed(by: middle.certificate, middle.key)
    var local = try check(.init(lists: [list.der], network: false, requirePositiveResponse: true, scope: .leaf))
    #expect(until(local.next(cache, now: start)) != nil)
    #expect(local.observations == [.init(source: .file, result: .good)])
    var online = try check()
    _ = try run(&online) { _ in try answer(.good) }
    var cached = try check(.init(network: false, requirePositiveResponse: true, scope: .leaf))
    #expect(until(cached.next(cache, now: start)) != nil)
  }

  @Test func `a local list revokes at once; stale or of another issuer it says nothing`() throws {
    let revoking = try CertificateListBuilder(revoking: [leaf]).signed(by: middle.certificate, middle.key)
    var revoked = try check(.init(lists: [revoking.pem], scope: .leaf))
    #expect(refusal(revoked.next(cache, now: start))?.reason == .revoked)

    var builder = CertificateListBuilder()
    builder.thisUpdate = start - 7200
    builder.nextUpdate = start - 3600
    let stale = try builder.signed(by: middle.certificate, middle.key)
    let foreign = try CertificateListBuilder(revoking: [leaf]).signed(by: root.certificate, root.key)
    let twin = try Authority("Test Intermediate")
    let forged = try CertificateListBuilder(revoking: [leaf]).signed(by: twin.certificate, twin.key)
    for list in [stale, foreign, forged] {
      var strict = try check(.init(lists: [list.der], network: false, requirePositiveResponse: true, scope: .leaf))
      #expect(refusal(strict.next(cache, now: start))?.reason == .revocationUnknown)
    }
  }

  @Test func `a local list stands for the network's lists, after OCSP where that is preferred`() throws {
    let list = try CertificateListBuilder().signed(by: middle.certificate, middle.key)
    var preferred = try check(.init(methods: [.crl, .ocsp], lists: [list.der], scope: .leaf))
    #expect(try run(&preferred) { _ in nil }.asked.isEmpty)
    var second = try check(.init(lists: [list.der], scope: .leaf))
    let (action, asked) = try run(&second) { _ in nil }
    #expect(asked == [Self.leafOCSP])
    #expect(until(action) != nil)
    #expect(second.warnings.isEmpty)
  }

  @Test func `one fetched list serves all certificates of its issuer, and reveals the revoked among them`() throws {
    let other = try middle.leaf(["b.example.com"]) { $0.revocation.lists = [Self.leafList] }.certificate
    let list = try CertificateListBuilder(revoking: [other]).signed(by: middle.certificate, middle.key).der
    var good = try check(.init(methods: [.crl], scope: .leaf))
    #expect(try run(&good) { _ in list }.asked == [Self.leafList])
    var bad = try check(
      .init(methods: [.crl], scope: .leaf), chain: [other, middle.certificate, root.certificate])
    let (action, asked) = try run(&bad) { _ in nil }
    #expect(asked.isEmpty)
    #expect(refusal(action)?.reason == .revoked)
  }

  @Test func `a fetched list of another issuer, with a wrong signature or a stale one is no answer`() throws {
    var builder = CertificateListBuilder()
    builder.thisUpdate = start - 7200
    builder.nextUpdate = start - 3600
    let twin = try Authority("Test Intermediate")
    let lists = [
      try CertificateListBuilder().signed(by: root.certificate, root.key),
      try builder.signed(by: middle.certificate, middle.key),
      try CertificateListBuilder().signed(by: twin.certificate, twin.key),
    ]
    for list in lists {
      let cache = RevocationCache()
      var strict = try check(.init(methods: [.crl], requirePositiveResponse: true, scope: .leaf))
      guard case .fetch(let request) = strict.next(cache, now: start) else { return }
      cache.finish(request, .read(list.der, for: request, now: start), now: start)
      #expect(refusal(strict.next(cache, now: start))?.reason == .revocationUnknown)
    }
  }

  @Test func `a fetched list that does not cover the certificate is not fetched again`() throws {
    var builder = CertificateListBuilder()
    builder.scope = "onlyCA:TRUE"
    let list = try builder.signed(by: middle.certificate, middle.key).der
    for expected in [1, 0] {
      var check = try check(.init(methods: [.crl], requirePositiveResponse: true, scope: .leaf))
      let (action, asked) = try run(&check) { _ in list }
      #expect(asked.count == expected)
      #expect(refusal(action)?.reason == .revocationUnknown)
    }
  }

  @Test func `a chain of only the anchor needs no check`() throws {
    var alone = try check(.init(requirePositiveResponse: true), chain: [root.certificate])
    #expect(until(alone.next(cache, now: start)) == root.certificate.notAfter)
    var none = try check(chain: [])
    #expect(refusal(none.next(cache, now: start))?.reason == .revocationUnknown)
  }
}
