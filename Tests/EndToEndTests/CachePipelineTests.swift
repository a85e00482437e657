import Foundation
import Testing

/// Requests behind one another on a connection, some of them from the store.
@Suite struct CachePipelineTests {
  @Test(arguments: ["Content-Length", "chunked"])
  func `a GET with a body goes by the store, and its body is no request`(_ framing: String) throws {
    let origin = try Origin.shared()
    let (name, evil) = (Origin.newName(), Origin.newName())
    try origin.answers(name, "Cache-Control: max-age=600", bodies: ["stored", "body", "more"])
    try origin.answers(evil, "Cache-Control: max-age=600")
    try withProxy(try Configuration.https("cache: {}")) { proxy throws in
      let url = "http://api.test/?id=\(name)"
      _ = try proxy.ask(url)
      let body = ProxyProcess.request("GET", "http://api.test/?id=\(evil)")
      let size = String(body.utf8.count, radix: 16)
      let withBody =
        framing == "chunked"
        ? ProxyProcess.request("GET", url, ["Transfer-Encoding: chunked"]) + "\(size)\r\n\(body)\r\n0\r\n\r\n"
        : ProxyProcess.request("GET", url, body: body)
      let client = try proxy.connect()
      let plain = ProxyProcess.request("GET", url)
      try client.send(plain + withBody + plain + ProxyProcess.request("HEAD", url) + plain)
      for (method, text, status) in [
        ("GET", "stored", "hit; ttl="), ("GET", "body", "fwd=bypass"), ("GET", "stored", "hit; ttl="),
        ("HEAD", "", "hit; ttl="), ("GET", "stored", "hit; ttl="),
      ] {
        let answer = try client.readAnswer(to: method)
        #expect(answer.text == text && answer.cacheStatus?.hasPrefix(status) == true, "\(answer.head)")
      }
      #expect(try origin.exchanges(evil).isEmpty)
      #expect(try origin.exchanges(name).last?.body == body)
    }
  }
}
