import Forwarding
import HTTPWire
import Testing

@Suite struct WrittenHeadTests {
  private func parts(_ given: String, _ rules: ForwardingRules = rules(), isTLS: Bool = true) throws -> [String] {
    let forwarded = try #require(try Forwarded(head(given), rules))
    return Array(forwarded.text.replacing("\n", with: "\r\n").utf8).withUnsafeBytes { bytes in
      guard let written = WrittenHead(bytes) else { return [] }
      let slices = [written.method, written.target, written.host].map { String(decoding: $0.bytes(in: bytes), as: UTF8.self) }
      return slices + [String(decoding: written.uri(isTLS: isTLS), as: UTF8.self), lines(written.fields.bytes(in: bytes))]
    }
  }

  @Test func `method, target, Host and fields are what is sent`() throws {
    #expect(
      try parts("GET http://api.test/a/b?c=d&e HTTP/1.1\nHost: x\nAccept: */*")
        == ["GET", "/a/b?c=d&e", "origin.test", "https://origin.test/a/b", "Accept: */*\nVia: 1.1 px\n"])
    #expect(
      try parts("BREW http://API.test:80 HTTP/1.1", rules(keepsHost: true), isTLS: false)
        == ["BREW", "/", "API.test:80", "http://API.test:80/", "Via: 1.1 px\n"])
    #expect(
      try parts("OPTIONS http://api.test HTTP/1.1\nMax-Forwards: 3")
        == ["OPTIONS", "*", "origin.test", "https://origin.test", "Max-Forwards: 2\nVia: 1.1 px\n"])
    #expect(try parts("GET http://api.test/?x HTTP/1.1")[3] == "https://origin.test/")
    #expect(try parts("GET http://api.test/%41//b;c=%2f HTTP/1.1")[3] == "https://origin.test/%41//b;c=%2f")
  }

  @Test func `anything else is no such head`() {
    for text in ["", "GET", "GET / HTTP/1.1", "GET / HTTP/1.1\r\nAccept: x\r\n", "GET / HTTP/1.1\r\nHost: x", "\r\n\r\n"] {
      let isHead = Array(text.utf8).withUnsafeBytes { WrittenHead($0) != nil }
      #expect(!isHead, "\(text)")
    }
  }

  @Test func `a body that came in chunks has a length, and no Trailer goes ahead of it`() {
    func replaced(_ head: String) -> String {
      var bytes = Array(head.replacing("\n", with: "\r\n").utf8)
      WrittenHead.replaceChunked(in: &bytes, withLength: 7)
      return String(decoding: bytes, as: UTF8.self).replacing("\r\n", with: "\n")
    }
    #expect(
      replaced("PUT / HTTP/1.1\nHost: x\nTrailer: a\nX-Trailer: b\ntrAiler: c\nVia: 1.1 px\nTransfer-Encoding: chunked\n")
        == "PUT / HTTP/1.1\nHost: x\nX-Trailer: b\nVia: 1.1 px\nContent-Length: 7\n")
    let other = "PUT / HTTP/1.1\nHost: x\nTrailer: a\nContent-Length: 3\n"
    #expect(replaced(other) == other)
  }

  @Test func `all fields of a credential replace the app's`() throws {
    let given =
      "GET http://api.test/ HTTP/1.1\nAuthorization: Bearer mine\ndpop: one\nDPoP: two\nDP_oP: three\nConnection: dpop"
    func rules(_ appCredential: ForwardingRules.AppCredential) -> ForwardingRules {
      ForwardingRules(
        name: ProxyName("px"), credentialField: Array("Authorization".utf8), moreFields: [Array("DPoP".utf8)],
        appCredential: appCredential, rewriteTo: nil)
    }
    #expect(try parts(given, rules(.replace))[4] == "DP_oP: three\nVia: 1.1 px\n")
    #expect(throws: ForwardingError.credentialFromApp) {
      try Forwarded(head("GET http://api.test/ HTTP/1.1\nDPoP: x"), rules(.reject))
    }
    // Its own Authorization goes with its own proof.
    #expect(
      try parts("GET http://api.test/ HTTP/1.1\nAuthorization: DPoP t\nDPoP: x", rules(.keep))[4]
        == "Authorization: DPoP t\nDPoP: x\nVia: 1.1 px\n")
    #expect(try parts("GET http://api.test/ HTTP/1.1\nDPoP: x", rules(.keep))[4] == "Via: 1.1 px\n")
  }
}
