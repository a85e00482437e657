import HTTPWire
import Testing

@testable import Cache

@Suite("Requests for one target are told apart")
struct VariantTests {
  private static let several = CacheRules(share: .all)

  /// harp#873, undici#4299; code-dot-org#31301, webjs#1097: no unkeyed input is left to poison with.
  @Test(
    "`by every field that is not known to be harmless`",
    arguments: [
      "Cookie", "X-User", "X-Forwarded-Host", "X-HTTP-Method-Override", "X-Tenant", "Authorization", "Referer", "Origin",
      "Content-Type",
      "X-Forwarded-For", "Forwarded", "User_Agent", "Accept-Version", "X-Original-URL",
    ])
  func unknown(name: String) {
    for rules in [CacheRules(), Self.several] {
      #expect(variant("\(name): a", rules) != variant("\(name): b", rules))
      #expect(variant("\(name): a", rules) != variant("", rules))
      #expect(variant("\(name):", rules) != variant("", rules))
    }
  }

  @Test(
    "not by harmless fields",
    arguments: [
      "Accept-Encoding", "Accept-Charset", "User-Agent", "Cache-Control", "Pragma", "Date", "Range", "If-None-Match",
      "If-Modified-Since",
      "If-Range", "DNT", "Priority", "Sec-Fetch-Mode", "traceparent", "Tracestate", "X-Request-ID", "X-B3-TraceId",
      "X-Amzn-Trace-Id",
      "X-Cloud-Trace-Context", "sentry-trace", "x-datadog-trace-id", "x-ms-client-request-id", "amz-sdk-invocation-id",
      "amz-sdk-request",
    ])
  func harmless(name: String) {
    for rules in [CacheRules(), Self.several] { #expect(variant("\(name): a", rules) == .none) }
    #expect(variant("\(name): a", vary: [name.lowercased()]) != variant("\(name): b", vary: [name.lowercased()]))
  }

  @Test("by Accept and Accept-Language where an answer serves several clients", arguments: ["Accept", "Accept-Language"])
  func accept(name: String) {
    #expect(variant("\(name): a") == .none)
    for share in [CacheRules.Share.everyone, .all, .credential] {
      #expect(variant("\(name): a", CacheRules(share: share)) != .none)
    }
  }

  @Test("not by fields of ignore_headers, with or without a star")
  func ignored() {
    let rules = CacheRules(ignored: IgnoredFields(["X-Correlation-Id", "x-AMZ-*", "Cookie"]))
    #expect(variant("x-correlation-id: 1\r\nX-Amz-Date: 2\r\nCookie: 3", rules) == .none)
    #expect(variant("X-Amz: 1", rules) != .none)
    #expect(variant("X-Correlation-Id2: 1", rules) != .none)
    // Vary still tells.
    #expect(variant("Cookie: 3", rules, vary: ["cookie"]) != .none)
  }

  @Test("only by Vary with a star alone, and by an app's own credential")
  func star() {
    let rules = CacheRules(share: .credential, ignored: IgnoredFields(["*"]))
    #expect(variant("Cookie: 3\r\nAccept: x\r\nX-User: y", rules) == .none)
    #expect(variant("X-User: y", rules, vary: ["x-user"]) != .none)
    #expect(variant("Authorization: Bearer a", rules) != variant("Authorization: Bearer b", rules))
  }

  /// test-infra#17157.
  @Test("`not by the field that the credential writes, also if Vary names it`")
  func credential() {
    #expect(variant("Authorization: a", written: ["Authorization"], vary: ["authorization"]) == .none)
    #expect(variant("X-Api-Key: a", written: ["x-api-key"], vary: ["x-api-key"]) == .none)
    #expect(variant("Authorization: a", vary: ["authorization"]) != .none)
  }

  @Test("by the lines of one name together, without blanks around commas")
  func normal() {
    let vary = ["accept-language"]
    func of(_ fields: String) -> CacheDigest { variant(fields, vary: vary) }
    #expect(of("Accept-Language: de,en") == of("accept-language:  de , en "))
    #expect(of("Accept-Language: de,en") == of("Accept-Language: de\r\nAccept-Language: en"))
    #expect(of("Accept-Language: de,en") == of("Accept-Language: de\t,\t en"))
    #expect(of("Accept-Language: de,en") != of("Accept-Language: en,de"))
    #expect(of("Accept-Language: de") != of(""))
    #expect(of("Accept-Language:") != of(""))
    #expect(of("") == of("") && of("") == .none)
    #expect(of("Accept-Language: de\r\nX-A: 1") == of("X-A: 1\r\nAccept-Language: de"))
    #expect(of("X-A: 1\r\nX-B: 2") != of("X-A: 12\r\nX-B:"))
    #expect(of("X-A: 1,2") != of("X-A: 1\r\nX-B: 2"))
  }

  @Test("byte for byte where no Vary says that the field is a list", arguments: ["X-User", "Cookie", "X-Tenant"])
  func exact(name: String) {
    #expect(variant("\(name): Doe, John") != variant("\(name): Doe,John"))
    #expect(variant("\(name): a=\"x , y\"") != variant("\(name): a=\"x,y\""))
    #expect(variant("\(name): 1\r\n\(name): 2") != variant("\(name): 1,2"))
    #expect(variant("\(name): 1\r\n\(name): 2") != variant("\(name): 2\r\n\(name): 1"))
    #expect(variant("\(name): 1\r\nX-A: 2") == variant("X-A: 2\r\n\(name.lowercased()): 1"))
    // One that Vary names, too, is the list that it is.
    #expect(variant("\(name): Doe, John", vary: [name.lowercased()]) == variant("\(name): Doe,John", vary: [name.lowercased()]))
  }

  @Test("by lines that the proxy writes for each client")
  func own() {
    func of(_ user: String) -> CacheDigest {
      withRequest("") { head, bytes in
        VariantReader(CacheRules(share: .all)).variant(
          of: head.fields, in: bytes, own: [(Array("X-User".utf8), Array(user.utf8))], vary: .none)
      }
    }
    #expect(of("a") != of("b") && of("a") == of("a"))
  }

  @Test("not by fields that do not go on")
  func dropped() {
    let text = Array("GET / HTTP/1.1\r\nHost: h\r\nConnection: x-user\r\nX-User: a\r\nKeep-Alive: 5\r\n\r\n".utf8)
    text.withUnsafeBytes { bytes in
      var head = RequestHead()
      #expect(head.parse(bytes, limit: 4096) == .complete)
      head.markHopByHop(in: bytes, keepUpgrade: false)
      #expect(VariantReader(CacheRules()).variant(of: head.fields, in: bytes, vary: .none) == .none)
    }
  }

  @Test("and `explain` can name the fields")
  func names() {
    let names = withRequest("Cookie: a\r\nAccept: b\r\nX-A: 1\r\nx-a: 2") { head, bytes in
      VariantReader(CacheRules(share: .all)).names(of: head.fields, in: bytes)
    }
    #expect(names == ["cookie", "accept", "x-a"].map { Array($0.utf8) })
  }
}
