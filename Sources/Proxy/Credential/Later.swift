import EventIO

/// Runs a closure on a loop after a delay.
final class Later: EventHandler {
  private let body: () -> Void
  private init(_ body: @escaping () -> Void) { self.body = body }

  static func run(on loop: EventLoop, afterMilliseconds delay: Int, _ body: @escaping () -> Void) {
    loop.arm(Later(body), afterMilliseconds: delay)
  }
  override func expired(on loop: EventLoop) { body() }
}
