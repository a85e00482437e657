import EventIO

/// Looks now and then whether the single try of a hop is still one. By time, so that requests which are no such try pay nothing.
final class ClaimWatch: EventHandler {
  /// Nanoseconds until the first look: an app that sends head and body in two pieces has sent both.
  private static let first: Int64 = 10_000_000
  private static let interval: Int64 = 50_000_000
  /// Nanoseconds until others may try, if nobody looks any more.
  static let lease: Int64 = 5_000_000_000

  /// nil: it was stopped.
  private var look: (() -> Void)?

  init(on loop: EventLoop, _ look: @escaping () -> Void) {
    self.look = look
    super.init()
    loop.arm(self, at: loop.now + Self.first)
  }

  func stop(on loop: EventLoop) {
    look = nil
    loop.forget(self)
  }

  override func expired(on loop: EventLoop) {
    look?()
    if look != nil { loop.arm(self, at: loop.now + Self.interval) }
  }
}
