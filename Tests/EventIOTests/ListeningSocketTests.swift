import CSystem
import Foundation
import Testing

@testable import EventIO

@Suite struct ListeningSocketTests {
  @Test("accepted connections send without delay, as their listener does", arguments: ["127.0.0.1", "::1"])
  func noDelay(literal: String) throws {
    try withAccepted(by: literal) { accepted in
      var value: Int32 = 0
      var size = socklen_t(MemoryLayout<Int32>.size)
      #expect(getsockopt(accepted, Int32(IPPROTO_TCP), TCP_NODELAY, &value, &size) == 0)
      #expect(value == 1)
    }
  }

  @Test(
    "connections on loopback are not paced, whatever the machine's default is", .enabled(if: mayChooseReno),
    arguments: ["127.0.0.1", "::1"])
  func unpaced(literal: String) throws {
    try withAccepted(by: literal) { #expect(congestionControl(of: $0) == "reno") }
  }

  private static let mayChooseReno: Bool = {
    let allowed = try? String(contentsOfFile: "/proc/sys/net/ipv4/tcp_allowed_congestion_control", encoding: .utf8)
    return allowed?.contains("reno") ?? true
  }()

  @Test("others are sent as the machine's administrator wants", arguments: ["192.0.2.1", "2001:db8::1"])
  func others(literal: String) throws {
    let address = try #require(Address(literal: literal, port: 80))
    let (socket, plain) = (csys_stream_socket(address.family), csys_stream_socket(address.family))
    defer { for descriptor in [socket, plain] { Socket.close(descriptor) } }
    Socket.sendAtOnce(socket, at: address)
    #expect(congestionControl(of: socket) == congestionControl(of: plain))
  }

  private func withAccepted(by literal: String, _ body: (Int32) throws -> Void) throws {
    let listener = try ListeningSocket(binding: #require(Address(literal: literal, port: 0)))
    let client = csys_stream_socket(listener.address.family)
    defer { Socket.close(client) }
    let result = listener.address.withSockaddr { csys_connect(client, $0, $1) }
    #expect(result == 0 || result == -EINPROGRESS)
    var waiting = pollfd(fd: listener.descriptor, events: Int16(POLLIN), revents: 0)
    #expect(poll(&waiting, 1, 10_000) == 1)
    guard case .connection(let accepted, _) = listener.accept() else {
      Issue.record("nothing to accept")
      return
    }
    defer { Socket.close(accepted) }
    try body(accepted)
  }

  private func congestionControl(of descriptor: Int32) -> String {
    var name = [UInt8](repeating: 0, count: 16)
    var size = socklen_t(name.count)
    #expect(getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_CONGESTION, &name, &size) == 0)
    return String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)
  }
}
