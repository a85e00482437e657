import Foundation
import Testing

/// Requests that an app over HTTP/2 gives up in the packet that begins them.
@Suite struct HTTP2GivenUpTests {
  @Test func `they reach no origin, and each has its record`() throws {
    let origin = try HTTP2Origin()
    try origin.script("x", HTTP2Origin.Step.answer("body"))
    try withProxy(origin.interception(top: "threads: 1")) { proxy throws in
      let seen = try HTTP2App(proxy, [HTTP2App.get("/?id=x")], "--resets", "50", "--until-answered")
      #expect(seen[1].last == .end && seen.length(1) == 4, "\(seen)")
      let areRecorded = try eventually { proxy.process.lines.count { $0.contains("the client left") } == 50 }
      #expect(areRecorded)
      #expect(try origin.tell().of("x").count == 1)
    }
  }
}
