import EventIO
import Trust

/// What happens on one loop, told to whoever logs and counts it. Called on the loop; must not block.
open class LoopObserver {
  public init() {}
  /// A request has ended, whoever answered it.
  open func ended(_ request: borrowing Summary) {}
  open func descriptorsExhausted() {}
  /// A credential's life; told on its home loop only.
  open func credential(_ name: String, _ event: CredentialEvent) {}
  /// Something an operator should know, already free of secrets.
  open func notice(_ message: String) {}
  /// A connection was refused. `upstream` is an entry's name.
  open func trustFailed(upstream: String, _ refusal: TrustRefusal) {}
  /// One answer about revocation, or the lack of one.
  open func revocationChecked(_ observation: RevocationCheck.Observation) {}
  /// A connection was trusted with something that should be known.
  open func trustWarned(_ warning: TrustWarning) {}
  /// When the leaf that `upstream` showed last expires, in seconds since 1970.
  open func certificateSeen(upstream: String, notAfter: Int64) {}
}
