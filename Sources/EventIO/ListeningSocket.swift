import CSystem
import Dispatch
import Synchronization

/// A bound socket, shared by the loops, and closed when the last of them drops it.
public final class ListeningSocket: Sendable {
  public struct BindError: Error, Sendable, CustomStringConvertible {
    public let address: String
    public let error: Int32
    public var description: String { "cannot listen on \(address): \(Socket.text(ofError: error))" }
  }

  /// Owner and permissions of a unix socket; nil = as the process creates files.
  public struct Access: Sendable, Hashable {
    public var mode, owner, group: UInt32?
    public init(mode: UInt32? = nil, owner: UInt32? = nil, group: UInt32? = nil) {
      self.mode = mode
      self.owner = owner
      self.group = group
    }
  }

  public let descriptor: Int32
  /// As bound, with the real port.
  public let address: Address
  /// `close` unlinks it, if it still belongs to this socket.
  private let ownedPath: String?
  private let inode: UInt64
  private let isOpen = Atomic<Bool>(true)
  private let closed = DispatchSemaphore(value: 0)

  /// Binds and listens. First removes a unix path on which no process answers any more.
  public convenience init(
    binding address: Address, mode: UInt32? = nil, owner: UInt32? = nil, group: UInt32? = nil
  ) throws(BindError) {
    try self.init(reserving: address, access: Access(mode: mode, owner: owner, group: group))
    try listen()
  }

  /// Binds only: no connection is possible before `listen`.
  /// - Parameter sharesPort: allows an overlap (0.0.0.0 with 127.0.0.1) with another socket of the same user that has
  ///   `sharePort(true)`.
  public init(reserving address: Address, access: Access = Access(), sharesPort: Bool = false) throws(BindError) {
    func fail(_ result: Int32, closing descriptor: Int32? = nil) -> BindError {
      if let descriptor { Socket.close(descriptor) }
      return BindError(address: address.description, error: -result)
    }
    let descriptor = Socket.stream(family: address.family)
    guard descriptor >= 0 else { throw fail(descriptor) }
    switch address.kind {
    case .ip(let v6, _, _, _, _):
      _ = csys_set_option(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
      if sharesPort { _ = csys_set_option(descriptor, SOL_SOCKET, SO_REUSEPORT, 1) }
      if v6 { _ = csys_set_option(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 1) }
      ownedPath = nil
    case .unix(let path):
      Self.removeStale(path)
      ownedPath = path
    }
    // No client may connect before owner and mode are set, so the socket is created without permissions for others.
    let mask = ownedPath == nil ? nil : umask(0o177)
    let bound = address.withSockaddr { csys_bind(descriptor, $0, $1) } ?? -ENAMETOOLONG
    if let mask { _ = umask(mask) }
    guard bound == 0 else { throw fail(bound, closing: descriptor) }
    inode = ownedPath.map { csys_inode($0) } ?? 0
    if let path = ownedPath {
      do { try Self.apply(access, to: path) } catch {
        unlink(path)
        throw fail(-error.error, closing: descriptor)
      }
    }
    self.descriptor = descriptor
    self.address = ownedPath == nil ? Socket.local(of: descriptor) ?? address : address
    Socket.sendAtOnce(descriptor, at: self.address)
  }

  /// Whether `listen` was called on the socket, here or by the process that bound it.
  public var isListening: Bool { csys_is_listening(descriptor) != 0 }

  /// Takes over a socket that the parent process has bound (systemd's socket activation).
  public init(inherited descriptor: Int32) throws(BindError) {
    guard csys_is_listening(descriptor) != 0, let address = Socket.local(of: descriptor), csys_set_nonblocking(descriptor) == 0
    else { throw BindError(address: "fd:\(descriptor)", error: EBADF) }
    self.descriptor = descriptor
    self.address = address
    ownedPath = nil
    inode = 0
    Socket.sendAtOnce(descriptor, at: self.address)
  }

  public func listen() throws(BindError) {
    let result = csys_listen(descriptor, 4096)
    guard result == 0 else { throw BindError(address: address.description, error: -result) }
  }

  /// Allows or forbids another socket of this user to share the port.
  public func sharePort(_ shares: Bool) { _ = csys_set_option(descriptor, SOL_SOCKET, SO_REUSEPORT, shares ? 1 : 0) }

  /// Changes owner and permissions of a unix socket. Existing connections stay.
  public func permit(_ access: Access) throws(BindError) {
    guard let ownedPath else { return }
    try Self.apply(access, to: ownedPath)
  }

  private static func apply(_ access: Access, to path: String) throws(BindError) {
    if access.owner != nil || access.group != nil, chown(path, access.owner ?? .max, access.group ?? .max) != 0 {
      throw BindError(address: "unix:\(path)", error: csys_errno())
    }
    if chmod(path, access.mode ?? 0o600) != 0 { throw BindError(address: "unix:\(path)", error: csys_errno()) }
  }

  /// A socket file that refuses connections belongs to a process that is gone.
  private static func removeStale(_ path: String) {
    guard csys_is_socket_file(path) != 0 else { return }
    let probe = Socket.stream(family: AF_UNIX)
    guard probe >= 0 else { return }
    defer { Socket.close(probe) }
    if let result = Address(unixPath: path).withSockaddr({ csys_connect(probe, $0, $1) }), result == -ECONNREFUSED {
      unlink(path)
    }
  }

  /// Refuses new connections from now on; those that the kernel has accepted can still be taken.
  public func refuseNew() {
    if ownedPath != nil { removePath() } else { _ = csys_refuse_new_connections(descriptor) }
  }

  /// Another process may have bound the path again.
  private func removePath() {
    if let ownedPath, csys_inode(ownedPath) == inode { unlink(ownedPath) }
  }

  public var isClosed: Bool { !isOpen.load(ordering: .acquiring) }

  /// Closes the socket; idempotent.
  public func close() {
    guard isOpen.exchange(false, ordering: .acquiringAndReleasing) else { return }
    removePath()
    Socket.close(descriptor)
    closed.signal()
  }

  /// Waits until somebody has closed the socket, at most `milliseconds`. Not for loops.
  public func awaitClose(milliseconds: Int) {
    if closed.wait(timeout: .now() + .milliseconds(milliseconds)) == .success { closed.signal() }
  }

  deinit { close() }

  public enum Accepted {
    case connection(Int32, Address)
    case none
    /// Out of descriptors or memory.
    case exhausted
  }

  public func accept() -> Accepted {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    while true {
      let result = csys_accept(descriptor, &storage, &length)
      if result >= 0 { return .connection(result, Address(storage) ?? address) }
      switch -result {
      case EAGAIN: return .none
      case EMFILE, ENFILE, ENOBUFS, ENOMEM: return .exhausted
      // The connection was gone before accept (accept(2), "Error handling"): go on with the next one.
      case ECONNABORTED, EPROTO, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH, EOPNOTSUPP, ENETUNREACH, EPERM:
        length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        continue
      default: return .none
      }
    }
  }
}
