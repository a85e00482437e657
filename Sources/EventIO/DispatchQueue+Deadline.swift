import Dispatch

extension DispatchQueue {
  /// Runs `body` on this queue and waits for its end, but no longer than this: what touches a file, a pipe or a terminal may hang
  /// for ever.
  /// - Parameter milliseconds: counts from now, so that waiting for what is before it on the queue is included.
  /// - Returns: nil if time was up. Then `body` still runs, and its result is dropped.
  public func run<Result: Sendable>(within milliseconds: Int, _ body: @escaping @Sendable () -> Result) -> Result? {
    let outcome = Handover<Result>()
    async { @Sendable in outcome.put(body()) }
    return outcome.take(within: milliseconds)
  }
}
