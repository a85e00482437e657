import Routing
import Settings
import Testing

@Suite("Hosts, patterns and address blocks")
struct HostTests {
  @Test(
    "hosts are compared in one form",
    arguments: [
      ("API.Example.com", "api.example.com"), ("api.example.com.", "api.example.com"), ("[2001:DB8:0::1]", "2001:db8::1"),
      ("10.0.0.1", "10.0.0.1"), ("a_b", "a_b"), ("xn--bcher-kva.example", "xn--bcher-kva.example"),
      ("[::ffff:1.2.3.4]", "::ffff:1.2.3.4"),
    ])
  func normalized(_ text: String, _ host: String) throws { #expect(try HostName.normalized(text) == host) }

  @Test(
    "what resolvers would read as an address in disguise is no host",
    arguments: [
      "127.1", "0x7f.0.0.1", "2130706433", "0177.0.0.1", "1.2.3.4.5", "256.0.0.1", "a..b", ".", "", "[::1", "[10.0.0.1]", "a b",
      "bücher",
    ])
  func noHosts(_ text: String) { #expect(throws: HostError.self) { try HostName.normalized(text) } }

  @Test(
    "a star stands for one or more whole labels",
    arguments: [
      ("*.example.com", "api.example.com", 443, true), ("*.example.com", "a.b.example.com", 443, true),
      ("*.example.com", "example.com", 443, false), ("*.example.com", "badexample.com", 443, false),
      ("*.example.com", ".example.com", 443, false), ("*.example.com:443", "api.example.com", 80, false),
      ("*.example.com:443", "api.example.com", 443, true), ("api.example.com", "api.example.com", 1, true),
      ("api.example.com", "x.api.example.com", 1, false), ("*", "anything", 1, true), ("*:443", "anything", 444, false),
      ("[::1]:443", "::1", 443, true),
    ])
  func patterns(_ pattern: String, _ host: String, _ port: UInt16, _ matches: Bool) throws {
    #expect(try HostPattern(parsing: pattern).matches(host: host, port: port) == matches)
  }

  @Test(
    "two patterns overlap where some host fits both",
    arguments: [
      ("*.example.com", "api.example.com:443", true), ("*.a.example.com", "*.example.com", true), ("*.a.com", "*.b.com", false),
      ("*.example.com:80", "*.example.com:443", false), ("*", "x", true), ("x", "y", false),
      ("*.example.com", "*.badexample.com", false),
    ])
  func overlaps(_ one: String, _ other: String, _ overlap: Bool) throws {
    let (one, other) = (try HostPattern(parsing: one), try HostPattern(parsing: other))
    #expect(one.overlaps(other) == overlap)
    #expect(other.overlaps(one) == overlap)
  }

  @Test(
    "a block holds what shares its prefix, IPv4 in its mapped form",
    arguments: [
      ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.0", false), ("10.0.0.1", "10.0.0.1", true),
      ("10.0.0.1", "10.0.0.2", false), ("fd00::/8", "fdff::1", true), ("fd00::/8", "fe00::1", false),
      ("0.0.0.0/0", "1.2.3.4", true),
      ("0.0.0.0/0", "::1", false), ("::/0", "1.2.3.4", true), ("10.0.0.0/8", "::ffff:10.1.1.1", true),
      ("fe80::/10", "febf::1", true),
      ("fe80::/10", "fec0::1", false),
    ])
  func blocks(_ block: String, _ address: String, _ inside: Bool) throws {
    #expect(try AddressRange(parsing: block).contains(#require(IPAddress.parse(address))) == inside)
  }

  @Test(
    "what is no block is an error",
    arguments: [
      "10.0.0.1/8", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/+8", "10.0.0/8", "010.0.0.0/8", "host", "", "fe80::1%eth0",
      "/8",
    ])
  func noBlocks(_ text: String) { #expect(throws: HostError.self) { try AddressRange(parsing: text) } }

  @Test("a block prints as it is written", arguments: ["10.0.0.0/8", "1.2.3.4/32", "fd00::/8", "::/0"])
  func description(_ text: String) throws { #expect(try AddressRange(parsing: text).description == text) }

  @Test(
    "the default blocks hold what nobody wants to be connected to",
    arguments: [
      "127.0.0.1", "127.255.0.1", "::1", "0.0.0.0", "::", "169.254.169.254", "fe80::1", "224.0.0.1", "239.1.1.1", "ff02::1",
      "255.255.255.255", "fd00:ec2::254", "fd00:ec2::23", "169.254.170.2", "169.254.170.23", "fd20:ce::254", "100.100.100.200",
      "168.63.129.16",
      // IPv4 within IPv6: mapped, NAT64, 6to4.
      "::ffff:127.0.0.1", "::ffff:a9fe:a9fe", "64:ff9b::7f00:1", "64:ff9b::169.254.169.254", "2002:7f00:1::",
      "2002:a9fe:a9fe::1",
    ])
  func forbidden(_ text: String) throws { #expect(AddressRange.defaults.isForbidden(try #require(IPAddress.parse(text)))) }

  @Test(
    "and leave everything else alone, private networks too",
    arguments: [
      "10.0.0.1", "192.168.1.1", "172.16.0.1", "8.8.8.8", "2001:db8::1", "fd00::1", "fd00:ec2::253", "64:ff9b::808:808",
      "2002:808:808::1", "100.100.100.201", "168.63.129.15", "223.255.255.255", "fec0::1",
    ])
  func allowed(_ text: String) throws { #expect(!AddressRange.defaults.isForbidden(try #require(IPAddress.parse(text)))) }
}
