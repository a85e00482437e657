import CSystem
import EventIO
import TLS

/// A byte stream over a connected descriptor: plain, or TLS after `secure`. Or over a `StreamLayer`. Belongs to one loop.
///
/// The only owner of readiness. Descriptors are registered edge-triggered, so a direction stays ready until the kernel or the
/// TLS layer has no more; a caller that stops earlier finds it ready at its next call. After `.later` the stream is not ready
/// until its next event, even if OpenSSL holds a part of a record.
public final class ByteStream {
  public enum Read {
    case bytes(Int)
    /// Nothing before the next event.
    case later
    /// The peer's end: FIN, over TLS close_notify.
    case end
    /// The transport of a TLS stream ended without close_notify, so the data may have been cut (RFC 8446 section 6.1).
    case truncated
    /// `error` says why.
    case failed
  }

  public enum Write {
    /// Often fewer than offered.
    case bytes(Int)
    /// No progress before the next event. The caller must offer the same bytes again, at least as many.
    case later
    case failed
  }

  /// State of a stream after an exchange.
  public enum Remainder {
    /// Nothing unread: the next exchange may begin.
    case quiet
    /// Unexpected bytes.
    case unread
    /// The stream has ended.
    case end
    /// Half a TLS record: the next event will decide.
    case undecided
  }

  public let descriptor: Int32
  /// The descriptor's registration; nil if it has none.
  public var token: Token?
  public private(set) var tls: TLSConnection?
  /// nil: it has a descriptor.
  private let layer: StreamLayer?
  /// The peer has sent its end, or the connection is broken.
  public private(set) var peerEnded = false
  /// Both directions have ended (HUP or ERR).
  public private(set) var isBroken = false
  /// Payload bytes so far.
  public private(set) var bytesWritten = 0
  /// What was written is not whole: it ends without close_notify.
  public var isCut = false
  /// errno of the last failed call; 0 if TLS failed.
  public private(set) var error: Int32 = 0

  @usableFromInline var canRead = true
  /// A short receive no longer proves that the socket is empty: an end follows, or the receive stopped at the mark of TCP
  /// urgent data.
  private var readsToTheEnd = false
  /// Not with splice(2): it stops at TCP urgent data as if there were no more.
  private var mustCopy = false
  /// TLS must write before it can read again.
  private var readAwaitsWriting = false

  /// - Parameter events: those of the descriptor that have come already, as epoll's bits.
  public init(descriptor: Int32, token: Token? = nil, events: UInt32 = 0) {
    self.descriptor = descriptor
    self.token = token
    layer = nil
    note(events)
  }

  public init(over layer: StreamLayer) {
    descriptor = -1
    self.layer = layer
  }

  /// Takes over the connection that won a race.
  public convenience init(_ winner: ConnectionRace.Winner) {
    self.init(descriptor: winner.descriptor, token: winner.token, events: winner.events)
  }

  /// Makes the stream TLS, or TLS inside of its present TLS: `tls` then lies over that. The caller runs the handshake.
  public func secure(_ tls: TLSConnection) {
    tls.becomeEdgeTriggered()
    if readsToTheEnd { tls.noteReadable(readsToTheEnd: true) }
    self.tls = tls
    canRead = true
  }

  /// Takes off the TLS that `secure` put on last, which is of no use any more.
  public func unsecure() {
    tls = tls?.below
    canRead = true
    tls?.noteReadable(readsToTheEnd: true)
  }

  /// Call it for every event of the descriptor, before anything else.
  @inline(__always)
  public func note(_ events: UInt32) {
    let end = EPOLLRDHUP.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue
    if events & (end | EPOLLPRI.rawValue) != 0 {
      readsToTheEnd = true
      if events & EPOLLPRI.rawValue != 0 { mustCopy = true }
      if events & end != 0 { peerEnded = true }
      if events & (EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0 { isBroken = true }
    }
    if events & (EPOLLIN.rawValue | EPOLLPRI.rawValue | end) != 0 {
      canRead = true
      tls?.noteReadable(readsToTheEnd: readsToTheEnd)
    } else if readAwaitsWriting, events & EPOLLOUT.rawValue != 0 {
      canRead = true
    }
  }

  // MARK: Reading

  /// - Parameter space: called only if the stream may have data; not empty.
  @inlinable
  public func read(into space: @autoclosure () -> UnsafeMutableRawBufferPointer) -> Read {
    canRead ? receive(into: space()) : .later
  }

  @usableFromInline
  func receive(into space: UnsafeMutableRawBufferPointer) -> Read {
    if let tls { return decrypt(tls, into: space) }
    if let layer { return layer.read(into: space) }
    let count = Socket.receive(descriptor, space)
    if count > 0, count < space.count { canRead = readsToTheEnd }
    return received(count)
  }

  private func received(_ count: Int) -> Read {
    if count > 0 { return .bytes(count) }
    canRead = false
    if count == -Int(EAGAIN) { return .later }
    peerEnded = true
    if count == 0 { return .end }
    error = Int32(-count)
    return .failed
  }

  private func decrypt(_ tls: TLSConnection, into space: UnsafeMutableRawBufferPointer) -> Read {
    let count = tls.read(into: space)
    if count > 0 { return .bytes(count) }
    canRead = false
    readAwaitsWriting = count == TLSIO.wantWrite
    return ended(count)
  }

  private func ended(_ count: Int) -> Read {
    if count == TLSIO.wantRead || count == TLSIO.wantWrite { return .later }
    peerEnded = true
    switch count {
    case TLSIO.endOfStream: return .end
    case TLSIO.truncated: return .truncated
    default:
      error = 0
      return .failed
    }
  }

  /// Reads only what the TLS layer has already received, without a system call. `.later` means that there is none, and changes
  /// no readiness. So two records of an origin can leave in one write.
  @inlinable
  public func readBuffered(into space: @autoclosure () -> UnsafeMutableRawBufferPointer) -> Read {
    isLayered && canRead ? readLayer(into: space()) : .later
  }

  /// Bytes may have been received that no system call would show.
  @usableFromInline var isLayered: Bool { tls != nil || layer != nil }

  @usableFromInline
  func readLayer(into space: UnsafeMutableRawBufferPointer) -> Read {
    guard let tls else { return layer?.read(into: space) ?? .later }
    let count = tls.readBuffered(into: space)
    if count > 0 { return .bytes(count) }
    if count == TLSIO.wantRead || count == TLSIO.wantWrite { return .later }
    canRead = false
    return ended(count)
  }

  /// A write has failed, and the peer may have said why before it closed: read again without waiting for an event.
  public func readLastWords() {
    canRead = true
    tls?.noteReadable(readsToTheEnd: true)
  }

  /// Whether the next exchange may use this stream. Costs no system call if the last receive was short or empty and no event
  /// has come since.
  public func remainder() -> Remainder {
    if peerEnded { return .end }
    if let layer { return layer.remainder }
    if let tls {
      switch tls.unread() {
      case .nothing:
        canRead = false
        return .quiet
      case .partialRecord:
        canRead = false
        return .undecided
      case .bytes: return .unread
      case .end: return .end
      }
    }
    guard canRead else { return .quiet }
    let count = Socket.peek(descriptor)
    guard count == -Int(EAGAIN) else { return count > 0 ? .unread : .end }
    canRead = false
    return .quiet
  }

  // MARK: Writing

  public func write(_ bytes: UnsafeRawBufferPointer) -> Write {
    if let tls { return encrypt(tls, bytes) }
    if let layer { return written(layer.write(bytes)) }
    return written(Socket.send(descriptor, bytes))
  }

  /// Writes two ranges in order, in one call if the stream is plain.
  public func write(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) -> Write {
    if second.isEmpty { return write(first) }
    if first.isEmpty { return write(second) }
    guard !isLayered else {
      let head = write(first)
      guard case .bytes(let count) = head, count == first.count, case .bytes(let more) = write(second) else { return head }
      return .bytes(count + more)
    }
    return written(Socket.send(descriptor, first, second))
  }

  /// Writes ranges in order, none of them empty, in one call if the stream is plain.
  public func write(_ ranges: UnsafeBufferPointer<iovec>) -> Write {
    guard isLayered else { return written(Socket.send(descriptor, ranges)) }
    var sum = 0
    for range in ranges {
      let result = write(UnsafeRawBufferPointer(start: range.iov_base, count: range.iov_len))
      guard case .bytes(let count) = result else { return sum > 0 ? .bytes(sum) : result }
      sum += count
      if count < range.iov_len { break }
    }
    return .bytes(sum)
  }

  private func written(_ result: Write) -> Write {
    if case .bytes(let count) = result { bytesWritten += count }
    return result
  }

  private func written(_ count: Int) -> Write {
    if count >= 0 {
      bytesWritten += count
      return .bytes(count)
    }
    if count == -Int(EAGAIN) { return .later }
    error = Int32(-count)
    return .failed
  }

  private func encrypt(_ tls: TLSConnection, _ bytes: UnsafeRawBufferPointer) -> Write {
    let count = tls.write(bytes)
    if count > 0 {
      bytesWritten += count
      return .bytes(count)
    }
    if count == TLSIO.wantWrite || count == TLSIO.wantRead { return .later }
    error = 0
    return .failed
  }

  /// Half-close: ends writing. Over TLS it sends close_notify.
  public func endWriting() {
    if let tls { tls.sendCloseNotify() } else { Socket.shutdownWriting(descriptor) }
  }

  /// Ends writing for good: over TLS with close_notify, then with FIN. Nothing is answered to TLS's own messages any more.
  public func finishWriting() {
    tls?.sendCloseNotifies()
    Socket.shutdownWriting(descriptor)
  }

  // MARK: Without copies

  /// Bytes that can be taken where a layer has them, until the next call of this stream. Empty: `read` says what there is.
  @inlinable
  public var arrived: UnsafeRawBufferPointer {
    isLayered ? layered : UnsafeRawBufferPointer(start: nil, count: 0)
  }
  @usableFromInline var layered: UnsafeRawBufferPointer {
    guard tls == nil, let layer else { return UnsafeRawBufferPointer(start: nil, count: 0) }
    return layer.arrived
  }
  /// Takes bytes off the front of `arrived`.
  public func consume(_ count: Int) { layer?.consume(count) }

  /// Its bytes are those of the descriptor, so the kernel can move them from socket to socket.
  var canMove: Bool { !isLayered && !mustCopy }

  /// - Parameter pipe: empty.
  /// - Returns: nil: the kernel does not move bytes of this socket. Read them.
  func move(into pipe: SplicePipe) -> Read? {
    guard canRead else { return .later }
    let count = pipe.fill(from: descriptor)
    // Some sandboxes don't know the call, or forbid it.
    if [EINVAL, ENOSYS, EPERM].contains(Int32(clamping: -count)) {
      mustCopy = true
      return nil
    }
    return received(count)
  }

  func move(from pipe: SplicePipe) -> Write { written(pipe.drain(to: descriptor)) }

  // MARK: End

  /// Ends the registration and closes the descriptor; over TLS it sends close_notify first.
  /// - Parameter reset: close with RST, so that the peer does not take incomplete data for complete.
  public func close(on loop: EventLoop, reset: Bool = false) {
    if let layer { return layer.close() }
    if reset { Socket.resetOnClose(descriptor) } else if !isCut { tls?.sendCloseNotifies() }
    if let token { loop.retire(token) }
    token = nil
    Socket.close(descriptor)
  }
}
