import HTTPWire
import Testing

@testable import Forwarding

@Suite struct PathExchangeTests {
  private func sent(_ path: String, match: String, origin: String, method: String = "GET", signs: Bool = false) throws -> String
  {
    let rules = ForwardingRules(
      name: ProxyName("px"), credentialField: signs ? Array("Authorization".utf8) : nil,
      credentialForm: signs ? .awsSignature : .field, rewriteTo: nil, paths: PathExchange(match: match, origin: origin))
    let forwarded = try #require(try Forwarded(head("\(method) http://api.test\(path) HTTP/1.1\nHost: a"), rules))
    #expect(forwarded.count <= forwarded.limit)
    let target = try #require(forwarded.text.split(separator: " ").dropFirst().first)
    // What `explain` says.
    let kind: HTTPWire.Method = method == "GET" ? .get : .options
    let shown = try Array("http://api.test\(path)".utf8).withUnsafeBytes { bytes in
      let target = try RequestTarget(ByteSlice(start: 0, count: bytes.count), method: kind, in: bytes)
      return String(decoding: rules.sent(target, method: kind, in: bytes), as: UTF8.self)
    }
    #expect(signs || shown == target)
    return String(target)
  }

  @Test(arguments: [
    ("/v1", "/api/v1"), ("/v1/", "/api/v1/"), ("/v1/x", "/api/v1/x"), ("/v1?q=/v1", "/api/v1?q=/v1"),
    ("/v1/v1/v1?/v1", "/api/v1/v1/v1?/v1"),
    ("/v1/a%20b%2Bc;d=e/%E2%82%AC?x=%zz&y=/v1", "/api/v1/a%20b%2Bc;d=e/%E2%82%AC?x=%zz&y=/v1"),
  ]) func `the prefix is replaced once, and the rest stays byte for byte`(asked: String, expected: String) throws {
    #expect(try sent(asked, match: "/v1", origin: "/api/v1") == expected)
  }

  @Test(arguments: [
    ("", "/api/"), ("?q", "/api/?q"), ("/", "/api/"), ("/?q", "/api/?q"), ("/x", "/api/x"), ("/api/x", "/api/api/x"),
  ]) func `without a prefix the origin's path comes before all`(asked: String, expected: String) throws {
    #expect(try sent(asked, match: "", origin: "/api") == expected)
    #expect(try sent(asked, match: "", origin: "/api", method: "OPTIONS") == expected)
  }

  @Test(arguments: [("/v1", "/"), ("/v1?q", "/?q"), ("/v1/", "/"), ("/v1/x?v1", "/x?v1"), ("/v1/v1", "/v1")])
  func `a prefix that is taken away leaves a path`(asked: String, expected: String) throws {
    #expect(try sent(asked, match: "/v1", origin: "") == expected)
    #expect(try sent(asked, match: "/v1", origin: "", method: "OPTIONS") == expected)
  }

  @Test func `an app's AWS signature is cut from what is left`() throws {
    let signature = "X-Amz-Signature=00&X-Amz-Date=1"
    #expect(try sent("/v1?\(signature)&a=b", match: "/v1", origin: "/x", signs: true) == "/x?a=b")
    #expect(try sent("/v1?\(signature)", match: "/v1", origin: "", signs: true) == "/")
  }

  private func returned(_ url: String, match: String, origin: String, link: Bool = false) -> String? {
    let rule = URLRule(
      from: .init(text: Array("https://o.test".utf8), defaultPort: Array(":443".utf8)), to: Array("http://api.test".utf8),
      paths: PathExchange(match: match, origin: origin))
    return Array(url.utf8).withUnsafeBytes {
      (link ? rule.replacedLinks($0) : rule.replaced($0)).map { String(decoding: $0, as: UTF8.self) }
    }
  }

  @Test(arguments: [
    ("https://o.test/api/v1/x?y#z", "http://api.test/v1/x?y#z"), ("https://o.test:443/api/v1", "http://api.test/v1"),
    ("HTTPS://O.TEST/api/v1?q", "http://api.test/v1?q"), ("/api/v1/x", "/v1/x"), ("/api/v1", "/v1"), ("/api/v1#f", "/v1#f"),
    ("/api/v1/api/v1/x", "/v1/api/v1/x"), ("//o.test/api/v1/x", "//api.test/v1/x"), ("//O.test:443/api/v1", "//api.test/v1"),
  ]) func `URLs under the origin's path get the match's prefix back`(url: String, expected: String) {
    #expect(returned(url, match: "/v1", origin: "/api/v1") == expected)
  }

  @Test(arguments: [
    "https://o.test/", "https://o.test/api/v10", "https://o.test/api/v", "https://o.test", "/", "/api", "/api/v1x", "/API/v1",
    "//o.test.evil/api/v1", "//o.test:444/api/v1", "//other.test/api/v1", "x", "../api/v1", "?q", "",
    "https://o.test.evil/api/v1",
    "http://o.test/api/v1",
  ]) func `others stay`(url: String) {
    #expect(returned(url, match: "/v1", origin: "/api/v1") == nil)
  }

  @Test func `a prefix that was taken away comes back, and one that was none leaves a path`() {
    for (url, expected) in [
      ("https://o.test", "http://api.test/v1"), ("https://o.test/x", "http://api.test/v1/x"), ("/", "/v1/"), ("/x", "/v1/x"),
      ("https://o.test?q", "http://api.test/v1?q"), ("//o.test", "//api.test/v1"),
    ] { #expect(returned(url, match: "/v1", origin: "") == expected) }
    #expect(returned("//other.test/x", match: "/v1", origin: "") == nil)
    for (url, expected) in [
      ("https://o.test/api", "http://api.test/"), ("/api", "/"), ("/api?q", "/?q"), ("/api/x", "/x"), ("/api/", "/"),
    ] { #expect(returned(url, match: "", origin: "/api") == expected) }
  }

  @Test func `links are exchanged one by one`() {
    #expect(
      returned("</api/v1/2>; rel=next, <https://o.test/api/v1>; rel=x, </other>", match: "/v1", origin: "/api/v1", link: true)
        == "</v1/2>; rel=next, <http://api.test/v1>; rel=x, </other>")
  }
}
