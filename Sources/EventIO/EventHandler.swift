/// What a loop calls back: one subclass per kind of descriptor or timer. A vtable call; no closure, no existential.
///
/// A handler has one timer. Arming it again for later only stores the new deadline; the wheel looks again when the old one
/// comes (`EventLoop.arm`).
open class EventHandler {
  /// Nanoseconds of the monotonic clock; `Int64.max` = none.
  public internal(set) var deadline = Int64.max

  // The wheel's list that this handler stands in. The forward link owns.
  var timerNext: EventHandler?
  unowned(unsafe) var timerPrevious: EventHandler?
  /// Level << 6 | slot of the wheel; -1 = in no list.
  var timerSlot: Int16 = -1
  /// Nanoseconds: when the wheel looks at that list, at the latest. A deadline behind it needs no other list.
  var timerLooks: Int64 = 0
  var isOnReadyList = false

  public init() {}

  /// Something happened to the descriptor (`events`: epoll's bits), or, with no bit set, it is this handler's turn on the ready list.
  open func ready(_ events: UInt32, on loop: EventLoop) {}

  /// The deadline has passed. The timer is not armed any more.
  open func expired(on loop: EventLoop) {}
}
