import Forwarding
import HTTPWire
import Testing

@Suite("An app's AWS signature")
struct PresignedQueryTests {
  private func rules(_ appCredential: ForwardingRules.AppCredential) -> ForwardingRules {
    ForwardingRules(
      name: ProxyName("px"), credentialField: Array("Authorization".utf8),
      moreFields: [Array("X-Amz-Date".utf8), Array("X-Amz-Security-Token".utf8)], appCredential: appCredential,
      credentialForm: .awsSignature, rewriteTo: nil)
  }

  private func line(_ target: String, _ appCredential: ForwardingRules.AppCredential = .replace) throws -> String {
    let forwarded = try #require(try Forwarded(head("GET \(target) HTTP/1.1\nHost: a.test"), rules(appCredential)))
    #expect(forwarded.count <= forwarded.limit)
    return String(forwarded.text.prefix { $0 != "\n" })
  }

  private static let signature =
    "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AK%2F20150830%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20150830T123600Z"
    + "&X-Amz-Expires=60&X-Amz-SignedHeaders=host&X-Amz-Security-Token=abc%3D&X-Amz-Signature=123"

  @Test("is cut from the query, and nothing else of the target changes")
  func cut() throws {
    let signature = Self.signature
    #expect(try line("http://a.test/a//b?\(signature)") == "GET /a//b HTTP/1.1")
    #expect(try line("http://a.test?\(signature)") == "GET / HTTP/1.1")
    #expect(try line("/a?b=%2f&\(signature)&c&d=?") == "GET /a?b=%2f&c&d=? HTTP/1.1")
    #expect(
      try line("/a?x-id=GetObject&x-AMZ-signature=1&X%2DAmz-Date=2&X-Amz-Content-Sha256=u")
        == "GET /a?x-id=GetObject&X-Amz-Content-Sha256=u HTTP/1.1")
    #expect(try line("/a?X-Amz-Signature") == "GET /a HTTP/1.1")
  }

  @Test("is not there without X-Amz-Signature")
  func absent() throws {
    for target in [
      "/a?X-Amz-Date=1", "/a?X-Amz-Signatures=1", "/a?X-Amz-Signatur=1", "/X-Amz-Signature=1", "/a?b=X-Amz-Signature",
      "/a&X-Amz-Signature=1",
      "/a?X-Amz-Signature%=1", "/a?", "/a?&&", "/?a=1&&b",
    ] {
      for appCredential in [ForwardingRules.AppCredential.replace, .keep, .reject] {
        #expect(try line(target, appCredential) == "GET \(target) HTTP/1.1")
      }
    }
  }

  @Test("is kept, with everything that belongs to it, or rejected")
  func keptOrRejected() throws {
    let target = "/a?\(Self.signature)"
    let kept = try #require(try Forwarded(head("GET \(target) HTTP/1.1\nHost: a.test\nX-Amz-Date: 1"), rules(.keep)))
    #expect(kept.text.hasPrefix("GET \(target) HTTP/1.1\n"))
    #expect(kept.text.contains("X-Amz-Date: 1\n"))
    #expect(!kept.outbound.sendsCredential)
    #expect(throws: ForwardingError.credentialFromApp) { try line(target, .reject) }
  }

  @Test("in Authorization is told from other credentials there")
  func authorization() throws {
    func forwarded(_ value: String, _ appCredential: ForwardingRules.AppCredential) throws -> Forwarded? {
      try Forwarded(head("GET / HTTP/1.1\nHost: a.test\nAuthorization: \(value)\nX-Amz-Date: 1"), rules(appCredential))
    }
    let own = "AWS4-HMAC-SHA256 Credential=a/b/c/d/aws4_request"
    let kept = try #require(try forwarded(own, .keep))
    #expect(!kept.outbound.sendsCredential)
    #expect(kept.text.contains("Authorization: \(own)\nX-Amz-Date: 1\n"))
    for other in ["Bearer x", "AWS4", "AWS AK:sig"] {
      let replaced = try #require(try forwarded(other, .keep))
      #expect(replaced.outbound.sendsCredential)
      #expect(!replaced.text.contains("Authorization") && !replaced.text.contains("X-Amz-Date"))
    }
    let replaced = try #require(try forwarded(own, .replace))
    #expect(replaced.outbound.sendsCredential)
    #expect(!replaced.text.contains("Authorization") && !replaced.text.contains("X-Amz-Date"))
    for value in [own, "Bearer x"] { #expect(throws: ForwardingError.credentialFromApp) { try forwarded(value, .reject) } }
  }
}
