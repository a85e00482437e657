import HTTPWire
import Testing

@testable import Forwarding

private func query(_ name: String = "key") -> TargetCredential { TargetCredential(.parameter(name: Array(name.utf8))) }

private func path(_ before: String, _ after: String = "", originPath: Int = 0, appPath: Int = 0) -> TargetCredential {
  TargetCredential(
    .segment(before: Array(before.utf8), after: Array(after.utf8)), originPath: originPath, appPath: appPath)
}

extension TargetCredential {
  fileprivate func written(_ target: String, _ part: String) -> String {
    let target = Array(target.utf8)
    let (text, count) = target.withUnsafeBytes { bytes in
      ForwardingTests.written { write(bytes, with: Array(part.utf8), into: &$0) }
    }
    #expect(count <= target.count + Self.growth(of: part.utf8.count))
    return text
  }

  fileprivate func isPresent(_ target: String) -> Bool { Array(target.utf8).withUnsafeBytes { isPresent(in: $0) } }
}

@Suite("A credential in the target")
struct TargetCredentialTests {
  @Test(
    "as a parameter goes last, and the app's own of that name go first",
    arguments: [
      ("/", "/?key=S"), ("/a", "/a?key=S"), ("/a?", "/a?key=S"), ("/a?b=1", "/a?b=1&key=S"), ("/a?b=1&", "/a?b=1&key=S"),
      ("/a?b;", "/a?b;&key=S"), ("/a?&&", "/a?&&key=S"), ("/a?key", "/a?key=S"), ("/a?key=", "/a?key=S"),
      ("/a?key=1&b=2", "/a?b=2&key=S"), ("/a?b=2&key=1", "/a?b=2&key=S"), ("/a?b=2;key=1;c", "/a?b=2;c&key=S"),
      ("/a?key=1;b=2", "/a?b=2&key=S"), ("/a?key=1&&b", "/a?&b&key=S"), ("/a?%6bey=1&k%65y=2&key=3", "/a?key=S"),
      ("/a?%6Bey&c=%6b", "/a?c=%6b&key=S"), ("/a?Key=1&keys=2&ke=3", "/a?Key=1&keys=2&ke=3&key=S"),
      ("/key=1?b=key=1", "/key=1?b=key=1&key=S"), ("/a?b=1?key=2", "/a?b=1?key=2&key=S"), ("/a?k%ey=1", "/a?k%ey=1&key=S"),
      ("/a?%256bey=1", "/a?%256bey=1&key=S"), ("*", "*"),
    ])
  func parameter(target: String, written: String) { #expect(query().written(target, "key=S") == written) }

  @Test("has a name that is compared decoded, with plus as a space")
  func names() {
    #expect(query("a b").written("/?a+b=1&a%20b=2&a%2Bb=3", "a%20b=S") == "/?a%2Bb=3&a%20b=S")
    #expect(query("ä").written("/?%C3%A4=1&%c3%a4", "%C3%A4=S") == "/?%C3%A4=S")
    #expect(query("a+b").written("/?a+b=1&a%2bb=2", "a%2Bb=S") == "/?a+b=1&a%2Bb=S")
  }

  @Test(
    "as a segment goes first, and takes the place of the app's own",
    arguments: [
      ("/", "/botS/"), ("/getMe", "/botS/getMe"), ("/bot1:dummy/getMe?a=1", "/botS/getMe?a=1"), ("/bot1", "/botS"),
      ("/bot1?a", "/botS?a"), ("/%62ot1/x", "/botS/x"), ("/bot/x", "/botS/bot/x"), ("/Bot1/x", "/botS/Bot1/x"),
      ("/x/bot1/y", "/botS/x/bot1/y"), ("/?q=/bot1", "/botS/?q=/bot1"), ("/bot1/bot2/x", "/botS/bot2/x"), ("*", "*"),
    ])
  func segment(target: String, written: String) { #expect(path("bot").written(target, "botS") == written) }

  @Test("as a segment follows the origin's own path")
  func originPath() {
    #expect(path("bot", originPath: 4).written("/api/x", "botS") == "/api/botS/x")
    #expect(path("bot", originPath: 4).written("/api/bot1/x", "botS") == "/api/botS/x")
    #expect(path("bot", originPath: 4).written("/api?x", "botS") == "/api/botS?x")
    #expect(path("bot", originPath: 4).written("/api", "botS") == "/api/botS")
    #expect(path("bot", appPath: 3).isPresent("http://a.test/v1/bot1/x"))
    #expect(!path("bot", appPath: 3).isPresent("http://a.test/bot1/x"))
  }

  @Test("as a segment with text after the secret, or with none around it")
  func around() {
    #expect(path("a", "z").written("/a1z/x", "aSz") == "/aSz/x")
    #expect(path("a", "z").written("/a1%7a/x", "aSz") == "/aSz/x")
    #expect(path("a", "z").written("/az/x", "aSz") == "/aSz/az/x")
    #expect(path("", "").written("/v1/x", "S") == "/S/v1/x")
    #expect(!path("", "").isPresent("/v1/x"))
  }

  @Test("is found in what the app sends, in each form of a target")
  func present() {
    for target in ["/?key=1", "http://a.test?key", "https://a.test/x?a;k%65y=1"] { #expect(query().isPresent(target)) }
    for target in ["/", "*", "http://key=1/x", "/key=1", "/?Key=1"] { #expect(!query().isPresent(target)) }
    for target in ["/bot1", "http://a.test/bot1?x", "https://a.test:1/b%6ft1/x"] { #expect(path("bot").isPresent(target)) }
    for target in ["/", "*", "http://bot1/x", "http://bot1", "/bot", "/x/bot1", "/?/bot1", "http://a?/bot1"] {
      #expect(!path("bot").isPresent(target))
    }
  }

  @Test("is kept, rejected, or replaced, as the entry says")
  func ofApp() throws {
    func line(_ target: String, _ app: ForwardingRules.AppCredential, _ credential: TargetCredential) throws -> (String, Bool) {
      let rules = ForwardingRules(
        name: ProxyName("px"), credentialField: nil, appCredential: app, target: credential, rewriteTo: nil)
      let forwarded = try #require(
        try Forwarded(head("GET \(target) HTTP/1.1\nHost: a.test\nAuthorization: mine"), rules))
      #expect(forwarded.text.contains("Authorization: mine\n"))
      return (String(forwarded.text.prefix { $0 != "\n" }), forwarded.outbound.sendsCredential)
    }
    for (own, other, credential) in [("/a?key=1", "/a?x", query()), ("/bot1/a", "/a", path("bot"))] {
      #expect(try line(own, .replace, credential) == ("GET \(own) HTTP/1.1", true))
      #expect(try line(own, .keep, credential) == ("GET \(own) HTTP/1.1", false))
      #expect(throws: ForwardingError.credentialFromApp) { try line(own, .reject, credential) }
      for app in [ForwardingRules.AppCredential.replace, .keep, .reject] {
        #expect(try line(other, app, credential) == ("GET \(other) HTTP/1.1", true))
      }
    }
  }

  @Test("as a segment cannot be left by dots")
  func dots() throws {
    func decide(_ target: String, _ credential: TargetCredential, _ app: ForwardingRules.AppCredential = .replace) throws {
      let rules = ForwardingRules(
        name: ProxyName("px"), credentialField: nil, appCredential: app, target: credential, rewriteTo: nil)
      _ = try Forwarded(head("GET \(target) HTTP/1.1\nHost: a.test"), rules)
    }
    for target in [
      "/..", "/../x", "/a/../../x", "/%2e%2E/x", "/.%2e;a/x", "/a//x", "/a%2fx", "/a\\x", "http://a.test/../x", "/./x?a",
    ] {
      #expect(throws: ForwardingError.ambiguousPath) { try decide(target, path("bot")) }
      try decide(target, query())
    }
    for target in ["/", "/...", "/a?/../x", "http://a.test?/../", "/bot1/x"] { try decide(target, path("bot")) }
    // Origins decode more than once.
    for target in [
      "/%252e%252e/%252e%252e/admin", "/%252e%252e", "/x/%252e%252e/%252e%252e/y", "/bot1/%252e%252e/x", "/%25252e%25252e/x",
      "/%252e%252e%252fx", "/.%252e;a=b/x", "/%2525252525252e/x", "http://a.test/b%6ft1/%252e%252e/x",
    ] {
      #expect(throws: ForwardingError.ambiguousPath, "\(target)") { try decide(target, path("bot")) }
    }
    for target in ["/x/%252e%252e/y", "/%252e/x", "/a%252fb", "/%41;p=q/x", "/%25", "/bot1/x/%252e%252e/y", "/a?%252e%252e/"] {
      try decide(target, path("bot"))
    }
    #expect(throws: ForwardingError.ambiguousPath) { try decide("/v1/%252e%252e/v1/x", path("bot", appPath: 3)) }
    try decide("/v1/bot1/x/%252e%252e/y", path("bot", appPath: 3))
    // It is untouched.
    try decide("/bot1/../x", path("bot"), .keep)
  }

  @Test("is shown with stars")
  func shown() {
    func shown(_ target: String, _ credential: TargetCredential, _ part: String, keeps: Bool = false) -> String {
      String(decoding: credential.shown(Array(target.utf8), with: Array(part.utf8), keepsOwn: keeps), as: UTF8.self)
    }
    #expect(shown("/a?b&key=1", query(), "key=***") == "/a?b&key=***")
    #expect(shown("/a?key=1&b;key=2&key", query(), "key=***", keeps: true) == "/a?key=***&b;key=***&key")
    #expect(shown("/a?b", query(), "key=***", keeps: true) == "/a?b&key=***")
    #expect(shown("/bot1/a", path("bot"), "bot***") == "/bot***/a")
    #expect(shown("/bot1/a", path("bot"), "bot***", keeps: true) == "/bot***/a")
    #expect(String(decoding: path("a", "z").hidden(Array("/a1z/x".utf8)), as: UTF8.self) == "/a***z/x")
    #expect(String(decoding: path("bot").hidden(Array("/x/bot1".utf8)), as: UTF8.self) == "/x/bot1")
  }

  @Test("may be anywhere in a path that was refused")
  func refused() {
    func hidden(_ target: String, _ credential: TargetCredential) -> String? {
      ForwardingRules(name: ProxyName("px"), credentialField: nil, target: credential, rewriteTo: nil).hiddenPath(
        ofRefused: Array(target.utf8))
    }
    for target in [
      "/bot1/x", "//bot1/x", "/../bot1", "/x/bot1", "/%62ot1", "/b%256ft1/x", "/%2fbot1", "/bo%25252574", "/a;bot1", "bot1",
    ] { #expect(hidden(target, path("bot")) == "/***", "\(target)") }
    for target in ["/", "", "/a/b", "/b/ot1", "/%25", "/Bot1"] { #expect(hidden(target, path("bot")) == nil, "\(target)") }
    #expect(hidden("/1z", path("", "z")) == "/***")
    #expect(hidden("/bot1", path("")) == nil && hidden("/bot1", query("bot1")) == nil)
  }
}
