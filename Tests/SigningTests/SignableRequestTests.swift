import Testing

@testable import Signing

@Suite struct SignableRequestTests {
  @Test func `a field's lines are combined, trimmed and unfolded`() throws {
    // RFC 9421 section 2.1.
    let head =
      "GET /?q HTTP/1.1\nHost: www.example.com\nDate: Tue, 20 Apr 2021 02:07:56 GMT\nX-OWS-Header:   Leading and trailing whitespace.   \n"
      + "X-Obs-Fold-Header: Obsolete  \n    line folding.\nCache-Control: max-age=60\nCACHE-CONTROL:    must-revalidate\nExample-Dict:  a=1,    b=2;x=1;y=2,   c=(a   b   c)\n"
      + "X-Empty-Header: \nX-Colon: a:b\n"
    try withRequest(head) { request in
      for (name, value) in [
        ("date", "Tue, 20 Apr 2021 02:07:56 GMT"), ("x-ows-header", "Leading and trailing whitespace."),
        ("x-obs-fold-header", "Obsolete line folding."), ("cache-control", "max-age=60, must-revalidate"),
        ("example-dict", "a=1,    b=2;x=1;y=2,   c=(a   b   c)"), ("x-empty-header", ""), ("x-colon", "a:b"),
      ] {
        var found: [UInt8] = []
        #expect(request.append(field: Array(name.utf8), to: &found), "\(name)")
        #expect(text(found) == value, "\(name)")
      }
      var none: [UInt8] = []
      #expect(!request.append(field: Array("x-ows".utf8), to: &none) && none.isEmpty)
      #expect(!request.has(Array("x_ows_header".utf8)) && !request.has(Array("host".utf8)))
    }
  }

  @Test func `target, path, query and URL are as written`() throws {
    for (target, path, query, url) in [
      ("/a/../%41?b=%20&", "/a/../%41", "?b=%20&", "https://h:8443/a/../%41?b=%20&"), ("/", "/", "", "https://h:8443/"),
      ("/?", "/", "?", "https://h:8443/?"), ("*", "", "", "https://h:8443"), ("/a?b?c", "/a", "?b?c", "https://h:8443/a?b?c"),
    ] {
      try withRequest("OPTIONS \(target) HTTP/1.1\nHost: h:8443\nVia: x\n") { request in
        #expect(text(request.path) == path)
        #expect(text(request.query) == query)
        #expect(text(request.target) == target)
        var found: [UInt8] = []
        request.appendURL(to: &found)
        #expect(text(found) == url)
      }
    }
  }
}
