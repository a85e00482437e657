import HTTPWire
import Testing

@Suite struct URLReferenceTests {
  /// RFC 3986 section 5.4, but for what no http URL can be.
  @Test(
    arguments: [
      ("g", "/b/c/g"), ("./g", "/b/c/g"), ("g/", "/b/c/g/"), ("/g", "/g"), ("?y", "/b/c/d;p?y"), ("g?y", "/b/c/g?y"),
      ("#s", "/b/c/d;p?q"), ("g#s", "/b/c/g"), ("g?y#s", "/b/c/g?y"), (";x", "/b/c/;x"), ("g;x=1/../y", "/b/c/y"),
      ("", "/b/c/d;p?q"), (".", "/b/c/"), ("./", "/b/c/"), ("..", "/b/"), ("../", "/b/"), ("../g", "/b/g"), ("../..", "/"),
      ("../../", "/"), ("../../g", "/g"), ("../../../g", "/g"), ("/./g", "/g"), ("/../g", "/g"), ("g.", "/b/c/g."),
      (".g", "/b/c/.g"), ("..g", "/b/c/..g"), ("./../g", "/b/g"), ("./g/.", "/b/c/g/"), ("g/./h", "/b/c/g/h"),
      ("g/../h", "/b/c/h"), ("g?y/../x", "/b/c/g?y/../x"), ("/x//y", "/x//y"), ("/%2e%2e/x", "/%2e%2e/x"),
    ])
  func `a reference means a path below the same authority`(_ reference: String, _ path: String) throws {
    let url = try base.resolving(reference)
    #expect(url.text == "https://a.test:8443" + path)
  }

  @Test(
    arguments: [
      ("//g.test", "https://g.test/"), ("//G.test:443/x?y", "https://g.test/x?y"), ("http://g.test", "http://g.test/"),
      ("HTTPS://g.test.?q", "https://g.test/?q"), ("http://g.test:443/a/../b", "http://g.test:443/b"),
      ("https://[2001:DB8::1]:444/", "https://[2001:db8::1]:444/"), ("https://10.0.0.1/#f", "https://10.0.0.1/"),
    ])
  func `a reference can name another authority`(_ reference: String, _ expected: String) throws {
    #expect(try base.resolving(reference).text == expected)
  }

  @Test(
    arguments: [
      ("https://u:p@g.test/", HeadError.userinfo), ("//u@g.test/", .userinfo), ("https://g.test\\@a.test/", .targetCharacter),
      ("/\\g.test", .targetCharacter), ("\\\\g.test", .targetCharacter), ("/a b", .targetCharacter),
      ("/\u{e4}", .targetCharacter),
      ("mailto:a@b", .scheme), ("javascript:alert(1)", .scheme), ("ftp://g.test/", .scheme), ("https:g", .scheme),
      ("https:/g", .scheme), ("https://", .scheme), ("///g", .hostName), ("https:///g", .hostName), ("//127.1/", .hostAddress),
      ("https://g.test:0/", .port), ("https://g.test:99999/", .port), ("https://%67.test/", .hostName),
    ])
  func `what is no URL that a server can be asked for is refused`(_ reference: String, _ error: HeadError) {
    #expect(throws: error) { try base.resolving(reference) }
  }

  @Test func `only a reference without scheme, authority and root is relative to the path`() {
    let relative = ["", "g", "./g", "?y", "#s", "g/a:b"]
    let others = ["/g", "//g", "https://g", "g:h"]
    for text in relative { #expect(isRelative(text), "\(text)") }
    for text in others { #expect(!isRelative(text), "\(text)") }
  }

  private var base: HTTPURL { get throws { try HTTPURL("https://a.test:8443/b/c/d;p?q") } }
  private func isRelative(_ text: String) -> Bool { Array(text.utf8).withUnsafeBytes { HTTPURL.isRelativeToPath($0) } }
}

extension HTTPURL {
  fileprivate func resolving(_ reference: String) throws -> HTTPURL {
    try Array(reference.utf8).withUnsafeBytes { try resolving($0) }
  }
}
