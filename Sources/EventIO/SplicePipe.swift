import CSystem

/// A pipe through which the kernel moves bytes from one socket to another without copying them (splice(2)).
public final class SplicePipe {
  /// Bytes from which on a pipe has enough for one write: plain writes of more cost no less for each byte.
  private static let enough = 128 << 10
  /// Pages, which are places for pieces of the kernel's receive memory: of any size up to 32 KiB, and one for each write of the peer.
  private static let places = 64

  private let ends: (read: Int32, write: Int32)
  /// Bytes inside.
  public private(set) var count = 0

  /// - Returns: nil: there is no descriptor left, or no memory.
  fileprivate init?() {
    var ends: (Int32, Int32) = (-1, -1)
    let result = withUnsafeMutableBytes(of: &ends) { csys_splice_pipe($0.baseAddress?.assumingMemoryBound(to: Int32.self)) }
    guard result == 0 else { return nil }
    self.ends = (read: ends.0, write: ends.1)
    // Without it, where the user has too many pages in pipes already, it has 16 places or fewer.
    _ = csys_set_pipe_pages(ends.1, Int32(Self.places))
  }
  deinit {
    _ = csys_close(ends.read)
    _ = csys_close(ends.write)
  }

  /// Takes what the socket has, in as many calls as it needs, as the peer's writes often come one by one: one call of `drain` costs
  /// more than many of these. Only for an empty pipe: a full one answers like a socket that has nothing.
  /// - Returns: bytes, 0 at the end of the stream, or -errno.
  public func fill(from socket: Int32) -> Int {
    precondition(count == 0)
    while count < Self.enough {
      let moved = csys_splice(socket, ends.write, Self.enough)
      // Bytes first: the next call meets the same end or error.
      guard moved > 0 else { return count > 0 ? count : moved }
      count += moved
    }
    return count
  }

  /// Gives the socket what it takes.
  /// - Returns: bytes or -errno.
  public func drain(to socket: Int32) -> Int {
    let moved = csys_splice(ends.read, socket, count)
    if moved > 0 { count -= moved }
    return moved
  }
}

/// A loop's pipes. Whoever moves bulk data borrows one while there is something to move.
public struct PipePool: ~Copyable {
  /// Pipes lent at a time: peers that stop reading hold no more descriptors than these.
  private static let most = 64
  private static let kept = 8

  private var pipes = ContiguousArray<SplicePipe>()
  private var lent = 0

  /// - Returns: nil: all are lent, or the kernel has none.
  public mutating func borrow() -> SplicePipe? {
    guard lent < Self.most, let pipe = pipes.popLast() ?? SplicePipe() else { return nil }
    lent += 1
    return pipe
  }

  /// Takes a pipe back. One with bytes inside is closed: they are another connection's.
  public mutating func giveBack(_ pipe: consuming SplicePipe) {
    lent -= 1
    if pipe.count == 0, pipes.count < Self.kept { pipes.append(pipe) }
  }
}
