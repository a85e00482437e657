import CSystem
import Dispatch

/// Delivers signals as calls on its own queue.
public final class Signals {
  private let queue = DispatchQueue(label: "signals")
  private var sources: [any DispatchSourceSignal] = []

  public init() { csys_ignore_signal(SIGPIPE) }

  /// Calls `handler` for each signal, instead of its default action. When it returns, no signal is lost any more: Dispatch registers
  /// sources later on a thread of its own, and a signal that comes before is ignored.
  public func on(_ number: Int32, _ handler: @escaping @Sendable () -> Void) {
    csys_ignore_signal(number)
    let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
    source.setEventHandler { @Sendable in handler() }
    let registered = DispatchSemaphore(value: 0)
    source.setRegistrationHandler { @Sendable in registered.signal() }
    source.resume()
    registered.wait()
    sources.append(source)
  }
}
