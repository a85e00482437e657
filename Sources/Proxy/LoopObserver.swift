import EventIO

/// What happens on one loop, told to whoever logs and counts it. Called on the loop; must not block.
open class LoopObserver {
  public init() {}
  /// A request has ended, whoever answered it.
  open func ended(_ request: borrowing Summary) {}
  open func descriptorsExhausted() {}
  /// Something an operator should know, already free of secrets.
  open func notice(_ message: String) {}
}
