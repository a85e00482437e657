import EventIO

/// The deadline of whatever moves bytes: each byte that moves puts it off.
struct Pulse {
  unowned(unsafe) let loop: EventLoop
  unowned(unsafe) let timer: EventHandler
  /// Nanoseconds in which something has to move.
  var limit: Int64

  @inline(__always)
  func moved() { loop.arm(timer, at: loop.now + limit) }
}
