import HTTP2
import Testing

@Suite("The body of a request that goes nowhere")
struct RefusedBodyTests {
  @Test("may come in small frames until the app knows")
  func smallFrames() {
    let probe = ServerProbe()
    probe.feed(.head(1, ServerProbe.get.dropFirst() + [(":method", "POST"), ("host", "b.example")]))
    for _ in 0..<1_500 { probe.feed(.data(1, "message")) }
    guard let ticket = probe.ticket() else {
      Issue.record("no request")
      return
    }
    #expect(probe.answer(ticket, "HTTP/1.1 400 Bad Request|Content-Length: 0||") == .final(.length(0)))
    #expect(probe.frames().contains { $0.kind == .reset && $0.code == 0 })
    for _ in 0..<1_500 { probe.feed(.data(1, "message")) }
    probe.server.release(ticket)
    for _ in 0..<1_500 { probe.feed(.data(1, "message")) }
    #expect(probe.session.failure == nil)
  }
}
