import CSystem
import EventIO
import Glibc
import Streams
import Testing

/// A stream over a connection whose peer was faster than the loop.
@Suite struct RacedStreamTests {
  private struct Failure: Error {}

  /// A listener on a loopback port.
  private static func listener() throws -> (descriptor: Int32, address: Address) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var any = sockaddr_in()
    any.sin_family = sa_family_t(AF_INET)
    inet_pton(AF_INET, "127.0.0.1", &any.sin_addr)
    let bound = withUnsafeBytes(of: &any) { bytes in
      bytes.baseAddress.map { bind(descriptor, $0.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count)) } ?? -1
    }
    guard bound == 0, listen(descriptor, 1) == 0, let address = Socket.local(of: descriptor) else { throw Failure() }
    return (descriptor, address)
  }

  @Test(arguments: ["", "bye"]) func `data and an end that came with the connection are read, and it is not quiet`(
    text: String
  ) async throws {
    let (listening, address) = try Self.listener()
    defer { Glibc.close(listening) }
    let executor = LoopExecutor()
    executor.start()
    let seen: [String] = await withCheckedContinuation { continuation in
      executor.call { loop in
        let race = ConnectionRace(on: loop, to: [address]) { result in
          guard case .success(let winner) = result else { return continuation.resume(returning: ["\(result)"]) }
          continuation.resume(returning: Self.look(ByteStream(winner), loop))
        }
        loop.install(race)
        race.start()
        // The loop sees no event before this call has ended.
        let accepted = accept(listening, nil, nil)
        _ = Array(text.utf8).withUnsafeBytes { send(accepted, $0.baseAddress, $0.count, 0) }
        Glibc.close(accepted)
      }
    }
    #expect(seen == ["end"] + (text == "" ? [] : [text]) + ["end"])
  }

  /// What remains of the stream, and what is read from it.
  private static func look(_ stream: ByteStream, _ loop: EventLoop) -> [String] {
    var seen: [String] = []
    switch stream.remainder() {
    case .quiet: seen.append("quiet")
    case .unread: seen.append("unread")
    case .end: seen.append("end")
    case .undecided: seen.append("undecided")
    }
    var buffer = [UInt8](repeating: 0, count: 100)
    reading: while true {
      switch buffer.withUnsafeMutableBytes({ stream.read(into: $0) }) {
      case .bytes(let count): seen.append(String(decoding: buffer[..<count], as: UTF8.self))
      case .later:
        seen.append("later")
        break reading
      case .end:
        seen.append("end")
        break reading
      case .truncated, .failed:
        seen.append("failed")
        break reading
      }
    }
    stream.close(on: loop)
    return seen
  }
}
