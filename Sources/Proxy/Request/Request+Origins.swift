import EventIO
import Forwarding
import Upstreams

/// An entry with several origins: the next one when one cannot be reached, before a byte of the request was sent.
extension Request {
  /// Goes to the origin that the search has chosen for the next attempt.
  func chooseOrigin() {
    guard let way, let search = way.search else { return }
    search.choose(within: way.entry.timeouts.connect, by: witness)
    let pool = tunnelled(
      services.pool(of: search.index, search.list, of: way.entry, in: snapshot), way.entry, way.rules)
    if pool !== way.pool {
      address(from: way.pool.origin.authority, to: pool.origin.authority)
      self.way?.pool = pool
    }
    if search.isTrial { pool.beginAnew() }
    if search.isSingle { search.keepSingle { [unowned self] in isWithOrigin } }
  }

  /// Whether the origin, or its parent, is to act next: not the proxy, for example because it waits for a token, nor the app that sends its body.
  var isWithOrigin: Bool {
    switch machine.phase {
    case .connecting: true
    case .exchanging: attempt.upload.isOver || attempt.upload.isPending || attempt.awaitsContinue
    default: false
    }
  }

  /// A hash of the client and its target without the query: that varies in what an app asks for, and so a second one proves little more.
  private var witness: Int {
    var hasher = Hasher()
    if let name = record.client {
      hasher.combine(name)
    } else if let words = app.peer.words {
      hasher.combine(words.high)
      hasher.combine(words.low)
    }
    let parts = message.head?.bytes.split(separator: UInt8(ascii: " "), maxSplits: 2)
    if let parts, parts.count > 1 {
      let path = parts[1].prefix { $0 != UInt8(ascii: "?") }
      hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: path))
    }
    return hasher.finalize()
  }

  /// The same, of the parent at the other end of this connection.
  func isWith(_ absolute: AbsoluteForm) -> Bool { attempt.exchange?.connection?.absolute === absolute && isWithOrigin }

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
    // There was one, which ended before it took a request.
    if error.isUnprocessed { return exchangeFailed(error) }
    return attemptFailed(.upstream(error), isStale: false)
  }

  /// nil: none is to be tried.
  func nextOrigin(_ search: OriginSearch, _ error: UpstreamError) -> RequestMachine.Input? {
    guard search.failed(error) else { return nil }
    // It was no attempt: nothing was sent.
    record.upstream.attempts -= 1
    return .originFailed
  }

  /// Whether a head (`Upstreams.responseHead`, over `bytes`) shows that its origin works. An interim one does not, as anything may follow
  /// it, nor one that does not say where its message ends.
  func isAnswer(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard !services.upstreams.responseHead.isInterim else { return false }
    return (try? services.upstreams.responseHead.framing(to: message.outbound.method, in: bytes)) != nil
  }

  /// The present origin has had its share of the time.
  /// - Returns: nil: the request waits on.
  func shareEnded(_ search: OriginSearch) -> RequestMachine.Input? {
    guard let way else { return .timeUp(attempt.waiting) }
    if let error = search.hung(way.pool) {
      if let input = nextOrigin(search, error) { return input }
    } else if loop.now < search.end {
      // In line for a connection, which another origin does not shorten.
      loop.arm(timer, at: search.end)
      return nil
    }
    return .timeUp(attempt.waiting)
  }
}
