import Dispatch

extension DispatchQueue {
  /// Runs `body` on this queue and waits for it, at most this long, as files, pipes and terminals may hang forever.
  /// - Parameter milliseconds: from now, including the time in the queue.
  /// - Returns: nil after the deadline. Then `body` still runs, and its result is dropped.
  public func run<Result: Sendable>(within milliseconds: Int, _ body: @escaping @Sendable () -> Result) -> Result? {
    let outcome = Handover<Result>()
    async { @Sendable in outcome.put(body()) }
    return outcome.take(within: milliseconds)
  }
}
