import CSystem

/// System calls on sockets. Results below zero are -errno.
public enum Socket {
  /// A new non-blocking, close-on-exec stream socket, owned by the caller; or -errno.
  public static func stream(family: Int32) -> Int32 { csys_stream_socket(family) }
  @inline(__always)
  public static func receive(_ descriptor: Int32, _ space: UnsafeMutableRawBufferPointer) -> Int {
    csys_recv(descriptor, space.baseAddress, space.count)
  }
  /// 1 if a byte waits, 0 at the end of the stream. Takes nothing.
  public static func peek(_ descriptor: Int32) -> Int { csys_peek(descriptor) }
  @inline(__always)
  public static func send(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    csys_send(descriptor, bytes.baseAddress, bytes.count)
  }
  @inline(__always)
  public static func send(_ descriptor: Int32, _ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
    csys_send2(descriptor, a.baseAddress, a.count, b.baseAddress, b.count)
  }
  /// Several ranges in order, in one call.
  @inline(__always)
  public static func send(_ descriptor: Int32, _ ranges: UnsafeBufferPointer<iovec>) -> Int {
    csys_send_all(descriptor, ranges.baseAddress, ranges.count)
  }
  /// A listening unix socket of this name in the abstract name space, non-blocking and close-on-exec; or -errno.
  public static func abstractListener(_ name: String) -> Int32 {
    var name = name
    return name.withUTF8 { csys_abstract_listener($0.baseAddress, $0.count) }
  }
  /// A connection that waits at a listener, non-blocking and close-on-exec; or -errno.
  public static func accept(_ listener: Int32) -> Int32 { csys_accept(listener, nil, nil) }
  /// Whether the system lacks descriptors or memory.
  public static func isShortage(_ error: Int32) -> Bool { [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(error) }
  /// The user at the other end of a unix socket; nil: it is none.
  public static func peerUser(_ descriptor: Int32) -> UInt32? { UInt32(exactly: csys_peer_user(descriptor)) }
  /// Whether the other end of a unix socket was connected by this process.
  public static func isOfThisProcess(_ descriptor: Int32) -> Bool { csys_peer_is_this_process(descriptor) != 0 }
  public static func shutdownWriting(_ descriptor: Int32) { _ = shutdown(descriptor, Int32(SHUT_WR)) }
  public static func close(_ descriptor: Int32) { _ = csys_close(descriptor) }

  /// Makes the next close send a reset, so that the peer does not take incomplete data for complete.
  public static func resetOnClose(_ descriptor: Int32) {
    var linger = linger(l_onoff: 1, l_linger: 0)
    _ = setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
  }
  /// Readies a socket to send what is written at once, before it connects or listens. On Linux an accepted connection has this from its
  /// listener: system calls there instead of for each connection. A unix socket needs none of it.
  ///
  /// Between two programs of one machine no network needs to be spared, but the machine's default may pace all it sends: BBR does, with
  /// a timer and a wait for each burst, which doubles what a download costs, and goes on with it once the socket is connected, whatever is
  /// set then. Reno paces nothing, and every user may choose it unless an administrator forbids that (ip-sysctl,
  /// `tcp_allowed_congestion_control`).
  /// - Parameter address: that it listens on or connects to.
  static func sendAtOnce(_ descriptor: Int32, at address: Address) {
    if address.isUnix { return }
    _ = csys_set_option(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
    guard address.isLoopback else { return }
    _ = "reno".withCString { setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_CONGESTION, $0, socklen_t(strlen($0))) }
  }

  /// Lets the kernel find out that the peer of a connection that is silent for long is gone. The process sleeps meanwhile.
  /// - Parameters:
  ///   - idle: seconds of silence before the first probe.
  ///   - interval: seconds between two probes.
  ///   - probes: unanswered ones after which the connection is broken.
  public static func setKeepAlive(_ descriptor: Int32, idle: Int32, interval: Int32, probes: Int32) {
    _ = csys_set_option(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1)
    for (option, value) in [(TCP_KEEPIDLE, idle), (TCP_KEEPINTVL, interval), (TCP_KEEPCNT, probes)] {
      _ = csys_set_option(descriptor, Int32(IPPROTO_TCP), option, value)
    }
  }
  /// Binds a socket to the address that it connects from. The kernel chooses the port when it connects, by the whole connection: a
  /// port that is in use towards another peer serves, too (ip(7), IP_BIND_ADDRESS_NO_PORT).
  /// - Returns: 0 or -errno.
  static func bindSource(_ descriptor: Int32, _ source: Address) -> Int32 {
    _ = csys_set_option(descriptor, Int32(IPPROTO_IP), IP_BIND_ADDRESS_NO_PORT, 1)
    return source.withSockaddr { csys_bind(descriptor, $0, $1) } ?? -ENAMETOOLONG
  }
  /// The pending error of a socket, as an errno; 0 = none.
  public static func error(of descriptor: Int32) -> Int32 { csys_error_of(descriptor) }

  public static func peer(of descriptor: Int32) -> Address? {
    var storage = sockaddr_storage()
    return csys_peer_name(descriptor, &storage) == 0 ? Address(storage) : nil
  }
  public static func local(of descriptor: Int32) -> Address? {
    var storage = sockaddr_storage()
    return csys_local_name(descriptor, &storage) == 0 ? Address(storage) : nil
  }

  /// Whether an IP address is this machine's now. The kernel binds a socket to no others, unless `ip_nonlocal_bind` allows all.
  /// - Returns: true, too, if it cannot be found out.
  public static func isLocal(_ address: Address) -> Bool {
    var address = address
    address.port = 0
    let descriptor = stream(family: address.family)
    guard descriptor >= 0 else { return true }
    defer { close(descriptor) }
    return bindSource(descriptor, address) != -EADDRNOTAVAIL
  }

  /// A system error as text: `Connection refused`.
  public static func text(ofError error: Int32) -> String {
    var buffer = [CChar](repeating: 0, count: 128)
    csys_error_text(error, &buffer, buffer.count)
    return buffer.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
  }
}
