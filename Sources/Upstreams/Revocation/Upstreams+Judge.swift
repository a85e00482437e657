import EventIO
import Trust

extension Upstreams {
  /// Judges whether certificates are revoked, for a connection that leads to no origin and has no pool: that to a token store. Fetches
  /// the answers that are missing.
  /// - Parameter done: called once, on the loop and perhaps at once, with the seconds since 1970 until when the verdict holds.
  public func judge(_ check: RevocationCheck, done: @escaping (Result<Int64, TrustRefusal>) -> Void) {
    Judgement(check, self, done).proceed()
  }

  private final class Judgement: RevocationWaiter {
    private var check: RevocationCheck
    private unowned let upstreams: Upstreams
    private let done: (Result<Int64, TrustRefusal>) -> Void

    init(_ check: RevocationCheck, _ upstreams: Upstreams, _ done: @escaping (Result<Int64, TrustRefusal>) -> Void) {
      self.check = check
      self.upstreams = upstreams
      self.done = done
    }

    func revocationAnswered() { proceed() }

    func proceed() {
      switch check.next(upstreams.shared.revocation, now: wallClockSeconds()) {
      case .fetch(let request): upstreams.revocations.ask(request, for: self)
      case .trusted(let until):
        upstreams.observer.report(check)
        done(.success(until))
      case .refused(let refusal):
        upstreams.observer.report(check)
        done(.failure(refusal))
      }
    }
  }
}
