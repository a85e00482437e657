import Foundation
import Glibc

/// A TCP or unix connection on which a test sends exactly its own bytes. Every wait has a deadline.
final class RawConnection {
  enum End: Equatable { case closed, reset }

  private static let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)

  private(set) var descriptor: Int32
  /// Received, but not yet consumed.
  private(set) var pending: [UInt8] = []
  private(set) var end: End?
  var timeout = 10.0

  /// - Parameter source: an IPv4 address of this machine to connect from.
  init(port: Int, host: String = "127.0.0.1", from source: String? = nil, receiveBuffer: Int32? = nil) throws {
    let v6 = host.contains(":")
    descriptor = socket(v6 ? AF_INET6 : AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    if var size = receiveBuffer {
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }
    var one: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    let result: Int32
    if v6 {
      var address = sockaddr_in6()
      address.sin6_family = sa_family_t(AF_INET6)
      address.sin6_port = in_port_t(port).bigEndian
      inet_pton(AF_INET6, host, &address.sin6_addr)
      result = withUnsafeBytes(of: &address) { connectTo($0) }
    } else {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      if let source {
        inet_pton(AF_INET, source, &address.sin_addr)
        let bound = withUnsafeBytes(of: &address) { bytes in
          bytes.baseAddress.map { bind(descriptor, $0.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count)) } ?? -1
        }
        if bound != 0 { throw HarnessError("bind to \(source): \(String(cString: strerror(errno)))") }
      }
      address.sin_port = in_port_t(port).bigEndian
      inet_pton(AF_INET, host, &address.sin_addr)
      result = withUnsafeBytes(of: &address) { connectTo($0) }
    }
    try checkConnected(result, "\(host):\(port)")
  }

  /// Takes over a connected descriptor.
  init(adopting descriptor: Int32) { self.descriptor = descriptor }

  init(unixPath: String) throws {
    descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: unixPath.utf8.prefix($0.count - 1)) }
    let result = withUnsafeBytes(of: &address) { connectTo($0) }
    try checkConnected(result, unixPath)
  }

  private func connectTo(_ address: UnsafeRawBufferPointer) -> Int32 {
    guard let base = address.baseAddress else { return -1 }
    return connect(descriptor, base.assumingMemoryBound(to: sockaddr.self), socklen_t(address.count))
  }

  private func checkConnected(_ result: Int32, _ place: String) throws {
    guard result == 0 else {
      let reason = String(cString: strerror(errno))
      throw HarnessError("connect to \(place): \(reason)")
    }
  }

  deinit { close() }

  func close() {
    if descriptor >= 0 { Glibc.close(descriptor) }
    descriptor = -1
  }

  /// Sends a FIN, and still reads.
  func halfClose() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// Closes with RST instead of FIN.
  func reset() {
    var linger = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
    close()
  }

  // MARK: Sending

  func send(_ text: String) throws { try send(Array(text.utf8)) }

  /// Each character is one byte: for text that is not UTF-8.
  func send(latin1 text: String) throws { try send(text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }) }

  func send(_ bytes: [UInt8]) throws {
    let deadline = Date(timeIntervalSinceNow: timeout)
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes {
        Glibc.send(
          descriptor, $0.baseAddress?.advanced(by: sent), bytes.count - sent,
          Self.flags)
      }
      if count > 0 {
        sent += count
      } else if errno == EAGAIN {
        try awaitReady(Int16(POLLOUT), deadline, "to send")
      } else if errno != EINTR {
        throw HarnessError("send: \(String(cString: strerror(errno)))")
      }
    }
  }

  /// Sends as much as the socket accepts now; returns how much.
  func sendWhatFits(_ bytes: [UInt8]) -> Int {
    max(0, Glibc.send(descriptor, bytes, bytes.count, Self.flags))
  }

  // MARK: Receiving

  private func awaitReady(_ events: Int16, _ deadline: Date, _ what: String) throws {
    var item = pollfd(fd: descriptor, events: events, revents: 0)
    while true {
      let left = deadline.timeIntervalSinceNow
      if left <= 0 {
        throw HarnessError("no progress \(what) within \(timeout) s; received so far: \(preview)")
      }
      let count = poll(&item, 1, Int32((left * 1000).rounded(.up)))
      if count > 0 { return }
      if count < 0 && errno != EINTR { throw HarnessError("poll: \(String(cString: strerror(errno)))") }
    }
  }

  private var preview: String { String(decoding: pending.prefix(300), as: UTF8.self) }

  /// Waits for more bytes. False at the end of the stream.
  @discardableResult
  func receive(before deadline: Date) throws -> Bool {
    if end != nil { return false }
    while true {
      try awaitReady(Int16(POLLIN), deadline, "to receive")
      let count = withUnsafeTemporaryAllocation(byteCount: 65536, alignment: 16) { buffer in
        let count = recv(descriptor, buffer.baseAddress, buffer.count, Self.flags)
        if count > 0 { pending.append(contentsOf: buffer[..<count]) }
        return count
      }
      if count > 0 { return true }
      if count == 0 {
        end = .closed
        return false
      }
      switch errno {
      case EINTR, EAGAIN: continue
      case ECONNRESET, EPIPE:
        end = .reset
        return false
      default: throw HarnessError("recv: \(String(cString: strerror(errno)))")
      }
    }
  }

  func consume(_ count: Int) -> [UInt8] {
    let taken = Array(pending[..<count])
    pending.removeSubrange(..<count)
    return taken
  }

  func read(_ count: Int) throws -> [UInt8] {
    let deadline = Date(timeIntervalSinceNow: timeout)
    while pending.count < count {
      if try !receive(before: deadline) {
        throw HarnessError(
          "the connection ended (\(end.map { "\($0)" } ?? "")) after \(pending.count) of \(count) bytes: \(preview)")
      }
    }
    return consume(count)
  }

  /// Reads up to and including `mark`.
  func read(through mark: String) throws -> [UInt8] {
    let deadline = Date(timeIntervalSinceNow: timeout)
    let bytes = Array(mark.utf8)
    var searched = 0
    while true {
      if let place = pending.firstRange(of: bytes, from: searched) { return consume(place + bytes.count) }
      searched = max(0, pending.count - bytes.count + 1)
      if try !receive(before: deadline) {
        throw HarnessError("the connection ended (\(end.map { "\($0)" } ?? "")) before \(mark.debugDescription): \(preview)")
      }
    }
  }

  /// Reads until the peer closes; returns the bytes and the kind of end.
  func readToEnd(seconds: Double? = nil) throws -> (bytes: [UInt8], end: End) {
    let deadline = Date(timeIntervalSinceNow: seconds ?? timeout)
    while try receive(before: deadline) {}
    return (consume(pending.count), end ?? .closed)
  }

  /// True if nothing arrives, not even the end, for `seconds`.
  func staysSilent(for seconds: Double) -> Bool {
    if !pending.isEmpty || end != nil { return false }
    var item = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&item, 1, Int32(seconds * 1000)) == 0
  }
}

extension [UInt8] {
  /// The first place of `mark` at or after `start`.
  func firstRange(of mark: [UInt8], from start: Int) -> Int? {
    guard let first = mark.first, count >= mark.count else { return nil }
    return withUnsafeBytes { here in
      var at = start
      while at <= here.count - mark.count {
        guard let base = here.baseAddress, let found = memchr(base + at, Int32(first), here.count - mark.count + 1 - at) else {
          return nil
        }
        at = UnsafeRawPointer(found) - base
        if memcmp(found, mark, mark.count) == 0 { return at }
        at += 1
      }
      return nil
    }
  }
}
