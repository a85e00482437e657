/// What a driver keeps of each stream of a session, and which of them something has come for.
public struct StreamTable<Stream: AnyObject> {
  @usableFromInline struct Place {
    /// 0: free.
    @usableFromInline var id: Int32 = 0
    @usableFromInline var stream: Stream?
    @usableFromInline var isTouched = false
    @usableFromInline init() {}
  }
  /// By `StreamTicket.index`.
  @usableFromInline var places = ContiguousArray<Place>()
  /// In order; those before `next` were given out.
  @usableFromInline var touched = ContiguousArray<StreamTicket>()
  @usableFromInline var next = 0

  public init() {}

  @inlinable
  public mutating func insert(_ stream: Stream, _ ticket: StreamTicket) {
    let index = Int(ticket.index)
    while places.count <= index { places.append(Place()) }
    places[index].id = ticket.id
    places[index].stream = stream
    places[index].isTouched = false
  }

  /// - Returns: whether it was there.
  @inlinable @discardableResult
  public mutating func remove(_ ticket: StreamTicket) -> Bool {
    guard contains(ticket) else { return false }
    places[Int(ticket.index)] = Place()
    return true
  }

  @inlinable
  public var all: [Stream] { places.compactMap(\.stream) }

  @inlinable
  func contains(_ ticket: StreamTicket) -> Bool {
    Int(ticket.index) < places.count && places[Int(ticket.index)].id == ticket.id
  }

  /// The stream, for which something has come: `nextTouched` will give it once. nil: it was removed.
  @inlinable @discardableResult
  public mutating func touch(_ ticket: StreamTicket) -> Stream? {
    guard contains(ticket) else { return nil }
    let index = Int(ticket.index)
    if !places[index].isTouched {
      places[index].isTouched = true
      touched.append(ticket)
    }
    return places[index].stream
  }

  /// The next stream for which something has come; nil: none is left. The caller may change the table before it asks again.
  @inlinable
  public mutating func nextTouched() -> Stream? {
    while next < touched.count {
      let ticket = touched[next]
      next += 1
      guard contains(ticket), places[Int(ticket.index)].isTouched else { continue }
      places[Int(ticket.index)].isTouched = false
      return places[Int(ticket.index)].stream
    }
    touched.removeAll(keepingCapacity: true)
    next = 0
    return nil
  }
}
