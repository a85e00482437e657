import Testing

@testable import Forwarding

@Suite struct URLRuleTests {
  private func replaced(_ url: String, host: String = "api.example.com", port: UInt16 = 443) -> String? {
    let places = [URLPlace(OriginAuthority(isTLS: true, host: host, port: port))]
    let rule = URLRule(from: places, to: Array("http://api".utf8), paths: nil)
    return Array(url.utf8).withUnsafeBytes { rule.replaced($0).map { String(decoding: $0, as: UTF8.self) } }
  }

  @Test(arguments: [
    ("https://api.example.com", "http://api"), ("https://api.example.com/", "http://api/"),
    ("HTTPS://API.Example.COM/X", "http://api/X"), ("https://api.example.com?q", "http://api?q"),
    ("https://api.example.com#f", "http://api#f"), ("https://api.example.com:443/x", "http://api/x"),
    ("https://api.example.com:443", "http://api"), ("https://api.example.com:/x", "http://api/x"),
    ("https://api.example.com:", "http://api"), ("https://api.example.com./x", "http://api/x"),
    ("https://api.example.com.:443/x", "http://api/x"), ("//api.example.com/x", "//api/x"), ("//API.example.com:443", "//api"),
  ]) func `what is under the origin comes here`(url: String, expected: String) {
    #expect(replaced(url) == expected)
  }

  @Test(arguments: [
    "https://api.example.com.evil/", "https://api.example.com:444/", "https://api.example.com:4430/", "http://api.example.com/",
    "https://api.example.com@evil/", "/relative", "", "https://api.example.co", "https://api.example.com../x",
    "https://api.example.com::/x", "https://api.example.com:x",
    "//api.example.com.evil/", "//api.example.com:444/x", "//user@api.example.com/", "https:/api.example.com/", "/", "//",
  ]) func `other places stay`(url: String) {
    #expect(replaced(url) == nil)
  }

  @Test func `a port that is not the scheme's own must be there`() {
    #expect(replaced("https://api.example.com:8443/x", port: 8443) == "http://api/x")
    #expect(replaced("https://api.example.com.:8443/x", port: 8443) == "http://api/x")
    for url in [
      "https://api.example.com/x", "https://api.example.com:/x", "https://api.example.com:84430/x", "//api.example.com/x",
    ] {
      #expect(replaced(url, port: 8443) == nil)
    }
    #expect(replaced("https://[2001:db8::1]:8443/x", host: "2001:db8::1", port: 8443) == "http://api/x")
    #expect(replaced("https://[2001:db8::1]/x", host: "2001:db8::1") == "http://api/x")
  }

  @Test func `other origins of the entry mean the same`() {
    let places = [("a", 443), ("b", 443), ("c", 8443)].map { URLPlace(OriginAuthority(isTLS: true, host: $0.0, port: $0.1)) }
    let rule = URLRule(from: places, to: Array("http://api".utf8), paths: nil)
    for (url, expected) in [
      ("https://a/x", "http://api/x"), ("https://b:443/x", "http://api/x"), ("https://c:8443", "http://api"),
      ("https://c/x", nil), ("https://d/x", nil), ("/x", nil),
    ] {
      let found = Array(url.utf8).withUnsafeBytes { rule.replaced($0).map { String(decoding: $0, as: UTF8.self) } }
      #expect(found == expected)
    }
    let links = Array("<https://a/1>; rel=next, <https://b/2>, <https://d/3>".utf8).withUnsafeBytes { rule.replacedLinks($0) }
    #expect(links.map { String(decoding: $0, as: UTF8.self) } == "<http://api/1>; rel=next, <http://api/2>, <https://d/3>")
  }

  @Test func `links are replaced one by one`() {
    let rule = URLRule(
      from: [URLPlace(OriginAuthority(isTLS: true, host: "a", port: 443))], to: Array("http://b".utf8), paths: nil)
    let value = Array("<https://a/1>; rel=next, <https://c/>; rel=x, </2>".utf8)
    let links = value.withUnsafeBytes { rule.replacedLinks($0).map { String(decoding: $0, as: UTF8.self) } }
    #expect(links == "<http://b/1>; rel=next, <https://c/>; rel=x, </2>")
  }

  private func links(_ value: String) -> String? {
    let rule = URLRule(
      from: [URLPlace(OriginAuthority(isTLS: true, host: "a", port: 443))], to: Array("http://b".utf8), paths: nil)
    return Array(value.utf8).withUnsafeBytes { rule.replacedLinks($0).map { String(decoding: $0, as: UTF8.self) } }
  }

  @Test(arguments: [
    ("<https://a/1>; anchor=\"https://a/2\"", "<http://b/1>; anchor=\"http://b/2\""),
    ("</1>; rel=x; Anchor = https://a/2; y", "</1>; rel=x; Anchor = http://b/2; y"),
    ("</1>; anchor=\"https://c/\", <https://a>", "</1>; anchor=\"https://c/\", <http://b>"),
  ]) func `what a link is about is replaced, too`(value: String, expected: String) {
    #expect(links(value) == expected)
  }

  @Test(arguments: [
    "</1>; title=\"<https://a/1>\"", "</1>; title=\"\\\"<https://a/1>\"", "</1>; title=\"; anchor=https://a/1\"",
    "</1>; anchors=https://a/1", "</1>; x=anchor=https://a/1", "<https://a/1", "</1>; anchor=\"https://a/1", "</1>; anchor",
    "</1>; anchor=", ";", "<", "\"", "<>", "",
  ]) func `text in quotes stays, and what is no link`(value: String) {
    #expect(links(value) == nil)
  }

  /// An origin chooses the bytes, and other requests wait meanwhile.
  @Test(arguments: ["<", "\"", ";", "; ", "<\"", "\"<", ";anchor=\"", ";anchor=", "<;"])
  func `the time that hostile links take is linear`(part: String) {
    let value = String(repeating: part, count: 100_000)
    // Looking for the end anew at each piece takes minutes.
    let time = ContinuousClock().measure { #expect(links(value) == nil) }
    #expect(time < .seconds(5))
  }
}
