import Forwarding
import HTTPWire
import Testing

@Suite struct OwnAnswerTests {
  private func text(_ answer: OwnAnswer, isHead: Bool = false, keepsAlive: Bool = true) -> String {
    let (text, count) = written {
      answer.write(
        by: ProxyName("px"), isHead: isHead, keepsAlive: keepsAlive, dateLine: Array("Date: now\r\n".utf8), into: &$0)
    }
    #expect(count <= answer.sizeLimit(by: ProxyName("px")))
    return text
  }

  @Test func `an answer of the proxy's own says who, why and what to do`() {
    let answer = OwnAnswer(
      status: 503, reason: "Service Unavailable", error: "connection_limit_reached", details: "all \"used\"", body: "Wait.\n",
      retryAfter: 1)
    let fields =
      "HTTP/1.1 503 Service Unavailable\nDate: now\nProxy-Status: px; error=connection_limit_reached; details=\"all \\\"used\\\"\"\n"
      + "Retry-After: 1\nCache-Control: no-store\nContent-Type: text/plain; charset=utf-8\nContent-Length: 6\n"
    #expect(text(answer) == fields + "\nWait.\n")
    #expect(text(answer, isHead: true, keepsAlive: false) == fields + "Connection: close\n\n")
  }

  @Test func `what did not fail has no Proxy-Status`() {
    #expect(
      text(.options)
        == "HTTP/1.1 200 OK\nDate: now\nAllow: GET, HEAD, POST, PUT, DELETE, OPTIONS, PATCH, TRACE, CONNECT\n"
        + "Cache-Control: no-store\nContent-Length: 0\n\n")
  }

  @Test func `details are one line of ASCII, and bounded`() {
    let long = OwnAnswer(
      status: 500, reason: "-", error: "e", details: "\r\n\u{0}é" + String(repeating: "\"", count: 1_000), body: "")
    #expect(text(long).contains("details=\"????" + String(repeating: "\\\"", count: 296) + "\"\n"))
  }
}
