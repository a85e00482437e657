import TLS
import Testing

@testable import Interception

@Suite struct ConstraintTests {
  private static let network10 = NameConstraints.Subtree.addresses(network: [10, 0, 0, 0], mask: [255, 0, 0, 0])
  private static let all4 = NameConstraints.Subtree.addresses(network: [0, 0, 0, 0], mask: [0, 0, 0, 0])

  @Test(
    arguments: [
      // A name stands for itself and those below it; a leading dot for those below it alone.
      ([.dns("example.com")], [], "example.com", true), ([.dns("example.com")], [], "a.b.example.com", true),
      ([.dns("example.com")], [], "badexample.com", false), ([.dns("example.com")], [], "example.com.evil.net", false),
      ([.dns(".example.com")], [], "example.com", false), ([.dns(".example.com")], [], "a.example.com", true),
      ([.dns("example.com")], [], "EXAMPLE.com.", true), ([.dns("")], [], "anything", true),
      ([.dns("a.com"), .dns("b.com")], [], "x.b.com", true),
      // What is excluded is so even if it is permitted.
      ([.dns("example.com")], [.dns("bad.example.com")], "bad.example.com", false),
      ([.dns("example.com")], [.dns("bad.example.com")], "x.bad.example.com", false),
      ([.dns("example.com")], [.dns("bad.example.com")], "good.example.com", true),
      ([], [.dns("bad.com")], "good.com", true), ([], [.dns("bad.com")], "bad.com", false), ([], [.dns("")], "good.com", false),
      // A form that no subtree is of is open, and only that one; IPv4 and IPv6 are one.
      ([.dns("example.com")], [], "10.0.0.1", true), ([network10], [], "example.com", true),
      ([.other], [], "example.com", true),
      ([network10], [], "10.2.3.4", true), ([network10], [], "11.0.0.1", false), ([network10], [], "::1", false),
      ([network10], [], "::ffff:10.0.0.1", false), ([], [all4], "10.0.0.1", false), ([], [all4], "::1", true),
      ([.address([192, 0, 2, 7])], [], "192.0.2.7", true), ([.address([192, 0, 2, 7])], [], "192.0.2.6", false),
      ([.dns("10.0.0.1")], [network10], "10.0.0.1", false),
    ] as [([NameConstraints.Subtree], [NameConstraints.Subtree], String, Bool)])
  func `a host is permitted or not`(
    _ permitted: [NameConstraints.Subtree], _ excluded: [NameConstraints.Subtree], _ host: String, _ expected: Bool
  ) {
    #expect(NameConstraints(permitted: permitted, excluded: excluded).permits(PeerName(host)) == expected)
  }

  @Test(
    arguments: [
      ([.dns("example.com")], [], "example.com", true), ([.dns("example.com")], [], "a.example.com", true),
      ([.dns(".example.com")], [], "example.com", true), ([.dns("a.example.com")], [], "example.com", false),
      ([.dns("")], [], "com", true), ([], [], "com", true), ([.dns("example.com")], [], "badexample.com", false),
      ([network10], [], "example.com", true),
      // One host below it is enough to spoil it.
      ([.dns("example.com")], [.dns("bad.example.com")], "example.com", false),
      ([.dns("example.com")], [.dns("bad.example.com")], "good.example.com", true),
      ([.dns("example.com")], [.dns("example.com")], "a.example.com", false),
    ] as [([NameConstraints.Subtree], [NameConstraints.Subtree], String, Bool)])
  func `all names below one are permitted or not`(
    _ permitted: [NameConstraints.Subtree], _ excluded: [NameConstraints.Subtree], _ base: String, _ expected: Bool
  ) {
    #expect(NameConstraints(permitted: permitted, excluded: excluded).permits(namesBelow: base) == expected)
  }

  @Test(
    arguments: [
      ([.dns("example.com")], true), ([.dns("")], false), ([.dns(""), .dns("a.com")], false), ([network10], false),
      ([.other], false),
      ([], false),
    ] as [([NameConstraints.Subtree], Bool)])
  func `an authority is bound by DNS names alone`(_ permitted: [NameConstraints.Subtree], _ expected: Bool) {
    #expect(NameConstraints(permitted: permitted, excluded: [.dns("x")]).boundsNames == expected)
  }
}
