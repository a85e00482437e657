import CSystem
import Glibc
import Testing

@testable import EventIO

@Suite struct ListeningSocketTests {
  @Test("accepted connections send without delay, as their listener does", arguments: ["127.0.0.1", "::1"])
  func noDelay(literal: String) throws {
    let listener = try ListeningSocket(binding: #require(Address(literal: literal, port: 0)))
    let client = csys_stream_socket(listener.address.family)
    defer { Socket.close(client) }
    let result = listener.address.withSockaddr { csys_connect(client, $0, $1) }
    #expect(result == 0 || result == -EINPROGRESS)
    var answer = listener.accept()
    // The kernel makes the handshake, which takes a short time.
    for _ in 0..<200 {
      guard case .none = answer else { break }
      usleep(5_000)
      answer = listener.accept()
    }
    guard case .connection(let accepted, _) = answer else {
      Issue.record("nothing to accept")
      return
    }
    defer { Socket.close(accepted) }
    var value: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    #expect(getsockopt(accepted, Int32(IPPROTO_TCP), TCP_NODELAY, &value, &size) == 0)
    #expect(value == 1)
  }
}
