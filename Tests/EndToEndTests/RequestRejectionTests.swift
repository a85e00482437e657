import Foundation
import Testing

/// If a head is malformed, or its framing can be read in two ways, the proxy answers 400 and closes the connection. The origin
/// receives neither the request nor what follows it.
@Suite struct RequestRejectionTests {
  struct Case: CustomStringConvertible {
    let what: String
    /// The head without the target: the lines after the request line.
    var line = "POST {} HTTP/1.1"
    var fields = "Host: api.test\r\n"
    var statuses: Set<Int> = [400]
    var description: String { what }
  }

  private func rejected(_ cases: [Case]) throws {
    let origin = try Origin.shared()
    try withProxy(try Configuration.https()) { proxy throws in
      each(cases) { one in
        let name = Origin.newName()
        let client = try proxy.connect()
        let line = one.line.replacingOccurrences(of: "{}", with: "http://api.test/echo?id=\(name)")
        // If the framing were misread, the bytes after the head would be another request.
        let smuggled = ProxyProcess.request("GET", "http://api.test/echo?id=\(name)")
        try client.send(latin1: "\(line)\r\n\(one.fields)\r\n\(smuggled)")
        let answer = try client.readAnswer()
        #expect(one.statuses.contains(answer.status), "\(one): \(answer.head)")
        #expect(answer.proxyError == "http_request_error", "\(one): \(answer.head)")
        #expect(try client.readToEnd().bytes.isEmpty, "\(one): something follows the refusal")
        #expect(try origin.exchanges(name).isEmpty, "\(one): it was forwarded")
      }
      #expect(try proxy.ask("http://api.test/").status == 200)
    }
  }

  private func framing(_ what: String, _ fields: String, _ statuses: Set<Int> = [400]) -> Case {
    Case(what: what, fields: "Host: api.test\r\n" + fields, statuses: statuses)
  }

  @Test func `Content-Length that is no single plain number`() throws {
    try rejected(
      [
        "Content-Length: 3\r\nContent-Length: 4\r\n", "Content-Length: 3, 4\r\n", "Content-Length: +3\r\n",
        "Content-Length: -3\r\n",
        "Content-Length: 0x3\r\n", "Content-Length: 3 3\r\n", "Content-Length: \r\n", "Content-Length: 3a\r\n",
        "Content-Length: 3;\r\n", "Content-Length: 3,\r\n", "Content-Length: ,3\r\n", "Content-Length: 1_0\r\n",
        "Content-Length: 3.0\r\n", "Content-Length: 18446744073709551616\r\n", "Content-Length: 9223372036854775808\r\n",
        "Content-Length: 99999999999999999999999999\r\n", "Content-Length: \"3\"\r\n", "Content-Length: \u{b3}\r\n",
      ].map { framing($0, $0) })
  }

  @Test func `Content-Length together with Transfer-Encoding`() throws {
    try rejected(
      [
        "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
        "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\ncontent-length: 3\r\n",
        "Content-Length: 3\r\nTransfer-Encoding: identity\r\n", "Content-Length: 3\r\nTransfer-Encoding: \r\n",
      ].map { framing($0, $0) })
  }

  @Test func `Transfer-Encoding whose last coding is not exactly chunked`() throws {
    try rejected(
      [
        "chunked,", ",chunked", "xchunked", "chunkedx", "chunked, chunked", "chunked\r\nTransfer-Encoding: chunked",
        "chunked, identity",
        "identity", "gzip", "chunked, gzip", "chunked;q=1", "\"chunked\"", "chunked\u{b}", "\u{b}chunked", "", "chunk",
        "chunked chunked",
        "chunked\r\nTransfer-Encoding: identity", "identity, identity", "chunked\u{a0}", "chunked\t", "\tchunked",
      ].map { framing("Transfer-Encoding: \($0)", "Transfer-Encoding: \($0)\r\n", [400, 501]) })
  }

  @Test func `an unknown coding before chunked is 501`() throws {
    try rejected(
      ["gzip, chunked", "foo, chunked", "gzip\r\nTransfer-Encoding: chunked"].map {
        framing("Transfer-Encoding: \($0)", "Transfer-Encoding: \($0)\r\n", [501])
      })
  }

  @Test func `Transfer-Encoding in HTTP/1.0`() throws {
    try rejected([
      Case(what: "1.0", line: "POST {} HTTP/1.0", fields: "Host: api.test\r\nTransfer-Encoding: chunked\r\n")
    ])
  }

  @Test func `bytes that no head may have`() throws {
    try rejected(
      [
        "X-A: 1\rX-B: 2\r\n", "X-A: 1\nX-B: 2\r\n", "X-A: \u{0}\r\n", "X-A: a\u{1}b\r\n", "X-A: a\u{7f}\r\n",
        "X-A: a\u{b}b\r\n",
        "X-A: 1\r\n folded\r\n", "X-A: 1\r\n\tfolded\r\n", "X-A : 1\r\n", "X-A\t: 1\r\n", "X A: 1\r\n", "X@A: 1\r\n", ": 1\r\n",
        "X-A\r\n",
        "X-(A): 1\r\n", "X-\u{e4}: 1\r\n", "\u{0}X-A: 1\r\n", "X-A: 1\r\r\n", "X-A: 1\r\n\r", "X-A: \r1\r\n",
      ].map { framing($0.debugDescription, $0) })
    try rejected([
      Case(what: "a folded first field", fields: " X-A: 1\r\nHost: api.test\r\n"),
      Case(what: "a line feed alone ends the request line", line: "POST {} HTTP/1.1\nX-A: 1"),
    ])
  }

  @Test func `request lines that are none`() throws {
    try rejected([
      Case(what: "two spaces", line: "GET  {} HTTP/1.1"), Case(what: "a tab", line: "GET\t{} HTTP/1.1"),
      Case(what: "a space at the end", line: "GET {} HTTP/1.1 "), Case(what: "no version", line: "GET {}"),
      Case(what: "a lower-case version", line: "GET {} http/1.1"), Case(what: "a long version", line: "GET {} HTTP/1.10"),
      Case(what: "another protocol", line: "GET {} RTSP/1.1"), Case(what: "no method", line: " {} HTTP/1.1"),
      Case(what: "a method that is no token", line: "G@T {} HTTP/1.1"),
      Case(what: "a space in the target", line: "GET {} x HTTP/1.1"),
      Case(what: "a control in the target", line: "GET {}\u{1} HTTP/1.1"),
      Case(what: "NUL in the target", line: "GET {}\u{0} HTTP/1.1"),
      Case(what: "a high byte in the target", line: "GET {}\u{e4} HTTP/1.1"),
      Case(what: "a fragment", line: "GET {}#x HTTP/1.1"),
      Case(what: "version 2.0", line: "GET {} HTTP/2.0", statuses: [400, 505]),
      Case(what: "version 1.2x", line: "GET {} HTTP/1.2x"),
    ])
  }

  @Test func `targets without one clear authority`() throws {
    try rejected(
      [
        "http://user@api.test/", "http://user:pass@api.test/", "http://@api.test/", "http:///x", "http://", "http:/api.test/",
        "http://api.test:99999/", "http://api.test:abc/", "http://api.test:-1/", "http://api.test:80:80/", "ftp://api.test/",
        "file:///etc/passwd", "api.test/x", "http://[::1/", "http://api.test\\@evil.test/", "http://api .test/",
        "http://api.test,b/",
        "http://api%2etest/", "http://api..test/", "http://.api.test/",
      ].map { Case(what: $0, line: "GET \($0) HTTP/1.1") })
  }

  @Test func `a Host field that is missing, repeated or malformed`() throws {
    try rejected(
      [
        "", "Host: api.test\r\nHost: api.test\r\n", "Host: api.test\r\nHost: other.test\r\n", "Host: api.test, other.test\r\n",
        "Host: a b\r\n", "Host: a/b\r\n", "Host: user@api.test\r\n", "Host: api.test:x\r\n", "Host: api.test:99999\r\n",
        "Host: http://api.test\r\n", "Host: api.test:80:80\r\n", "Host: [::1\r\n", "Host: api.test?x\r\n",
      ].map { Case(what: $0.debugDescription, fields: $0) })
  }

  @Test func `origin-form is 400, and the answer tells how to set http_proxy`() throws {
    try withProxy(try Configuration.https()) { proxy in
      let answer = try proxy.ask("GET", "/echo", ["Host: api.test"])
      expectOwnAnswer(answer, 400, "http_request_error")
      #expect(answer.text.contains("http_proxy"))
    }
  }
}
