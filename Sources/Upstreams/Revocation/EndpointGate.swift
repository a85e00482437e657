import EventIO
import Fetch
import HTTPWire
import TLS
import Trust

/// Checks revocation for token endpoints, when libcurl is ready to send. If an answer must be fetched first, the transfer is
/// abandoned before it sends a byte, and begins again afterwards.
final class EndpointGate: FetchGate {
  private unowned let upstreams: Upstreams
  init(_ upstreams: Upstreams) { self.upstreams = upstreams }

  func judge(_ handshake: ForeignHandshake, staple: [UInt8]?, under trust: TrustMaterial) -> FetchGateVerdict {
    var check = trust.evaluation.gate(host: handshake.host, chain: handshake.verifiedChain, staple: staple)
    switch check.next(upstreams.shared.revocation, now: wallClockSeconds()) {
    case .trusted:
      upstreams.observer.report(check)
      return .pass
    case .refused(let refusal):
      upstreams.observer.report(check)
      return .refuse(refusal)
    case .fetch(let request):
      return .wait { [upstreams] resume in upstreams.revocations.ask(request, for: Wait(check, upstreams, resume)) }
    }
  }

  /// Fetches all answers that one chain needs. The transfer then begins again once, with every answer in the cache.
  private final class Wait: RevocationWaiter {
    private var check: RevocationCheck
    private unowned let upstreams: Upstreams
    private let resume: () -> Void

    init(_ check: RevocationCheck, _ upstreams: Upstreams, _ resume: @escaping () -> Void) {
      self.check = check
      self.upstreams = upstreams
      self.resume = resume
    }

    func revocationAnswered() {
      if case .fetch(let request) = check.next(upstreams.shared.revocation, now: wallClockSeconds()) {
        upstreams.revocations.ask(request, for: self)
      } else {
        resume()
      }
    }
  }
}
