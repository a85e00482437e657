import CSystem

/// A registration. Events match by slot and generation, never by pointer, as a batch can contain events of a descriptor that
/// was closed in the same batch.
public struct Token: Equatable {
  let raw: UInt64
  var slot: Int { Int(raw & 0xffff_ffff) }
  var generation: UInt32 { UInt32(raw >> 32) }
}

/// One thread's event loop. Not Sendable: the compiler confines it and its handlers to that thread. Other threads hold its
/// `executor`.
public final class EventLoop {
  private struct Slot {
    var generation: UInt32 = 0
    var handler: EventHandler?
  }

  /// Descriptors whose events one turn takes.
  private static let batch = 64
  /// Descriptors that make a turn busy. With few, waiting costs more than it saves: with two or more it was a tenth at 2,000 requests per
  /// second.
  private static let crowd = 16

  public let executor: LoopExecutor
  public var blocks = BlockPool()
  public var pipes = PipePool()
  /// Nanoseconds of the monotonic clock, read once per turn.
  public private(set) var now: Int64
  /// Many other descriptors are ready, too, in this turn. A small message that waits for the turn's end, by `again`, leaves in one burst with
  /// others: its receiver is awake already, or is woken once for all. False once as many wait as a turn takes descriptors: what is ready on
  /// one may be any number of messages, each with blocks of its own.
  public var isBusy: Bool { isCrowded && readyList.count < Self.batch }
  /// More descriptors were ready than one turn takes: the loop is behind with its work.
  public private(set) var isBehind = false
  /// Counts the turns.
  public private(set) var turn: UInt64 = 0
  /// The program's own state per loop, one object per type. The loop owns it, as the loop outlives everything in it.
  private var residents: [ObjectIdentifier: AnyObject] = [:]
  public internal(set) lazy var resolver = Resolver(loop: self)

  private let epoll: Int32
  private let wheel: TimerWheel
  private var slots = ContiguousArray<Slot>()
  private var free = ContiguousArray<UInt32>()
  private var isCrowded = false
  private var yieldsNext = false
  private var yields = YieldPolicy()
  private var readyList = ContiguousArray<EventHandler>()
  private var readyBatch = ContiguousArray<EventHandler>()

  init(_ executor: LoopExecutor) {
    self.executor = executor
    now = csys_monotonic()
    wheel = TimerWheel(now: now)
    epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    precondition(epoll >= 0, "epoll_create1 failed")
    // Without it no message reaches the loop, so the process is useless.
    precondition(register(executor.wakeup, Wakeup(), interest: CSYS_LEVEL_IN) != nil, "no room for the loop's own descriptor")
  }

  // MARK: Residents

  /// Leaves an object with the loop, for messages from other loops to find.
  public func install<Resident: AnyObject>(_ resident: Resident) { residents[ObjectIdentifier(Resident.self)] = resident }

  /// The object of that type that was left with the loop; must be there.
  public func resident<Resident: AnyObject>(_ type: Resident.Type) -> Resident {
    guard let resident = residents[ObjectIdentifier(type)] as? Resident else { preconditionFailure("no \(type) on this loop") }
    return resident
  }

  // MARK: Descriptors

  /// Registers a descriptor for its whole life: edge-triggered in both directions, unless `interest` says otherwise.
  /// - Returns: nil if the kernel has no room for another registration (epoll_ctl(2), ENOSPC and ENOMEM). The caller keeps the
  ///   descriptor and acts as when descriptors run out.
  public func register(_ descriptor: Int32, _ handler: EventHandler, interest: UInt32 = CSYS_EDGE) -> Token? {
    if free.isEmpty {
      free.append(UInt32(slots.count))
      slots.append(Slot())
    }
    let slot = free.removeLast()
    slots[Int(slot)].handler = handler
    let token = Token(raw: UInt64(slots[Int(slot)].generation) << 32 | UInt64(slot))
    var event = epoll_event(events: interest, data: epoll_data_t(u64: token.raw))
    guard epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) != 0 else { return token }
    let error = csys_errno()
    precondition(error == ENOSPC || error == ENOMEM, "epoll_ctl(ADD) failed: \(error)")
    retire(token)
    return nil
  }

  /// Changes the events of a level-triggered registration.
  public func change(_ token: Token, descriptor: Int32, interest: UInt32) {
    var event = epoll_event(events: interest, data: epoll_data_t(u64: token.raw))
    _ = epoll_ctl(epoll, EPOLL_CTL_MOD, descriptor, &event)
  }

  /// Gives a registration to another handler, without a system call.
  public func hand(_ token: Token, to handler: EventHandler) {
    precondition(slots[token.slot].generation == token.generation)
    slots[token.slot].handler = handler
  }

  /// Ends a registration before the caller closes its descriptor: events that are still in the batch no longer match.
  public func retire(_ token: Token) {
    precondition(slots[token.slot].generation == token.generation, "retired twice")
    slots[token.slot].generation &+= 1
    slots[token.slot].handler = nil
    free.append(UInt32(token.slot))
  }

  /// Ends a registration whose descriptor stays open (a paused listener, a socket of libcurl).
  public func withdraw(_ token: Token, descriptor: Int32) {
    _ = epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, nil)
    retire(token)
  }

  // MARK: Time

  /// Arms the handler's one timer; `deadline` in nanoseconds of the monotonic clock. A later deadline than before costs one
  /// store.
  @inline(__always)
  public func arm(_ handler: EventHandler, at deadline: Int64) {
    handler.deadline = deadline
    if handler.timerSlot < 0 || handler.timerLooks > deadline { place(handler) }
  }

  private func place(_ handler: EventHandler) {
    wheel.remove(handler)
    wheel.insert(handler)
  }

  public func arm(_ handler: EventHandler, afterMilliseconds delay: Int) {
    arm(handler, at: now &+ Int64(delay) &* 1_000_000)
  }

  /// Disarms without changing the wheel's lists: for a handler that will arm again.
  public func disarm(_ handler: EventHandler) { handler.deadline = Int64.max }

  /// Removes the handler from the wheel, which then no longer keeps it alive.
  public func forget(_ handler: EventHandler) {
    handler.deadline = Int64.max
    wheel.remove(handler)
  }

  /// Reads the clock again, for times that are more precise than a turn.
  public func clock() -> Int64 { csys_monotonic() }

  // MARK: Turns

  /// Puts the handler on the ready list: in the next turn it is called without event bits, and the loop does not sleep before.
  public func again(_ handler: EventHandler) {
    if handler.isOnReadyList { return }
    handler.isOnReadyList = true
    readyList.append(handler)
  }

  /// Connections come in a crowd, each for one request and with several short events, and those who make them often need this processor. They
  /// go first after this turn (`YieldPolicy`): the next one then finds more of them, where the loop would sleep and be woken for each few.
  public func yieldAfterTurn() { yieldsNext = true }

  func run() -> Never {
    let capacity = Self.batch
    let batch = UnsafeMutablePointer<epoll_event>.allocate(capacity: capacity)
    while true {
      let count = Int(csys_epoll_wait(epoll, batch, Int32(capacity), timeout()))
      now = csys_monotonic()
      turn &+= 1
      isCrowded = count >= Self.crowd
      isBehind = count == capacity
      if count > 0 {
        for index in 0..<count {
          let raw = batch[index].data.u64
          let slot = Int(raw & 0xffff_ffff)
          guard slots[slot].generation == UInt32(raw >> 32), let handler = slots[slot].handler else { continue }
          handler.ready(batch[index].events, on: self)
        }
      }
      wheel.advance(to: now) { $0.expired(on: self) }
      if now >= blocks.nextLook { blocks.look(at: now) }
      isCrowded = false
      if !readyList.isEmpty { runReadyList() }
      if yieldsNext { yield() }
    }
  }

  /// Other threads go first, unless there is more to do.
  private func yield() {
    yieldsNext = false
    guard !isBehind, readyList.isEmpty else { return }
    let before = csys_monotonic()
    guard yields.mayYield(at: before) else { return }
    sched_yield()
    now = csys_monotonic()
    yields.ended(at: now, begun: before)
  }

  /// Milliseconds to sleep, as if it still was the beginning of this turn, or the end of its yield: a timer may be late by as long as the
  /// turn has taken, which is no reason to read the clock once more. Where a timer comes within a pause of the pools, their look waits for it.
  private func timeout() -> Int32 {
    if !readyList.isEmpty { return 0 }
    var delay = wheel.delay(from: now) ?? Int64.max
    if delay > BlockPool.pause, blocks.hasSurplus { delay = max(blocks.nextLook - now, 0) }
    if delay == Int64.max { return -1 }
    return Int32(min((delay + 999_999) / 1_000_000, 3_600_000))
  }

  private func runReadyList() {
    swap(&readyList, &readyBatch)
    for handler in readyBatch {
      handler.isOnReadyList = false
      handler.ready(0, on: self)
    }
    readyBatch.removeAll(keepingCapacity: true)
  }
}

private final class Wakeup: EventHandler {
  override func ready(_ events: UInt32, on loop: EventLoop) {
    var count: eventfd_t = 0
    _ = eventfd_read(loop.executor.wakeup, &count)
    for body in loop.executor.take() { body(loop) }
  }
}
