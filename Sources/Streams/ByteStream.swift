import CSystem
import EventIO
import TLS

/// A byte stream over a connected descriptor: plain, or TLS after `secure`. Belongs to one loop.
///
/// The one owner of readiness. Descriptors are registered edge-triggered, so a direction stays ready until the kernel, or the TLS
/// layer, has no more; who stops earlier finds it ready when it calls again. After `.later` the stream is not ready until its
/// next event, whatever OpenSSL holds of a record that is not complete.
public final class ByteStream {
  public enum Read {
    case bytes(Int)
    /// Nothing before the next event.
    case later
    /// The peer's end: FIN, over TLS close_notify.
    case end
    /// A TLS stream's transport ended without close_notify: what came before may have been cut (RFC 8446 section 6.1).
    case truncated
    /// `error` says why.
    case failed
  }

  public enum Write {
    /// Often fewer than given.
    case bytes(Int)
    /// Nothing before the next event. The same bytes must be offered again, at least as many.
    case later
    case failed
  }

  /// What an exchange that has ended finds on its stream.
  public enum Remainder {
    /// Nothing: the next exchange may begin.
    case quiet
    /// Bytes that nobody asked for.
    case unread
    /// The stream has ended.
    case end
    /// Half a TLS record: the next event tells.
    case undecided
  }

  public let descriptor: Int32
  /// The descriptor's registration; nil before and after it has one.
  public var token: Token?
  public private(set) var tls: TLSConnection?
  /// The peer has sent its end, or the connection is broken.
  public private(set) var peerEnded = false
  /// Both directions are over (HUP or ERR).
  public private(set) var isBroken = false
  /// Payload bytes so far.
  public private(set) var bytesWritten = 0
  /// errno of the last failed call; 0 where TLS failed.
  public private(set) var error: Int32 = 0

  @usableFromInline var canRead = true
  /// A short receive proves nothing any more: an end stands behind it, or it stopped at the mark of TCP urgent data.
  private var readsToTheEnd = false
  /// TLS has to write before it can read on.
  private var readAwaitsWriting = false

  public init(descriptor: Int32, token: Token? = nil) {
    self.descriptor = descriptor
    self.token = token
  }

  /// From here on the stream is TLS. The handshake is the caller's.
  public func secure(_ tls: TLSConnection) {
    tls.becomeEdgeTriggered()
    self.tls = tls
    canRead = true
  }

  /// To be called with every event of the descriptor before anything else is.
  @inline(__always)
  public func note(_ events: UInt32) {
    let end = EPOLLRDHUP.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue
    if events & (end | EPOLLPRI.rawValue) != 0 {
      readsToTheEnd = true
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

  /// - Parameter space: asked for only if the stream may have something; not empty.
  @inlinable
  public func read(into space: @autoclosure () -> UnsafeMutableRawBufferPointer) -> Read {
    canRead ? receive(into: space()) : .later
  }

  @usableFromInline
  func receive(into space: UnsafeMutableRawBufferPointer) -> Read {
    if let tls { return decrypt(tls, into: space) }
    let count = Socket.receive(descriptor, space)
    if count > 0 {
      if count < space.count { canRead = readsToTheEnd }
      return .bytes(count)
    }
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

  /// Only what the TLS layer has received already, without a system call: `.later` says that this is nothing, and changes no
  /// readiness. So what an origin sent in two records leaves in one write.
  @inlinable
  public func readBuffered(into space: @autoclosure () -> UnsafeMutableRawBufferPointer) -> Read {
    tls == nil || !canRead ? .later : decryptBuffered(into: space())
  }

  @usableFromInline
  func decryptBuffered(into space: UnsafeMutableRawBufferPointer) -> Read {
    guard let tls else { return .later }
    let count = tls.readBuffered(into: space)
    if count > 0 { return .bytes(count) }
    if count == TLSIO.wantRead || count == TLSIO.wantWrite { return .later }
    canRead = false
    return ended(count)
  }

  /// A write has failed, and the peer may have said why before it closed: reading is tried again without waiting for an event.
  public func readLastWords() {
    canRead = true
    tls?.noteReadable(readsToTheEnd: true)
  }

  /// Whether the next exchange may use this stream. Costs no system call if the last receive was short or found nothing and no
  /// event has come since.
  public func remainder() -> Remainder {
    if peerEnded { return .end }
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
    return written(Socket.send(descriptor, bytes))
  }

  /// Two ranges in order, in one call where the stream is plain.
  public func write(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) -> Write {
    if second.isEmpty { return write(first) }
    if first.isEmpty { return write(second) }
    guard tls == nil else {
      let head = write(first)
      guard case .bytes(let count) = head, count == first.count, case .bytes(let more) = write(second) else { return head }
      return .bytes(count + more)
    }
    return written(Socket.send(descriptor, first, second))
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

  /// Half-close: nothing more will be written. Over TLS a close_notify.
  public func endWriting() {
    if let tls { tls.sendCloseNotify() } else { Socket.shutdownWriting(descriptor) }
  }

  // MARK: End

  /// Ends the registration and closes the descriptor, over TLS with a close_notify.
  /// - Parameter reset: by RST, so that the peer cannot take what it got for whole.
  public func close(on loop: EventLoop, reset: Bool = false) {
    if reset { Socket.resetOnClose(descriptor) } else { tls?.sendCloseNotify() }
    if let token { loop.retire(token) }
    token = nil
    Socket.close(descriptor)
  }
}
