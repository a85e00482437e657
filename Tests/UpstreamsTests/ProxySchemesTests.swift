import HTTPWire
import Testing

@testable import Upstreams

/// What is said of a parent's 407.
@Suite struct ProxySchemesTests {
  @Test(arguments: [
    ([#"Basic realm="x""#], "Basic"),
    ([#"Negotiate, Basic realm="x", NTLM"#], "Negotiate, Basic, NTLM"),
    (["Negotiate", "NTLM", #"Digest realm="a, NTLM b", nonce="n", Basic realm="x""#], "Negotiate, NTLM, Digest, Basic"),
    (["Basic realm=x, basic realm=y"], "Basic"),
    ([#", ,"#], ""),
    ([], ""),
  ])
  func `all schemes of all challenges are named once`(_ values: [String], _ names: String) {
    let text = "HTTP/1.1 407 Who\r\n" + values.map { "Proxy-Authenticate: \($0)\r\n" }.joined() + "\r\n"
    var head = ResponseHead()
    Array(text.utf8).withUnsafeBytes { bytes in
      _ = head.parse(bytes, limit: bytes.count)
      #expect(head.proxySchemes(in: bytes) == names)
    }
  }

  @Test func `many and long names are cut`() {
    let names = (0..<20).map { "s\($0)-" + String(repeating: "x", count: 40) + " a=b" }
    let text = "HTTP/1.1 407 Who\r\nProxy-Authenticate: \(names.joined(separator: ", "))\r\n\r\n"
    var head = ResponseHead()
    Array(text.utf8).withUnsafeBytes { bytes in
      _ = head.parse(bytes, limit: bytes.count)
      #expect(head.proxySchemes(in: bytes).count == 8 * 32 + 7 * 2)
    }
  }
}
