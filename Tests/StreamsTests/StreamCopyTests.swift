import CSystem
import EventIO
import Glibc
import Testing

@testable import Streams

/// One direction between two sockets, in pieces of every size: through blocks and through pipes.
@Suite struct StreamCopyTests {
  private struct Failure: Error {}

  /// Two connected sockets, non-blocking.
  private static func pair(_ family: Int32) throws -> (Int32, Int32) {
    guard family == AF_INET else {
      var ends: [Int32] = [0, 0]
      guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &ends) == 0 else { throw Failure() }
      return (ends[0], ends[1])
    }
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(listener) }
    var any = sockaddr_in()
    any.sin_family = sa_family_t(AF_INET)
    inet_pton(AF_INET, "127.0.0.1", &any.sin_addr)
    let bound = withUnsafeBytes(of: &any) { bytes in
      bytes.baseAddress.map { bind(listener, $0.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count)) } ?? -1
    }
    let ours = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let connected = withUnsafeMutableBytes(of: &any) { bytes -> Int32 in
      guard let name = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), getsockname(listener, name, &length) == 0,
        listen(listener, 1) == 0
      else { return -1 }
      return connect(ours, name, length)
    }
    guard bound == 0, connected == 0 else { throw Failure() }
    let theirs = accept(listener, nil, nil)
    for end in [ours, theirs] { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
    return (ours, theirs)
  }

  /// The loop does not run meanwhile: the tests say what it would.
  private static func onLoop<Value: Sendable>(_ body: @escaping @Sendable (EventLoop) throws -> Value) async throws -> Value {
    signal(SIGPIPE, SIG_IGN)
    let executor = LoopExecutor()
    executor.start()
    return try await withCheckedThrowingContinuation { continuation in
      executor.call { loop in continuation.resume(with: Result { try body(loop) }) }
    }
  }

  /// Everything through one copy. The writer and the reader take turns of random sizes.
  private static func carry(
    _ size: Int, pieces: ClosedRange<Int>, reads: Int, _ family: Int32, on loop: EventLoop
  ) throws -> Bool {
    let (writer, source) = try pair(family)
    let (sink, reader) = try pair(family)
    let (from, to) = (ByteStream(descriptor: source), ByteStream(descriptor: sink))
    defer { for end in [writer, source, sink, reader] { close(end) } }
    var random = SystemRandomNumberGenerator()
    let sent = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    var (written, received) = (0, [UInt8]())
    var buffer = [UInt8](repeating: 0, count: reads)
    var copy = StreamCopy()
    for _ in 0..<200_000 {
      if written < size {
        let piece = min(size - written, Int.random(in: pieces, using: &random))
        let count = sent[written..<(written + piece)].withUnsafeBytes { Socket.send(writer, $0) }
        if count > 0 { written += count }
        if written == size { Socket.shutdownWriting(writer) }
      }
      from.note(EPOLLIN.rawValue | (written == size ? EPOLLRDHUP.rawValue : 0))
      if case .broken = copy.run(from: from, to: to, on: loop) { return false }
      switch buffer.withUnsafeMutableBytes({ Socket.receive(reader, $0) }) {
      case 0: return copy.isDone && received == sent && copy.moved == Int64(size)
      case let count where count > 0: received += buffer[..<count]
      default: break
      }
    }
    return false
  }

  @Test(arguments: [AF_INET, AF_UNIX], [1...3, 1...40_000, 100_000...600_000])
  func `all bytes arrive in order, and then the end`(family: Int32, pieces: ClosedRange<Int>) async throws {
    let size = pieces.upperBound < 4 ? 5_000 : 3_000_000
    for reads in [5_000, 300_000] {
      #expect(try await Self.onLoop { try Self.carry(size, pieces: pieces, reads: reads, family, on: $0) })
    }
  }

  @Test func `without a pipe the bytes go through a block`() async throws {
    let arrived = try await Self.onLoop { loop in
      var lent: [SplicePipe] = []
      while let pipe = loop.pipes.borrow() { lent.append(pipe) }
      defer { for pipe in lent { loop.pipes.giveBack(pipe) } }
      return try !lent.isEmpty && Self.carry(3_000_000, pieces: 100_000...600_000, reads: 300_000, AF_INET, on: loop)
    }
    #expect(arrived)
  }

  @Test func `a sink that stops holds one pipe, whose bytes nobody else gets when it breaks`() async throws {
    let counts = try await Self.onLoop { loop -> [Int] in
      let (writer, source) = try Self.pair(AF_INET)
      let (sink, reader) = try Self.pair(AF_INET)
      defer { for end in [writer, source, sink] { close(end) } }
      let (from, to) = (ByteStream(descriptor: source), ByteStream(descriptor: sink))
      var copy = StreamCopy()
      let bytes = [UInt8](repeating: 7, count: 1 << 20)
      var held = 0
      // Until the reader's socket, the sink's and the pipe are full.
      for _ in 0..<1000 {
        _ = bytes.withUnsafeBytes { Socket.send(writer, $0) }
        from.note(EPOLLIN.rawValue)
        if case .waits = copy.run(from: from, to: to, on: loop), let count = copy.heldInPipe, count > 0 { held = count }
        if held > 0, Socket.peek(source) == 1 { break }
      }
      Socket.resetOnClose(reader)
      close(reader)
      to.note(EPOLLHUP.rawValue | EPOLLERR.rawValue)
      var isBroken = false
      for _ in 0..<10 where !isBroken { if case .broken = copy.run(from: from, to: to, on: loop) { isBroken = true } }
      copy.release(on: loop)
      let next = loop.pipes.borrow()
      defer { if let next { loop.pipes.giveBack(next) } }
      return [held > 0 ? 1 : 0, isBroken ? 1 : 0, next?.count ?? -1]
    }
    #expect(counts == [1, 1, 0])
  }
}
