import Foundation
import Glibc

/// A bound port of the test: for origins that refuse, never answer, or whose part the test plays.
final class TestListener {
  let descriptor: Int32
  let port: Int

  /// `backlog` nil: bound but not listening, so that connections are refused.
  init(backlog: Int32? = 16) throws {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    self.descriptor = descriptor
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
    let bound = withUnsafeBytes(of: &address) { bytes in
      bytes.baseAddress.map { bind(descriptor, $0.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count)) } ?? -1
    }
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let named = withUnsafeMutableBytes(of: &address) { bytes in
      bytes.baseAddress.map { getsockname(descriptor, $0.assumingMemoryBound(to: sockaddr.self), &length) } ?? -1
    }
    guard bound == 0, named == 0 else { throw HarnessError("bind: \(String(cString: strerror(errno)))") }
    port = Int(in_port_t(bigEndian: address.sin_port))
    if let backlog, listen(descriptor, backlog) != 0 { throw HarnessError("listen: \(String(cString: strerror(errno)))") }
  }

  func accept(seconds: Double = 10) throws -> RawConnection {
    var item = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&item, 1, Int32(seconds * 1000)) == 1 else { throw HarnessError("nobody connects within \(seconds) s") }
    let accepted = Glibc.accept(descriptor, nil, nil)
    guard accepted >= 0 else { throw HarnessError("accept: \(String(cString: strerror(errno)))") }
    _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
    return RawConnection(adopting: accepted)
  }

  /// True if nobody connects for this long.
  func staysAlone(for seconds: Double) -> Bool {
    var item = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&item, 1, Int32(seconds * 1000)) == 0
  }

  deinit { close(descriptor) }
}

/// A port that silently drops connection requests, like a firewall: its queue is full.
final class BlackHole {
  private let listener: TestListener
  private var fillers: [RawConnection] = []
  var port: Int { listener.port }

  init() throws {
    listener = try TestListener(backlog: 0)
    for _ in 0..<4 {
      let descriptor = socket(
        AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = in_port_t(listener.port).bigEndian
      inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
      _ = withUnsafeBytes(of: &address) { bytes in
        bytes.baseAddress.map { connect(descriptor, $0.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count)) } ?? -1
      }
      fillers.append(RawConnection(adopting: descriptor))
    }
  }

  /// From now on it takes connections, and returns the first of another process. That one was requested before: TCP repeats the
  /// request a second later, and the kernels connect even if that process is stopped.
  func open() throws -> RawConnection {
    let fillerPorts = fillers.map { Self.port($0.descriptor, getsockname) }
    fillers = []
    listen(listener.descriptor, 16)
    while true {
      let connection = try listener.accept()
      if !fillerPorts.contains(Self.port(connection.descriptor, getpeername)) { return connection }
    }
  }

  private static func port(
    _ descriptor: Int32, _ name: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
  ) -> in_port_t {
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    _ = withUnsafeMutableBytes(of: &address) { bytes in
      bytes.baseAddress.map { name(descriptor, $0.assumingMemoryBound(to: sockaddr.self), &length) }
    }
    return address.sin_port
  }

  func accept(seconds: Double = 10) throws -> RawConnection { try listener.accept(seconds: seconds) }
}
