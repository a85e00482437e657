import EventIO

/// The time limit of one transfer. libcurl's own looks at the clock before it looks at the socket: after the whole process was stopped for
/// longer, it would throw away an answer that has come meanwhile, and with it a token that cannot be had again.
final class FetchDeadline: EventHandler {
  /// Nanoseconds. A timer that comes so late was held up with the process; what lies in sockets gets as long again to be read.
  private static let oversleep: Int64 = 1_000_000_000

  private weak var transfer: FetchTransfer?
  private let due: Int64
  private var hasOverslept = false

  /// - Parameter timeout: milliseconds.
  init(of transfer: FetchTransfer, timeout: Int, on loop: EventLoop) {
    self.transfer = transfer
    due = loop.clock() + Int64(timeout) * 1_000_000
    super.init()
    loop.arm(self, afterMilliseconds: timeout)
  }

  override func expired(on loop: EventLoop) {
    if !hasOverslept, loop.clock() >= due + Self.oversleep {
      hasOverslept = true
      return loop.arm(self, afterMilliseconds: Int(Self.oversleep / 1_000_000))
    }
    transfer?.timeUp()
  }
}
