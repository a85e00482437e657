import HTTPWire
import Testing

@Suite struct HTTPURLTests {
  @Test(
    arguments: [
      ("https://A.Example/x?Y=1", "a.example", nil, "a.example", "/x?Y=1", 443),
      ("HTTP://a.example.:8080", "a.example", 8080, "a.example.:8080", "", 8080),
      ("http://[2001:DB8::1]?q", "2001:db8::1", nil, "[2001:db8::1]", "?q", 80),
      ("https://10.0.0.1:/", "10.0.0.1", nil, "10.0.0.1:", "/", 443),
    ] as [(String, String, UInt16?, String, String, UInt16)])
  func `a URL has a host, a port and a path`(
    _ text: String, _ host: String, _ port: UInt16?, _ authority: String, _ path: String, _ effective: UInt16
  ) throws {
    let url = try HTTPURL(text)
    #expect(url.host == host)
    #expect(url.port == port)
    #expect(url.authority == authority)
    #expect(url.pathAndQuery == path)
    #expect(url.effectivePort == effective)
  }

  @Test(arguments: [
    ("", HeadError.targetForm), ("/x", .targetForm), ("*", .targetForm), ("a.example/x", .targetForm), ("ftp://a/", .scheme),
    ("https://a b/", .targetCharacter), ("https://a/\r\n", .targetCharacter), ("https://b\u{fc}cher/", .targetCharacter),
    ("https://u:p@a/", .userinfo), ("https://a/#f", .fragment), ("https:///x", .hostName), ("https://a..b/", .hostName),
    ("https://127.1/", .hostAddress), ("https://0x7f.0.0.1/", .hostAddress), ("https://[::1/", .hostAddress),
    ("https://[10.0.0.1]/", .hostAddress), ("https://a:0/", .port), ("https://a:65536/", .port), ("https://a:+1/", .port),
    ("https://[::1]x/", .hostName),
  ])
  func `a text that is no valid request target is no valid URL`(_ text: String, _ error: HeadError) {
    #expect(throws: error) { try HTTPURL(text) }
  }

  @Test(arguments: [
    ("http://localhost/", true), ("http://LOCALHOST./", true), ("http://127.9.9.9/", true), ("http://[::1]/", true),
    ("http://localhost.evil/", false), ("http://127.0.0.1.evil/", false), ("http://128.0.0.1/", false),
    ("http://[::2]/", false),
  ])
  func `loopback is what is written so`(_ text: String, _ isLoopback: Bool) throws {
    #expect(try HTTPURL(text).isLoopback == isLoopback)
  }

  @Test func `a host alone has no port`() throws {
    #expect(try Authority.host("[::1]").host == "::1")
    #expect(try Authority.host("A.b.").host == "a.b")
    for text in ["a:1", "a:", "[::1]:", "[::1]:1", ""] { #expect(throws: HeadError.self) { try Authority.host(text) } }
  }
}
