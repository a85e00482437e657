import Crypto
import RevocationAnswers
import TLS
import Testing

@testable import Trust

/// Sessions, verdicts and staples in real handshakes.
@Suite struct ResumptionTests {
  let root: Authority
  let leaf: (certificate: Certificate, key: PrivateKey)
  let key = TrustKey(host: "api.example.com", port: 443, policy: [1], identity: [])

  init() throws {
    root = try Authority()
    leaf = try root.leaf()
  }

  @Test(arguments: [ProtocolVersion.tls12, .tls13])
  func `a resumed connection is judged by the record of its session`(_ version: ProtocolVersion) throws {
    let policy = TrustPolicy.over(root.certificate, [.revocation(.init(methods: [.ocsp], requirePositiveResponse: true))])
    let evaluation = try TrustEvaluation(policy)
    let client = try Judged.context(policy)
    var entry = OCSPAnswerBuilder.Entry(leaf.certificate, issuer: root.certificate, .good)
    entry.nextUpdate = now + 600
    let staple = try OCSPAnswerBuilder([entry]).signed(by: root.certificate, root.key)
    let server = try Judged.server([leaf.certificate], leaf.key) {
      $0.maximumVersion = version
      $0.staple = staple
    }
    let sessions = SessionCache()
    let cache = RevocationCache()
    let first = try Judged(client, server)
    #expect(first.result == .done)
    #expect(first.client.stapledOCSP == staple)
    let name = first.client.peerName
    var gate = evaluation.gate(host: name, chain: first.client.verifiedChain, staple: first.client.stapledOCSP)
    guard case .trusted(let until) = gate.next(cache, now: now) else {
      Issue.record("the staple is good")
      return
    }
    #expect(abs(until - now - 600) < 5)
    sessions.store(
      try #require(first.session), VerdictRecord(chain: first.client.verifiedChain, until: until), for: key)

    let kept = try #require(sessions.take(key, now: now))
    let second = try Judged(client, server, session: kept.session)
    #expect(second.client.isResumed)
    #expect(second.client.verifiedChain.isEmpty)
    #expect(kept.record.until == until)
    // The connection has no chain, so the gate uses the record's: the answer is gone and must be fetched.
    var later = evaluation.gate(host: name, chain: kept.record.chain, staple: nil)
    guard case .refused(let refusal) = later.next(cache, now: now) else {
      Issue.record("no pointer, no staple: unknown")
      return
    }
    #expect(refusal.reason == .revocationUnknown)
  }

  private func session(_ version: ProtocolVersion) throws -> TLSSession {
    let server = try Judged.server([leaf.certificate], leaf.key) { $0.maximumVersion = version }
    return try #require(Judged(Judged.context(.over(root.certificate)), server).session)
  }

  @Test func `tickets of TLS 1.3 are handed out once, sessions of TLS 1.2 again and again`() throws {
    let sessions = SessionCache()
    let record = VerdictRecord(chain: [], until: .max)
    sessions.store(try session(.tls13), record, for: key)
    #expect(sessions.take(key, now: now) != nil)
    #expect(sessions.take(key, now: now) == nil)
    sessions.store(try session(.tls12), record, for: key)
    #expect(sessions.take(key, now: now) != nil)
    #expect(sessions.take(key, now: now) != nil)
    #expect(sessions.count == 1)
  }

  @Test func `what expired, or belongs to another policy or identity, is not offered`() throws {
    let sessions = SessionCache()
    sessions.store(try session(.tls12), VerdictRecord(chain: [], until: now + 10), for: key)
    for other in [
      TrustKey(host: "api.example.com", port: 443, policy: [2], identity: []),
      TrustKey(host: "api.example.com", port: 443, policy: [1], identity: [9]),
      TrustKey(host: "api.example.com", port: 8443, policy: [1], identity: []),
      TrustKey(host: "b.example.com", port: 443, policy: [1], identity: []),
    ] { #expect(sessions.take(other, now: now) == nil) }
    #expect(sessions.take(key, now: now) != nil)
    #expect(sessions.take(key, now: now + 11) == nil)
    #expect(sessions.count == 0)
  }

  @Test func `it is bounded, and a reload retires what it changed`() throws {
    let sessions = SessionCache(limit: 3, limitPerKey: 2)
    let record = VerdictRecord(chain: [], until: .max)
    for _ in 0..<4 { sessions.store(try session(.tls13), record, for: key) }
    #expect(sessions.count == 2)
    for port: UInt16 in 1...3 {
      sessions.store(try session(.tls13), record, for: TrustKey(host: "b", port: port, policy: [2], identity: []))
    }
    #expect(sessions.count == 3)
    #expect(sessions.take(key, now: now) == nil)
    sessions.retire { $0.port != 2 }
    #expect(sessions.count == 2)
  }
}
