import Foundation
import Testing

/// Parent proxies that refuse, fail, lie or fall silent: the documented answer, and nothing of theirs shown as the origin's.
@Suite struct ParentAnswerTests {
  struct Case: CustomTestStringConvertible, Sendable {
    var answer: String
    var status = 502
    var error: String
    var received: Int?
    /// The parent ends the connection behind it.
    var closes = true
    var testDescription: String { answer.prefix(40).replacingOccurrences(of: "\r\n", with: "|") + (closes ? "" : " …") }
  }

  static let cases = [
    Case(
      answer: "HTTP/1.1 407 No\r\nProxy-Authenticate: NTLM\r\nContent-Length: 3\r\n\r\nno!", error: "proxy_configuration_error",
      received: 407),
    // Without a credential it says nothing of one.
    Case(
      answer: "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n", error: "http_request_denied",
      received: 401),
    Case(answer: "HTTP/1.1 403 Forbidden\r\nContent-Length: 6\r\n\r\nfilter", error: "http_request_denied", received: 403),
    Case(answer: "HTTP/1.0 404 Nothing\r\n\r\n", error: "http_request_denied", received: 404),
    Case(
      answer: "HTTP/1.1 302 Found\r\nLocation: http://login.test/\r\nContent-Length: 0\r\n\r\n", error: "http_protocol_error",
      received: 302),
    Case(answer: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", error: "http_protocol_error", received: 101),
    Case(answer: "HTTP/1.1 503 Down\r\nContent-Length: 0\r\n\r\n", error: "destination_unavailable", received: 503),
    Case(answer: "HTTP/1.1 504 Late\r\nContent-Length: 0\r\n\r\n", status: 504, error: "connection_timeout", received: 504),
    Case(answer: "HTTP/1.1 508 Loop\r\nContent-Length: 0\r\n\r\n", status: 508, error: "proxy_loop_detected", received: 508),
    Case(answer: "SSH-2.0-OpenSSH_9.2\r\n", error: "http_protocol_error"),
    Case(answer: "\u{15}\u{3}\u{1}\u{0}\u{2}\u{2}F", error: "http_protocol_error"),
    Case(answer: "", error: "http_protocol_error"),
    Case(answer: "HTTP/1.1 200 OK\r\nVia: x\r\n", error: "http_protocol_error"),
    Case(answer: "HTTP/1.1 200 OK\r\nX: \(String(repeating: "x", count: 70_000))\r\n\r\n", error: "http_protocol_error"),
    Case(answer: "HTTP/1.1 200 OK\r\n" + String(repeating: "A: b\r\n", count: 12_000), error: "http_protocol_error"),
    Case(answer: "HTTP/1.1 100 Go\r\n\r\n", status: 504, error: "connection_timeout", closes: false),
    Case(answer: "", status: 504, error: "connection_timeout", closes: false),
  ]

  @Test(arguments: cases)
  func `an answer that is no tunnel is the proxy's own error`(_ item: Case) throws {
    let parent = try TestListener()
    let configuration = """
      via: corporate
      parents: {corporate: {url: "http://127.0.0.1:\(parent.port)"}}
      upstreams:
        - {match: api.test, origin: "https://far.test"}
        - {match: other.test, origin: "http://localhost:\(try Origin.shared().ports.http)", via: direct}
      connect: {allow: ["far.test:443"]}
      timeouts: {connect: 2s}
      threads: 1

      """
    try withProxy(configuration) { proxy throws in
      for target in ["http://api.test/", "far.test:443"] {
        let client = try proxy.connect()
        let method = target.hasPrefix("http") ? "GET" : "CONNECT"
        try client.send(ProxyProcess.request(method, target))
        let server = try parent.accept()
        #expect(try server.readText(through: "\r\n\r\n").hasPrefix("CONNECT far.test:443 HTTP/1.1\r\n"))
        try? server.send(item.answer)
        // Others lose nothing meanwhile.
        #expect(try proxy.ask("http://other.test/").status == 200)
        if item.closes { server.halfClose() }
        let answer = try client.readAnswer(to: method)
        #expect(answer.status == item.status, "\(answer.head)")
        let status = try #require(answer["Proxy-Status"])
        #expect(status.contains("error=\(item.error);"), "\(status)")
        #expect(status.contains(#"next-hop="corporate""#), "\(status)")
        if let received = item.received { #expect(status.contains("received-status=\(received)"), "\(status)") }
        #expect(!answer.text.contains("filter") && answer["Location"] == nil && answer["Proxy-Authenticate"] == nil)
        if item.received == 407 { break }
        // Whoever broke is asked all the same: there is no other way.
      }
    }
  }

  @Test func `an answer may come byte by byte, with 20 KiB of fields, after interim ones`() throws {
    let (parent, origin) = (try ParentServer(), try Origin.shared())
    let filler = (0..<20).map { "X-Filler-\($0): \(String(repeating: "f", count: 1000))\\r\\n" }.joined()
    try parent.set(
      #"{"piece": 1, "answer": "HTTP/1.1 100 Go\r\n\r\nHTTP/1.1 200 OK\r\n\#(filler)\r\n{tunnel}"}"#)
    try withProxy(
      """
      via: corporate
      parents: {corporate: {url: "\(parent.url("http"))"}}
      upstreams: [{match: api.test, origin: "https://localhost:\(origin.ports.https)"}]

      """
    ) { proxy throws in #expect(try proxy.ask("http://api.test/echo").status == 200) }
  }

  @Test func `a parent that cannot be trusted gets no password`() throws {
    let (parent, pki) = (try ParentServer(), try Surroundings.pki())
    let port = try Origin.shared().ports.https
    try withProxy(
      """
      via: corporate
      parents:
        corporate: {url: "\(parent.url("https"))", credential: proxy-login, trust: strict}
      upstreams: [{match: api.test, origin: "https://localhost:\(port)"}]
      credentials:
        proxy-login: {basic: {username: u, password: pw-5ecret}}
      trust:
        default: [default: {ca_file: \(try Surroundings.pki())/ca.pem, system_roots: false}]
        strict: [default: {ca_file: \(pki)/self-signed.pem, system_roots: false}]

      """
    ) { proxy throws in
      let answer = try proxy.ask("http://api.test/echo")
      #expect(answer.status == 502)
      #expect(answer["Proxy-Status"]?.contains(#"error=tls_certificate_error; next-hop="corporate""#) == true, "\(answer.head)")
      #expect(try parent.asked().isEmpty)
    }
  }

  @Test func `a chain that fails behind a parent names the parent and the issuer`() throws {
    let parent = try ParentServer()
    try withProxy(
      """
      via: corporate
      parents: {corporate: {url: "\(parent.url("http"))"}}
      upstreams: [{match: api.test, origin: "https://localhost:\(try Origin.shared().ports.self_signed)"}]

      """
    ) { proxy throws in
      let answer = try proxy.ask("http://api.test/echo")
      #expect(answer.status == 502)
      #expect(answer.text.contains("behind the parent corporate, issued by "), "\(answer.text)")
    }
  }
}
