/// Hierarchical timing wheel: four levels of 64 slots, with ticks of 16 ms: 1 s, 65 s, 70 min, 74 h. Arming, disarming and
/// moving are O(1). A handler never fires early, and at most one tick plus the loop's own delay late.
final class TimerWheel {
  static let tick: Int64 = 16_000_000
  private static let bits = 6
  private static let levels = 4

  /// Sentinels: `slots[level << 6 | slot].timerNext` is the first handler of that list.
  private let slots: ContiguousArray<EventHandler>
  private var occupied: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
  /// Everything up to this tick has fired.
  private var current: Int64
  /// The last result; nil after a slot was filled or emptied. Most turns only move timers to a later time, which changes no
  /// slot.
  private var earliestTick: Int64?

  init(now: Int64) {
    slots = ContiguousArray((0..<(Self.levels << Self.bits)).map { _ in EventHandler() })
    current = now / Self.tick
  }

  func insert(_ handler: EventHandler) {
    // Rounded up, so never early. A deadline in the past fires at the next tick.
    var due = max((handler.deadline &+ (Self.tick - 1)) / Self.tick, current + 1)
    due = min(due, current + (1 << (Self.bits * Self.levels)) - 1)
    let distance = due - current
    var level = 0
    while distance >> Int64(Self.bits * (level + 1)) != 0 { level += 1 }
    let position = due >> Int64(Self.bits * level)
    link(handler, level << Self.bits | Int(position & 63), looks: position << Int64(Self.bits * level))
    setOccupied(level, Int(position & 63), true)
  }

  func remove(_ handler: EventHandler) {
    guard handler.timerSlot >= 0 else { return }
    let slot = Int(handler.timerSlot)
    unlink(handler)
    if slots[slot].timerNext == nil { setOccupied(slot >> Self.bits, slot & 63, false) }
  }

  /// Nanoseconds until the wheel has work; nil = nothing is armed.
  func delay(from now: Int64) -> Int64? {
    if earliestTick == nil { earliestTick = findEarliest() }
    guard let tick = earliestTick, tick != Int64.max else { return nil }
    return max(tick * Self.tick - now, 0)
  }

  /// The tick of the first occupied slot; `Int64.max` = none.
  private func findEarliest() -> Int64 {
    var earliest = Int64.max
    for level in 0..<Self.levels {
      let mask = occupiedMask(level)
      if mask == 0 { continue }
      let position = current >> Int64(Self.bits * level)
      let start = Int(position & 63)
      // The first occupied slot after the current one, cyclically.
      let rotated = mask >> UInt64(start) | (start == 0 ? 0 : mask << UInt64(64 - start))
      var ahead = Int64(rotated.trailingZeroBitCount)
      if ahead == 0 { ahead = (rotated & ~1) == 0 ? 64 : Int64((rotated & ~1).trailingZeroBitCount) }
      let due = (position + ahead) << Int64(Self.bits * level)
      earliest = min(earliest, due)
    }
    return earliest
  }

  /// Moves to `now` and returns the due handlers, one at a time.
  func advance(to now: Int64, fire: (EventHandler) -> Void) {
    let target = now / Self.tick
    if occupied == (0, 0, 0, 0) {
      current = max(current, target)
      return
    }
    while current < target {
      current += 1
      var level = 1
      while level < Self.levels, current & ((1 << Int64(Self.bits * level)) - 1) == 0 {
        cascade(level)
        level += 1
      }
      let slot = Int(current & 63)
      if occupied.0 & (1 << UInt64(slot)) == 0 { continue }
      setOccupied(0, slot, false)
      while let handler = slots[slot].timerNext {
        unlink(handler)
        if handler.deadline > now {
          if handler.deadline != Int64.max { insert(handler) }
        } else {
          handler.deadline = Int64.max
          fire(handler)
        }
      }
    }
  }

  private func cascade(_ level: Int) {
    let index = Int(current >> Int64(Self.bits * level)) & 63
    guard occupiedMask(level) & (1 << UInt64(index)) != 0 else { return }
    setOccupied(level, index, false)
    let list = slots[level << Self.bits | index]
    while let handler = list.timerNext {
      unlink(handler)
      // A handler due in this tick belongs into the slot that is being emptied.
      let due = max((handler.deadline &+ (Self.tick - 1)) / Self.tick, current)
      if due == current {
        link(handler, Int(current & 63), looks: current)
        setOccupied(0, Int(current & 63), true)
      } else if handler.deadline != Int64.max {
        insert(handler)
      }
    }
  }

  /// - Parameter tick: when the wheel checks the slot's list.
  private func link(_ handler: EventHandler, _ slot: Int, looks tick: Int64) {
    let head = slots[slot]
    handler.timerNext = head.timerNext.take()
    handler.timerNext?.timerPrevious = handler
    handler.timerPrevious = head
    head.timerNext = handler
    handler.timerSlot = Int16(slot)
    handler.timerLooks = tick * Self.tick
  }

  private func unlink(_ handler: EventHandler) {
    let next = handler.timerNext.take()
    let previous = handler.timerPrevious
    handler.timerPrevious = nil
    handler.timerSlot = -1
    next?.timerPrevious = previous
    previous?.timerNext = next
  }

  private func occupiedMask(_ level: Int) -> UInt64 {
    switch level {
    case 0: occupied.0
    case 1: occupied.1
    case 2: occupied.2
    default: occupied.3
    }
  }

  private func setOccupied(_ level: Int, _ slot: Int, _ value: Bool) {
    earliestTick = nil
    let bit: UInt64 = 1 << UInt64(slot)
    switch level {
    case 0: occupied.0 = value ? occupied.0 | bit : occupied.0 & ~bit
    case 1: occupied.1 = value ? occupied.1 | bit : occupied.1 & ~bit
    case 2: occupied.2 = value ? occupied.2 | bit : occupied.2 & ~bit
    default: occupied.3 = value ? occupied.3 | bit : occupied.3 & ~bit
    }
  }
}
