import EventIO
import HTTPWire
import TLS
import Trust

/// The trust gate: between a handshake, or the expiry of a verdict, and the next byte. While it is closed, the proxy writes
/// nothing, no loop blocks, and the connect timeout does not run.
extension UpstreamConnection: RevocationWaiter {
  /// Starts after the handshake. A resumed session showed no certificate, so the verdict stored with that session is used.
  func judge() {
    guard let tls = stream.tls else { return offer(isNew: true) }
    if tls.isResumed {
      guard let offered else {
        let detail = "a session without a verdict was resumed"
        return refuse(PeerRefusal(evaluator: "default", reason: .verdictExpired, detail: detail))
      }
      verdict = offered
    } else {
      if let leaf = tls.peerChain.first { pool.certificateExpiry = leaf.notAfter }
      verdict = VerdictRecord(chain: pool.shared(tls.verifiedChain), until: 0, staple: tls.stapledOCSP)
    }
    offered = nil
    tls.dropChains()
    enterGate()
  }

  /// Judges a pooled connection whose verdict has expired, before it is lent again.
  func judgeAgain() {
    isJudgedAgain = true
    enterGate()
  }

  /// Whether its verdict is still valid.
  @inline(__always)
  func isTrusted(at now: Int64) -> Bool { now < trustedUntil }

  /// The policy by which its TLS is judged, which is the origin's, or that of the parent before an http origin.
  private var trust: TrustMaterial? { origin.trust ?? parent?.trust }
  /// The parent, if it is the one that is judged here.
  private var judgedParent: Parent? { origin.trust == nil ? parent : nil }
  var trustKey: TrustKey { judgedParent?.trustKey ?? pool.trustKey }

  /// The parent was judged before it was asked.
  func adopt(_ verdict: VerdictRecord) {
    self.verdict = verdict
    isTrusted(until: verdict.until)
  }

  private func enterGate() {
    guard let verdict, let trust, let tls = stream.tls else { return offer(isNew: !isJudgedAgain) }
    // Streams in progress go on.
    if carrier == nil {
      phase = .judging
      loop.forget(self)
    }
    gate = trust.evaluation.gate(
      host: tls.peerName, chain: verdict.chain, staple: verdict.staple, judgesParent: judgedParent != nil)
    passGate()
  }

  func revocationAnswered() {
    if phase == .judging || phase == .carrying { passGate() }
  }

  private func passGate() {
    guard let action = gate?.next(upstreams.shared.revocation, now: wallClockSeconds()) else { return }
    switch action {
    case .fetch(let request): upstreams.revocations.ask(request, for: self)
    case .refused(let refusal):
      report()
      refuse(refusal)
    case .trusted(let until):
      report()
      trusted(until: until)
    }
  }

  private func trusted(until: Int64) {
    let isNew = !isJudgedAgain
    gate = nil
    isJudgedAgain = false
    verdict?.until = until
    isTrusted(until: until)
    secured = loop.clock()
    offer(isNew: isNew)
  }

  /// - Parameter until: seconds since 1970.
  private func isTrusted(until: Int64) {
    trustedUntil = deadline(of: until)
    usesAnswersAt = loop.now + (trustedUntil - loop.now) / 2
  }

  /// Looks up the revocation answers that this connection relies on. Answers that are looked up count as used, and are fetched
  /// again before they expire. Otherwise those of a long-lived connection would expire unnoticed.
  func useAnswers() {
    usesAnswersAt = Int64.max
    guard let verdict, let trust, let tls = stream.tls else { return }
    var look = trust.evaluation.gate(
      host: tls.peerName, chain: verdict.chain, staple: verdict.staple, judgesParent: judgedParent != nil)
    _ = look.next(upstreams.shared.revocation, now: wallClockSeconds())
  }

  func refuse(_ refusal: TrustRefusal) {
    gate = nil
    verdict = nil
    let judged = judgedParent.map { "parent \($0.name)" } ?? pool.upstream
    upstreams.observer.trustFailed(upstream: judged, evaluator: refusal.evaluator, reason: refusal.reason)
    if refusal.reason == .revoked, judgedParent == nil { upstreams.revoked?(origin.identity) }
    // A pooled connection is just closed. The pool opens and judges another one for the request that would have got it.
    if let carrier {
      isJudgedAgain = false
      carrier.retire(within: pool.timeouts.drain)
      return pool.judged(carrier)
    }
    if isJudgedAgain { return close() }
    failOpening(
      .untrusted(evaluator: refusal.evaluator, reason: refusal.reason.rawValue, detail: refusal.detail + issuerBehindParent))
  }

  /// A chain that fails behind a parent: that is how TLS inspection looks, and the issuer says whose.
  private var issuerBehindParent: String {
    guard let parent else { return "" }
    let issuer = stream.tls?.leafIssuer.map { ", issued by \($0)" } ?? ""
    return "; behind the parent \(parent.name)\(issuer)"
  }

  private func report() {
    if let gate { upstreams.observer.report(gate) }
  }

  /// Seconds since 1970 as nanoseconds of the loop's clock. The result is at least one second ahead: otherwise a verdict that
  /// ends within this second would be requested again and again.
  private func deadline(of until: Int64) -> Int64 {
    let seconds = max(until - min(wallClockSeconds(), until), 1)
    let (nanoseconds, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (deadline, beyond) = loop.now.addingReportingOverflow(nanoseconds)
    return overflow || beyond ? Int64.max : deadline
  }
}
