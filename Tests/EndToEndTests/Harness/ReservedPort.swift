import Glibc

/// A port that nobody gets from the kernel, on any IPv4 address, as long as this value lives. Who names it may bind it, with SO_REUSEADDR:
/// this socket is bound to all addresses but does not listen.
final class ReservedPort {
  let port: Int
  private let descriptor: Int32

  init() throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var one: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
    guard let port = Self.bindToAll(descriptor) else { throw HarnessError("bind: \(String(cString: strerror(errno)))") }
    self.port = port
  }

  private static func bindToAll(_ descriptor: Int32) -> Int? {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let bound = withUnsafeMutableBytes(of: &address) { bytes in
      guard let start = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return false }
      return bind(descriptor, start, length) == 0 && getsockname(descriptor, start, &length) == 0
    }
    return bound ? Int(in_port_t(bigEndian: address.sin_port)) : nil
  }

  deinit { close(descriptor) }
}
