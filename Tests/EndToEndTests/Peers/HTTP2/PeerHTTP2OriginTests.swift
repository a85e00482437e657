import Foundation
import Testing

/// Servers of HTTP/2 by other hands.
@Suite struct PeerHTTP2OriginTests {
  private func configuration(_ server: HTTP2Server, _ lines: String...) -> String {
    """
    threads: 1
    admin: {address: "127.0.0.1:0"}
    upstreams:
      - {match: api.test, origin: "https://localhost:\(server.port)", http_version: 2, credential: api}
    credentials: {api: {bearer: {token: \(Configuration.token)}}}
    \(lines.joined(separator: "\n"))

    """
  }

  /// Asks for all of them, eight at a time.
  /// - Returns: the statuses, and how many there are of each.
  private func ask(_ proxy: ProxyProcess, _ path: String, _ options: String...) throws -> [String: Int] {
    let done = try curl(proxy, path, options).finished()
    return Dictionary(done.split(separator: "\n").map { (String($0), 1) }, uniquingKeysWith: +)
  }

  private func curl(_ proxy: ProxyProcess, _ path: String, _ options: [String]) throws -> Curl {
    Curl(
      child: try ChildProcess(
        "curl",
        [
          "-sS", "--noproxy", "", "-x", "http://127.0.0.1:\(proxy.port)", "-Z", "--parallel-max", "8", "--max-time", "60", "-o",
          "/dev/null", "-w", "%{http_code}\\n",
        ] + options + ["http://api.test" + path]))
  }

  private struct Curl {
    let child: ChildProcess
    func finished() throws -> String {
      child.closeInput()
      guard child.awaitEnd(seconds: 90) == .exited(0) else { throw HarnessError("curl: \(child.output)\(child.errors)") }
      return child.output
    }
  }

  @Test(arguments: HTTP2Server.Kind.allCases.filter(\.isThere))
  func `requests, uploads and refused paths`(kind: HTTP2Server.Kind) throws {
    let server = try HTTP2Server(kind)
    let body = String(repeating: "0123456789abcdef", count: 1 << 16)
    try withProxy(configuration(server)) { proxy throws in
      #expect(try ask(proxy, "/small?n=[1-100]") == ["200": 100], "\(server.process.errors)")
      #expect(try proxy.ask("http://api.test/small").text == "small")
      #expect(try proxy.ask("HEAD", "http://api.test/small").status == 200)
      for fields in [[], ["Expect: 100-continue"]] {
        let answer = try proxy.ask("POST", "http://api.test/small", fields, body: body)
        #expect(answer.status == 200)
        if kind.echoes { #expect(answer.text == body) }
      }
      if kind == .nghttpd {
        // It says lengths, behind which HTTP/1.1 has no place for its trailers.
        let told = try proxy.ask("POST", "http://api.test/small", ["TE: trailers"], body: "echo")
        #expect(told.text == "echo" && told.trailers.isEmpty && told["Trailer"] == "x-end", "\(told.head)")
      }
      let page = try proxy.admin("metrics").text
      #expect(page.contains(#"protocol="h2""#) && !page.contains(#"authproxy_http2_abuse_total{"#), "\(page)")
    }
  }
}
