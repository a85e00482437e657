import CSystem
import Dispatch

/// Signals as calls on a queue of their own.
public final class Signals {
  private let queue = DispatchQueue(label: "signals")
  private var sources: [any DispatchSourceSignal] = []

  public init() { csys_ignore_signal(SIGPIPE) }

  /// Calls `handler` for each arrival of the signal; its default action no longer happens.
  public func on(_ number: Int32, _ handler: @escaping @Sendable () -> Void) {
    csys_ignore_signal(number)
    let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
    source.setEventHandler { @Sendable in handler() }
    source.resume()
    sources.append(source)
  }
}
