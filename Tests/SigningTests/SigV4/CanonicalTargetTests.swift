import Testing

@testable import Signing

@Suite("The canonical form")
struct CanonicalTargetTests {
  private func path(_ text: String, _ form: PathForm) -> String {
    var bytes: [UInt8] = []
    Array(text.utf8).withUnsafeBytes { bytes.append(canonicalPath: $0, form) }
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test(
    "of a path resolves it, and encodes each octet as written",
    arguments: [
      ("/", "/"), ("//", "/"), ("/.", "/"), ("/..", "/"), ("/../..", "/"), ("/../../", "/"), ("*", "/"), ("", "/"),
      ("/a", "/a"), ("/a/", "/a/"), ("/a//b", "/a/b"), ("/a/./b/", "/a/b/"), ("/a/../b", "/b"), ("/a/b/..", "/a"),
      ("/a/b/../", "/a/"), ("/a/../../b", "/b"), ("/a/.b/..c/d..", "/a/.b/..c/d.."), ("/...", "/..."),
      ("/%2e%2e/a", "/%252e%252e/a"),
      ("/a%20b", "/a%2520b"), ("/a b", "/a%20b"), ("/%2F", "/%252F"), ("/a+b", "/a%2Bb"), ("/~a_b-c.d", "/~a_b-c.d"),
      ("/a:b@c=d&e;f,g!h$i'j(k)*l", "/a%3Ab%40c%3Dd%26e%3Bf%2Cg%21h%24i%27j%28k%29%2Al"), ("/\u{e9}", "/%C3%A9"),
      ("/%", "/%25"), ("/%zz", "/%25zz"), ("/model/arn%3Aaws/invoke", "/model/arn%253Aaws/invoke"),
    ])
  func normalizedPath(given: String, expected: String) { #expect(path(given, .normalized) == expected) }

  @Test(
    "of an object's path decodes and encodes it once, and removes nothing",
    arguments: [
      ("/", "/"), ("//", "//"), ("/.", "/."), ("/a/../b", "/a/../b"), ("/a//b/", "/a//b/"), ("/a%20b", "/a%20b"),
      ("/a b", "/a%20b"),
      ("/a+b", "/a%2Bb"), ("/a%2bb", "/a%2Bb"), ("/a%2Fb", "/a/b"), ("/%7Ea%41", "/~aA"), ("/\u{e9}", "/%C3%A9"),
      ("/%c3%a9", "/%C3%A9"),
      ("/%", "/%25"), ("/%2", "/%252"), ("/%zz", "/%25zz"), ("/%25zz", "/%25zz"), ("/%00", "/%00"), ("/a=b&c", "/a%3Db%26c"),
      ("*", "/"),
    ])
  func pathAsWritten(given: String, expected: String) { #expect(path(given, .asWritten) == expected) }

  @Test(
    "of a query decodes, encodes and sorts it",
    arguments: [
      ("/", ""), ("/?", ""), ("/?a", "a="), ("/?a=", "a="), ("/?b=1&a=2", "a=2&b=1"), ("/?a=2&a=1", "a=1&a=2"),
      ("/?a=b=c", "a=b%3Dc"), ("/?a=b%3dc", "a=b%3Dc"), ("/?a=x+y", "a=x%2By"), ("/?a=x%2By", "a=x%2By"),
      ("/?a=x%20y", "a=x%20y"),
      ("/?a&&b&", "a=&b="), ("/?=v", "=v"), ("/?a-=1&a=2", "a=2&a-=1"), ("/?A=1&a=2&B=3", "A=1&B=3&a=2"),
      ("/?%61=1", "a=1"), ("/?a=%7E%2D", "a=~-"), ("/?a=%", "a=%25"), ("/?a=%4", "a=%254"), ("/?a=?b", "a=%3Fb"),
      ("/?a=/b:c", "a=%2Fb%3Ac"), ("/?\u{e9}=\u{e9}", "%C3%A9=%C3%A9"), ("/?a=1&A%20=2&a%20=3", "A%20=2&a=1&a%20=3"),
      ("/?list-type=2&prefix=a%2Fb&delimiter=/", "delimiter=%2F&list-type=2&prefix=a%2Fb"),
      ("/?X-Amz-Date=1&acl", "X-Amz-Date=1&acl="), ("/?ab=1&a=3&aa=2", "a=3&aa=2&ab=1"),
    ])
  func query(given: String, expected: String) {
    var bytes: [UInt8] = []
    Array(given.utf8).withUnsafeBytes { bytes.append(canonicalQueryOf: $0) }
    #expect(String(decoding: bytes, as: UTF8.self) == expected)
  }

  private let scope = SigningScope(service: Array("execute-api".utf8), region: Array("eu-central-1".utf8))

  @Test("has the fields that no hop may alter, and no others")
  func fields() {
    let lines = [
      "Accept: */*", "Content-Type:  text/plain;\t charset=utf-8 ", "User-Agent: x", "X-Amz-Target: b", "x-amz-meta-a: 1  2",
      "X-Amzn-Trace-Id: 1", "X_Amz_Meta: 1", "Content-MD5: abc=", "Content-Length: 3", "Via: 1.1 px", "Cookie: a",
      "X-Forwarded-For: 1",
      "x-AMZ-meta-a: 0", "Connection: upgrade", "Content-Type-Of: x", "Date: now",
    ]
    let signature = sigV4(
      Array("POST".utf8), Array("/".utf8), Array(lines.map { $0 + "\r\n" }.joined().utf8), scope,
      Array("UNSIGNED-PAYLOAD".utf8),
      token: "TOKEN", writesPayload: true, host: "a.test:8443", signsAll: false)
    #expect(
      String(decoding: signature.canonicalRequest, as: UTF8.self) == """
        POST
        /

        content-md5:abc=
        content-type:text/plain; charset=utf-8
        host:a.test:8443
        x-amz-content-sha256:UNSIGNED-PAYLOAD
        x-amz-date:20150830T123600Z
        x-amz-meta-a:1 2,0
        x-amz-security-token:TOKEN
        x-amz-target:b

        content-md5;content-type;host;x-amz-content-sha256;x-amz-date;x-amz-meta-a;x-amz-security-token;x-amz-target
        UNSIGNED-PAYLOAD
        """)
  }

  @Test("keeps the path of s3 as it is written, and of no other service")
  func services() {
    for (service, form) in [
      ("s3", PathForm.asWritten), ("s3-object-lambda", .asWritten), ("s3-outposts", .asWritten), ("s3express", .asWritten),
      ("s3tables", .normalized), ("execute-api", .normalized), ("S3", .normalized), ("", .normalized),
    ] {
      #expect(PathForm(of: Array(service.utf8)) == form, "\(service)")
    }
  }

  @Test(
    "has times in UTC",
    arguments: [
      (0, "19700101T000000Z"), (951_782_400, "20000229T000000Z"), (1_440_938_160, "20150830T123600Z"),
      (1_735_689_599, "20241231T235959Z"), (4_107_542_400, "21000301T000000Z"),
    ])
  func times(seconds: Int64, text: String) { #expect(String(decoding: SigningTime(seconds).text, as: UTF8.self) == text) }
}
