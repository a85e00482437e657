import Testing

@testable import Forwarding

@Suite struct URLRuleTests {
  private func replaced(_ url: String, from: String = "https://api.example.com", port: String = ":443") -> String? {
    let rule = URLRule(from: .init(text: Array(from.utf8), defaultPort: Array(port.utf8)), to: Array("http://api".utf8))
    return Array(url.utf8).withUnsafeBytes { rule.replaced($0).map { String(decoding: $0, as: UTF8.self) } }
  }

  @Test(arguments: [
    ("https://api.example.com", "http://api"), ("https://api.example.com/", "http://api/"),
    ("HTTPS://API.Example.COM/X", "http://api/X"), ("https://api.example.com?q", "http://api?q"),
    ("https://api.example.com#f", "http://api#f"), ("https://api.example.com:443/x", "http://api/x"),
    ("https://api.example.com:443", "http://api"),
  ]) func `what is under the origin comes here`(url: String, expected: String) {
    #expect(replaced(url) == expected)
  }

  @Test(arguments: [
    "https://api.example.com.evil/", "https://api.example.com:444/", "https://api.example.com:4430/", "http://api.example.com/",
    "https://api.example.com@evil/", "/relative", "", "https://api.example.co",
  ]) func `other places stay`(url: String) {
    #expect(replaced(url) == nil)
  }

  @Test func `a port that is not the scheme's own must be there`() {
    #expect(replaced("https://api.example.com:8443/x", from: "https://api.example.com:8443", port: "") == "http://api/x")
    #expect(replaced("https://api.example.com/x", from: "https://api.example.com:8443", port: "") == nil)
  }

  @Test func `other origins of the entry mean the same`() {
    func place(_ text: String, _ port: String = "") -> URLRule.Place {
      .init(text: Array(text.utf8), defaultPort: Array(port.utf8))
    }
    let rule = URLRule(
      from: place("https://a", ":443"), others: [place("https://b", ":443"), place("https://c:8443")],
      to: Array("http://api".utf8))
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
    let rule = URLRule(from: .init(text: Array("https://a".utf8), defaultPort: []), to: Array("http://b".utf8))
    let value = Array("<https://a/1>; rel=next, <https://c/>; rel=x, </2>".utf8)
    let links = value.withUnsafeBytes { rule.replacedLinks($0).map { String(decoding: $0, as: UTF8.self) } }
    #expect(links == "<http://b/1>; rel=next, <https://c/>; rel=x, </2>")
  }
}
