import Testing

@testable import EventIO

@Suite struct LocalAddressTests {
  @Test("the machine's own addresses are known", arguments: ["127.0.0.1", "127.9.8.7", "::1", "::ffff:127.0.0.1", "0.0.0.0"])
  func own(literal: String) throws { #expect(Socket.isLocal(try #require(Address(literal: literal, port: 443)))) }

  @Test("and others, with any port", arguments: ["203.0.113.9", "8.8.8.8", "2001:db8::9", "::ffff:203.0.113.9"])
  func others(literal: String) throws { #expect(!Socket.isLocal(try #require(Address(literal: literal, port: 1)))) }
}
