import CSystem
import Testing

@testable import EventIO

@Suite struct SourceAddressTests {
  /// Otherwise every connection from the address would need a port that no other has, whatever its peer.
  @Test("the kernel chooses the port when it connects", arguments: ["127.0.0.7", "::1"])
  func port(literal: String) throws {
    let source = try #require(Address(literal: literal, port: 0))
    let descriptor = csys_stream_socket(source.family)
    defer { Socket.close(descriptor) }
    #expect(Socket.bindSource(descriptor, source) == 0)
    let local = try #require(Socket.local(of: descriptor))
    #expect(local.host == literal && local.port == 0)
  }
}
