import HTTPWire
import Testing

@testable import Forwarding

/// A secret with characters that are written in many ways.
private let secret = "s3cr/t +~ü"
/// Encoded: as the proxy sends it, with lower-case digits, with everything encoded, twice, three times, a plus for the space.
private let spellings = [
  "s3cr%2Ft%20%2B~%C3%BC", "s3cr%2ft%20%2b%7e%c3%bc", "%73%33%63%72%2F%74%20%2B%7E%C3%BC", "s3cr/t%20%2B~%C3%BC",
  "s3cr%2Ft+%2B~%C3%BC", "s3cr%252Ft%2520%252B~%25C3%25BC", "s3cr%25252Ft%252520%25252B~%2525C3%2525BC", "s3cr/t%20+~ü",
]

private let query = EchoedSecret(Array(secret.utf8), as: .parameter(name: Array("key".utf8)))
private let path = EchoedSecret(Array(secret.utf8), as: .segment(before: Array("bot".utf8), after: []))

/// The fields of a response after the secret was removed, and after the changed bytes were read again.
private func cleaned(_ secrets: EchoedSecret..., fields: String) -> String {
  var bytes = Array(("HTTP/1.1 302 Found\n" + fields + "\n\n").replacing("\n", with: "\r\n").utf8)
  let length = bytes.count
  let readings = bytes.withUnsafeMutableBytes { memory in
    (0..<2).map { _ in
      let bytes = UnsafeRawBufferPointer(memory)
      var head = ResponseHead()
      guard case .complete = head.parse(bytes, limit: 1 << 20) else { return "broken" }
      for secret in secrets { secret.remove(from: &head, in: bytes) }
      return head.fields.map { field in
        String(decoding: field.name.bytes(in: bytes), as: UTF8.self) + ": "
          + String(decoding: field.value.bytes(in: bytes), as: UTF8.self)
      }.joined(separator: "\n")
    }
  }
  #expect(readings[0] == readings[1] && bytes.count == length)
  return readings[0]
}

private func cleaned(_ secret: EchoedSecret, _ url: String) -> String {
  let line = cleaned(secret, fields: "Location: \(url)")
  #expect(line.hasPrefix("Location: "))
  return String(line.dropFirst(10))
}

@Suite("A secret that an origin echoes")
struct EchoedSecretTests {
  @Test("as the parameter is removed, however it is encoded", arguments: spellings)
  func parameter(spelling: String) {
    for (url, rest) in [
      ("https://o.test/a?key=S", "https://o.test/a"), ("https://o.test/a?b=1&key=S", "https://o.test/a?b=1"),
      ("/a?key=S&b=1", "/a?b=1"), ("/a?b;key=S;c#d", "/a?b;c#d"), ("/a?k%65y=S&key=S&c", "/a?c"), ("?key=S", "?"),
      ("/a?x=1&key=S#f", "/a?x=1#f"), ("/a#key=S", "/a#"),
    ] {
      #expect(cleaned(query, url.replacing("S", with: spelling)) == rest, "\(url)")
    }
  }

  @Test("in any other place is replaced by stars", arguments: spellings)
  func elsewhere(spelling: String) {
    for (url, rest) in [
      ("/a?other=S&b", "/a?other=***&b"), ("/a?key=1S", "/a?key=1***"), ("/S/x", "/***/x"),
      ("https://S.test/", "https://***.test/"),
      ("/login?to=https%3A%2F%2Fo.test%2F%3Fkey%3DS%26a", "/login?to=https%3A%2F%2Fo.test%2F%3Fkey%3D***%26a"),
      ("/a#S", "/a#***"), ("SS", "******"), ("/a?Key=S", "/a?Key=***"),
    ] {
      #expect(cleaned(query, url.replacing("S", with: spelling)) == rest, "\(url)")
    }
  }

  @Test("as the segment is removed, however it is encoded", arguments: spellings)
  func segment(spelling: String) {
    for (url, rest) in [
      ("https://o.test/botS/a", "https://o.test/a"), ("/botS", "/"), ("/botS?b", "/?b"), ("/api/b%6ftS/a?b", "/api/a?b"),
      ("/botS//evil.test/", "/evil.test/"), ("botS/a", "a"), ("botS", "."), ("/robotS/a", "/robot***/a"),
      ("/botS1/a", "/bot***1/a"), ("/a?to=/botS/b", "/a?to=/b"), ("/a?t=S", "/a?t=***"), ("/botS/botS/x", "/x"),
    ] {
      #expect(cleaned(path, url.replacing("S", with: spelling)) == rest, "\(url)")
    }
  }

  @Test("is removed from each field with URLs, and from no other")
  func fields() {
    let echo = "/a?key=\(spellings[0])"
    #expect(
      cleaned(
        query,
        fields: """
          location: \(echo)
          Content-Location:\(echo)&b
          Link: <\(echo)>; rel=next, <https://o.test\(echo)&c>; title="\(echo)"; anchor="\(echo)", <?key=\(spellings[1])>
          Refresh: 5; url=\(echo)
          Set-Cookie: a=b; Path=\(echo)
          X-Url: \(echo)
          """)
          == """
          location: /a
          Content-Location: /a?b
          Link: </a>; rel=next, <https://o.test/a?c>; title="/a"; anchor="/a", <?>
          Refresh: 5; url=/a
          Set-Cookie: a=b; Path=/a
          X-Url: \(echo)
          """)
    let hidden = cleaned(
      path, fields: "Set-Cookie: a=b; Path=/bot\(spellings[3]); Secure\nLink: </bot\(spellings[0])/b>; rel=up")
    #expect(hidden == "Set-Cookie: a=b; Path=/; Secure\nLink: </b>; rel=up")
  }

  @Test("is not removed from what has none of it")
  func untouched() {
    for url in [
      "https://o.test/a?key=other&b", "/a?key=", "/a?key", "", "/a?key=s3cr", "/%", "/%2", "/%25%25%2525%252525%zz", "s3cr/t",
      "/a?key=s3cr%2Ft%20%2B~%C3",
    ] {
      #expect(cleaned(query, url) == url)
      #expect(cleaned(path, url) == url)
    }
  }

  @Test("of a few bytes is removed where it is the credential, and stands elsewhere")
  func short() {
    let query = EchoedSecret(Array("test".utf8), as: .parameter(name: Array("key".utf8)))
    #expect(cleaned(query, "https://o.test/test?a=test&key=test") == "https://o.test/test?a=test")
    let path = EchoedSecret(Array("test".utf8), as: .segment(before: Array("bot".utf8), after: Array("-x".utf8)))
    #expect(cleaned(path, "https://o.test/bottest-x/test?bottest") == "https://o.test/test?bottest")
  }

  @Test("is removed with the one that it replaced")
  func several() {
    let old = EchoedSecret(Array("old-secret".utf8), as: .parameter(name: Array("key".utf8)))
    #expect(cleaned(query, old, fields: "Location: /?key=old-secret&key=\(spellings[0])&a") == "Location: /?a")
  }

  @Test("leaves the question mark of a query that is alone")
  func alone() {
    #expect(
      cleaned(
        query,
        fields:
          "Refresh: 0;url=?key=\(spellings[0])\nLink: </a>; anchor=\"?key=\(spellings[0])\"\nLocation: ?key=\(spellings[0])#f")
        == "Refresh: 0;url=?\nLink: </a>; anchor=\"?\"\nLocation: ?#f")
  }

  /// An origin chooses the bytes, and other requests wait meanwhile.
  @Test(
    "is looked for in a time that does not depend on what the origin writes", .serialized,
    arguments: [
      ("4711", "4711,", ""), ("a", "a", ""), ("a", "a", "&"), ("4711", "?key=4711", "&"), ("4711", "&key=4711", ""),
      ("4711", "x4711", ""), ("%", "%", ""), ("long-secret", "long-secret", ""),
      (String(repeating: "a", count: 2_000), "a", ""), (String(repeating: "a", count: 2_000), "%61", ""),
      (String(repeating: "ab", count: 1_000) + "c", "ab", ""), (String(repeating: "%", count: 500) + "x", "%25", ""),
      ("4711", "/bot4711", ""), ("4711", "bot4711", ""),
    ])
  func hostile(secret: String, part: String, between: String) {
    let count = 40_000 / (part + between).utf8.count
    let value = "/" + Array(repeating: part, count: count).joined(separator: between)
    let forms: [TargetCredential.Form] = [
      .parameter(name: Array("key".utf8)), .segment(before: Array("bot".utf8), after: Array("x".utf8)),
      .segment(before: [], after: []),
    ]
    for form in forms {
      let echoed = EchoedSecret(Array(secret.utf8), as: form)
      // Without optimization, each byte once takes a tenth of this, and each one for each other one takes minutes.
      let time = ContinuousClock().measure { _ = cleaned(echoed, value) }
      #expect(time < .seconds(5), "\(form)")
    }
  }

  @Test("is hidden with the whole field, if that is made to be searched for long")
  func exhausted() {
    let secret = EchoedSecret(Array(String(repeating: "a", count: 2_000).utf8) + [98], as: .parameter(name: Array("key".utf8)))
    let part = String(repeating: "a", count: 1_999)
    #expect(cleaned(secret, "/?a=" + Array(repeating: part, count: 30).joined(separator: "/")) == "***")
    // A few such places are no attack.
    let text = "/?a=\(part)&b=" + String(repeating: "0123456789", count: 20_000)
    #expect(cleaned(secret, text) == text)
  }
}
