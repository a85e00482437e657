import Forwarding
import Testing

@Suite struct OriginAuthorityTests {
  @Test(arguments: [
    (true, "web.example.com", 443, "web.example.com"), (true, "web.example.com", 8443, "web.example.com"),
    (false, "10.0.0.7", 8080, "10.0.0.7"), (false, "10.0.0.7", 80, "10.0.0.7"), (true, "2001:db8::1", 443, "2001:db8::1"),
    (true, "2001:db8::1", 8443, "2001:db8::1"),
  ])
  func `its host has neither port nor brackets`(_ isTLS: Bool, _ host: String, _ port: UInt16, _ expected: String) {
    #expect(OriginAuthority(isTLS: isTLS, host: host, port: port).host == expected)
  }
}
