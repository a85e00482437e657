import EventIO
import Forwarding
import Upstreams

/// An entry with several origins: the next one when one cannot be reached, before a byte of the request was sent.
extension Request {
  /// Goes to the origin that the search has chosen for the next attempt.
  func chooseOrigin() {
    guard let way, let search = way.search else { return }
    search.choose(within: way.entry.timeouts.connect)
    let pool = tunnelled(
      services.pool(of: search.index, search.list, of: way.entry, in: snapshot), way.entry, way.rules)
    if pool !== way.pool {
      address(from: way.pool.origin.authority, to: pool.origin.authority)
      self.way?.pool = pool
    }
    if search.isTrial { pool.dropIdle() }
  }

  /// Changes Host in the head, which is the only part of it that depends on the origin. What the credential adds comes later.
  private func address(from old: OriginAuthority, to new: OriginAuthority) {
    guard let head = message.head, let line = old.hostLine(in: head.bytes) else { return }
    let next = Block(capacity: head.count - line.count + new.hostLine.count)
    next.append(UnsafeRawBufferPointer(rebasing: head.bytes[..<line.lowerBound]))
    next.append(new.hostLine)
    next.append(UnsafeRawBufferPointer(rebasing: head.bytes[line.upperBound...]))
    message.head = next
  }

  /// No connection could be opened.
  func unreached(_ error: UpstreamError) -> RequestMachine.Input {
    if let search = way?.search, let input = nextOrigin(search, error) { return input }
    return attemptFailed(.upstream(error), isStale: false)
  }

  /// nil: none is to be tried.
  func nextOrigin(_ search: OriginSearch, _ error: UpstreamError) -> RequestMachine.Input? {
    guard search.failed(error) else { return nil }
    // It was no attempt: nothing was sent.
    record.upstream.attempts -= 1
    return .originFailed
  }

  /// The present origin has had its share of the time.
  /// - Returns: nil: the request waits on.
  func shareEnded(_ search: OriginSearch) -> RequestMachine.Input? {
    guard let way else { return .timeUp(attempt.waiting) }
    if search.isUnreachable(way.pool) {
      if let input = nextOrigin(search, .connectTimeout) { return input }
    } else if loop.now < search.end {
      // In line for a connection, which another origin does not shorten.
      loop.arm(timer, at: search.end)
      return nil
    }
    return .timeUp(attempt.waiting)
  }
}
