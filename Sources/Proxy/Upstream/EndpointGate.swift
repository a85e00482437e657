import Fetch
import HTTPWire
import TLS
import Trust

/// Revocation for token endpoints: asked where libcurl is about to send. What has to be fetched first has the transfer given up,
/// before a byte of it was sent, and begun again.
final class EndpointGate: FetchGate {
  private unowned let worker: Worker
  init(_ worker: Worker) { self.worker = worker }

  func judge(_ handshake: ForeignHandshake, staple: [UInt8]?, under trust: FetchTrust) -> FetchGateVerdict {
    var check = trust.evaluation.gate(host: handshake.host, chain: handshake.verifiedChain, staple: staple)
    switch check.next(worker.shared.revocation, now: wallClockSeconds()) {
    case .trusted:
      worker.observer.report(check)
      return .pass
    case .refused(let refusal):
      worker.observer.report(check)
      return .refuse(refusal)
    case .fetch(let request):
      return .wait { [worker] resume in worker.revocations.ask(request, for: Wait(check, worker, resume)) }
    }
  }

  /// Asks all that is to be asked about one chain: the transfer then begins again once, with every answer in the cache.
  private final class Wait: RevocationWaiter {
    private var check: RevocationCheck
    private unowned let worker: Worker
    private let resume: () -> Void

    init(_ check: RevocationCheck, _ worker: Worker, _ resume: @escaping () -> Void) {
      self.check = check
      self.worker = worker
      self.resume = resume
    }

    func revocationAnswered() {
      if case .fetch(let request) = check.next(worker.shared.revocation, now: wallClockSeconds()) {
        worker.revocations.ask(request, for: self)
      } else {
        resume()
      }
    }
  }
}
