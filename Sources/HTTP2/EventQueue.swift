/// Events in order. Its memory is kept, as it is empty after each turn.
struct EventQueue {
  private var events = ContiguousArray<SessionEvent>()
  private var first = 0

  var isEmpty: Bool { first == events.count }

  mutating func append(_ event: SessionEvent) { events.append(event) }

  mutating func next() -> SessionEvent? {
    guard first < events.count else { return nil }
    let event = events[first]
    first += 1
    if first == events.count {
      events.removeAll(keepingCapacity: events.capacity <= 4096)
      first = 0
    }
    return event
  }
}
