import EventIO
import Trust

/// What happens on one loop, told to whoever logs and counts it. Called on the loop; must not block.
open class LoopObserver {
  public init() {}
  /// A request has ended, whoever answered it.
  open func ended(_ request: borrowing Summary) {}
  open func descriptorsExhausted() {}
  /// Something an operator should know, already free of secrets.
  open func notice(_ message: String) {}
  /// - Parameters: where the answer came from (`staple`, `cache`, `ocsp`, `crl`), and what it was.
  open func revocationChecked(source: String, result: String) {}
  /// A connection was trusted with something that should be known.
  open func trustWarned(_ warning: TrustWarning) {}
}

extension LoopObserver {
  /// What was found on the way to a verdict.
  func report(_ check: RevocationCheck) {
    for observation in check.observations {
      revocationChecked(source: observation.source.rawValue, result: observation.result.rawValue)
    }
    for warning in check.warnings { trustWarned(warning) }
  }
}
