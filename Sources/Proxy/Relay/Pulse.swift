import EventIO

/// The deadline of moving bytes: each byte that moves postpones it.
struct Pulse {
  unowned(unsafe) let loop: EventLoop
  unowned(unsafe) let timer: EventHandler
  /// Nanoseconds within which a byte must move.
  var limit: Int64

  @inline(__always)
  func moved() { loop.arm(timer, at: loop.now + limit) }
}
