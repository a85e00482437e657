import Foundation
import Testing

/// Answers of origins, as an app over HTTP/2 gets them.
@Suite struct HTTP2OddAnswerTests {
  @Test(arguments: ["600 Odd", "999 Odd", "099 Odd"]) func `a status that HTTP/2 does not have is 502`(status: String) throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(name, [.readBody, .send("HTTP/1.1 \(status)\r\nContent-Length: 2\r\n\r\nok"), .close])
    try withProxy(try Intercepted.configuration(entry: "http_version: auto")) { proxy throws in
      let seen = try HTTP2App(proxy, [HTTP2App.get("/?id=\(name)")], "--until-answered")
      let head = seen.head(1)
      #expect(head[":status"] == "502" && head["proxy-status"]?.contains("error=http_protocol_error") == true, "\(seen)")
      #expect(seen[1].last == .end && seen.resets == 0, "\(seen)")
    }
  }

  @Test func `of a cut answer the app gets the head and the bytes, then the reset`() throws {
    let origin = try HTTP2Origin()
    try origin.script("reset", [.head([[":status", "200"], ["content-length", "100"]]), .data("hello"), .reset(2)])
    try origin.script("lost", [.head([[":status", "200"]]), .data("hello"), .abort])
    try withProxy(origin.interception()) { proxy throws in
      for name in ["reset", "lost"] {
        let seen = try HTTP2App(proxy, [HTTP2App.get("/?id=\(name)"), HTTP2App.get("/")], "--until-answered")
        #expect(seen.head(1)[":status"] == "200", "\(seen)")
        #expect(seen[1].dropFirst() == [.data(5), .reset(2)], "\(seen)")
        // Others on its connection notice nothing, unless the origin's connection was theirs, too.
        if name == "reset" { #expect(seen.head(3)[":status"] == "200" && seen[3].last == .end, "\(seen)") }
      }
    }
  }
}
