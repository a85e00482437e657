import CSystem
import EventIO
import TLS

/// A byte stream over a connected descriptor: plain, or TLS where `tls` is set. Keeps one readiness bit a direction, as
/// edge-triggered events demand: set by the event, cleared when the kernel has no more.
final class Transport {
  /// Results of `read` and `write` below 1. A TLS end without close_notify is `truncated`, a plain end `end`.
  enum Result {
    static let end = 0
    static let blocked = -1
    static let failed = -2
    static let truncated = -3
  }

  let descriptor: Int32
  /// Set as soon as the descriptor is registered.
  var token: Token?
  var tls: TLSConnection?
  var readable = true
  var writable = true
  /// The peer has sent its end, or the connection is broken: reading goes on to the very end.
  private(set) var sawEnd = false
  /// Both directions are over (HUP or ERR).
  private(set) var isBroken = false
  private(set) var bytesWritten = 0
  /// errno of the last failed call; 0 where TLS failed.
  private(set) var error: Int32 = 0

  init(descriptor: Int32, token: Token? = nil) {
    self.descriptor = descriptor
    self.token = token
  }

  @inline(__always)
  func note(_ events: UInt32) {
    let end = EPOLLRDHUP.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue
    if events & (EPOLLIN.rawValue | end) != 0 { readable = true }
    if events & (EPOLLOUT.rawValue | end) != 0 { writable = true }
    if events & end != 0 {
      sawEnd = true
      if events & (EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0 { isBroken = true }
    }
  }

  /// Bytes that the TLS layer holds already: no event will announce them.
  var hasPending: Bool { tls?.hasPending ?? false }

  func read(into space: UnsafeMutableRawBufferPointer) -> Int {
    if let tls { return readTLS(tls, space) }
    let count = Socket.receive(descriptor, space)
    if count > 0 {
      if count < space.count { readable = sawEnd }
      return count
    }
    if count == 0 {
      readable = false
      return Result.end
    }
    readable = false
    if count == -Int(EAGAIN) { return Result.blocked }
    error = Int32(-count)
    return Result.failed
  }

  private func readTLS(_ tls: TLSConnection, _ space: UnsafeMutableRawBufferPointer) -> Int {
    let count = tls.read(into: space)
    if count > 0 {
      return count
    }
    readable = false
    switch count {
    case TLSIO.endOfStream: return Result.end
    case TLSIO.wantRead, TLSIO.wantWrite: return Result.blocked
    case TLSIO.truncated: return Result.truncated
    default:
      error = 0
      return Result.failed
    }
  }

  func write(_ bytes: UnsafeRawBufferPointer) -> Int {
    if let tls { return writeTLS(tls, bytes) }
    return written(Socket.send(descriptor, bytes), of: bytes.count)
  }

  /// Two ranges in order, in one call where the stream is plain.
  func write(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) -> Int {
    if second.isEmpty { return write(first) }
    if first.isEmpty { return write(second) }
    guard tls == nil else {
      let count = write(first)
      if count < first.count { return count }
      let more = write(second)
      return more > 0 ? count + more : count
    }
    return written(Socket.send(descriptor, first, second), of: first.count + second.count)
  }

  private func written(_ count: Int, of wanted: Int) -> Int {
    if count >= 0 {
      if count < wanted { writable = false }
      bytesWritten += count
      return count
    }
    writable = false
    if count == -Int(EAGAIN) { return Result.blocked }
    error = Int32(-count)
    return Result.failed
  }

  private func writeTLS(_ tls: TLSConnection, _ bytes: UnsafeRawBufferPointer) -> Int {
    let count = tls.write(bytes)
    if count > 0 {
      bytesWritten += count
      return count
    }
    writable = false
    if count == TLSIO.wantWrite || count == TLSIO.wantRead { return Result.blocked }
    error = 0
    return Result.failed
  }

  /// Ends the registration and closes the descriptor; with a close_notify where TLS stands.
  func close(on loop: EventLoop, reset: Bool = false) {
    if reset { Socket.resetOnClose(descriptor) } else { tls?.sendCloseNotify() }
    if let token { loop.retire(token) }
    token = nil
    Socket.close(descriptor)
  }
}
