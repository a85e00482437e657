import EventIO
import HTTPWire
import TLS
import Trust

/// The gate between a handshake, or a verdict that has run out, and the next byte. While it is closed nothing is written, no
/// loop waits, and the connect timeout does not run.
extension UpstreamConnection: RevocationWaiter {
  /// Begins after the handshake. Where a session was resumed no certificate was seen: the record of that session speaks.
  func judge() {
    guard let tls = stream.tls else { return pool.opened(self) }
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

  /// A pooled connection whose verdict has run out, before it is lent again.
  func judgeAgain() {
    isJudgedAgain = true
    enterGate()
  }

  /// Whether its verdict still holds.
  @inline(__always)
  func isTrusted(at now: Int64) -> Bool { now < trustedUntil }

  private func enterGate() {
    guard let verdict, let trust = origin.trust, let tls = stream.tls else { return pool.opened(self) }
    phase = .judging
    loop.forget(self)
    gate = trust.evaluation.gate(host: tls.peerName, chain: verdict.chain, staple: verdict.staple)
    passGate(waited: false)
  }

  func revocationAnswered() {
    if phase == .judging { passGate(waited: true) }
  }

  private func passGate(waited: Bool) {
    guard let action = gate?.next(upstreams.shared.revocation, now: wallClockSeconds()) else { return }
    switch action {
    case .fetch(let request): upstreams.revocations.ask(request, for: self)
    case .refused(let refusal):
      report()
      refuse(refusal)
    case .trusted(let until):
      report()
      trusted(until: until, waited: waited)
    }
  }

  private func trusted(until: Int64, waited: Bool) {
    gate = nil
    isJudgedAgain = false
    verdict?.until = until
    trustedUntil = deadline(of: until)
    usesAnswersAt = loop.now + (trustedUntil - loop.now) / 2
    // Whoever was silent for so long may have left, or said what nobody asked for.
    if waited {
      guard case .quiet = stream.remainder() else { return close() }
    }
    secured = loop.clock()
    pool.opened(self)
  }

  /// A long-lived connection asks nothing, and its answers would run out unnoticed: looked up once, they are answers in use,
  /// which are asked for anew before their time is over.
  func useAnswers() {
    usesAnswersAt = Int64.max
    guard let verdict, let trust = origin.trust, let tls = stream.tls else { return }
    var look = trust.evaluation.gate(host: tls.peerName, chain: verdict.chain, staple: verdict.staple)
    _ = look.next(upstreams.shared.revocation, now: wallClockSeconds())
  }

  func refuse(_ refusal: TrustRefusal) {
    gate = nil
    verdict = nil
    upstreams.observer.trustFailed(upstream: pool.upstream, evaluator: refusal.evaluator, reason: refusal.reason)
    // A pooled one is just closed: the request that would have got it has a connection of its own judged instead.
    if isJudgedAgain { return close() }
    failOpening(.untrusted(evaluator: refusal.evaluator, reason: refusal.reason.rawValue, detail: refusal.detail))
  }

  private func report() {
    if let gate { upstreams.observer.report(gate) }
  }

  /// Seconds since 1970 as nanoseconds of the loop's clock; always ahead, or a verdict of this very second would be asked for
  /// again and again.
  private func deadline(of until: Int64) -> Int64 {
    let seconds = max(until - min(wallClockSeconds(), until), 1)
    let (nanoseconds, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (deadline, beyond) = loop.now.addingReportingOverflow(nanoseconds)
    return overflow || beyond ? Int64.max : deadline
  }
}
