/// What a loop calls back: one subclass per kind of descriptor or timer. A call through the vtable, without closure or
/// existential.
///
/// A handler has one timer. Arming it again for a later time only stores the new deadline; the wheel checks it when the old one
/// comes (`EventLoop.arm`).
open class EventHandler {
  /// Nanoseconds of the monotonic clock; `Int64.max` = none.
  public internal(set) var deadline = Int64.max

  // The wheel's list that contains this handler. The forward link owns.
  var timerNext: EventHandler?
  unowned(unsafe) var timerPrevious: EventHandler?
  /// Level of the wheel shifted left by 6, or'ed with the slot; -1 = in no list.
  var timerSlot: Int16 = -1
  /// Nanoseconds: the latest time at which the wheel checks that list. A later deadline needs no other list.
  var timerLooks: Int64 = 0
  var isOnReadyList = false

  public init() {}

  /// The descriptor has an event (`events`: epoll's bits). With no bit set, it is this handler's turn on the ready list.
  open func ready(_ events: UInt32, on loop: EventLoop) {}

  /// The deadline has passed. The timer is no longer armed.
  open func expired(on loop: EventLoop) {}
}
