import EventIO

/// The deadline of moving bytes: each byte that moves postpones it. It is itself what is armed, so that a byte costs no more than a store.
class Pulse: EventHandler {
  private let loop: EventLoop
  /// Nanoseconds within which a byte must move.
  final var limit = standardLimit

  static let standardLimit: Int64 = 30_000_000_000

  init(on loop: EventLoop) { self.loop = loop }

  @inline(__always)
  final func moved() { loop.arm(self, at: loop.now + limit) }
}
