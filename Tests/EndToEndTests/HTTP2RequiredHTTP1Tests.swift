import Foundation
import Testing

/// HTTP_1_1_REQUIRED: the origin wants HTTP/1.1 for a request that it has read over HTTP/2.
@Suite struct HTTP2RequiredHTTP1Tests {
  private static let code = 0xd

  @Test(arguments: [false, true]) func `a POST is repeated over 1.1, and so are the next requests`(byGoAway: Bool) throws {
    let origin = try HTTP2Origin()
    try origin.script("old", byGoAway ? [.awaitEnd, .goAway(0, Self.code, ""), .close] : [.awaitEnd, .reset(Self.code)])
    try withProxy(origin.configuration()) { proxy throws in
      let told = try proxy.ask("POST", "http://api.test/?id=old", body: "body").told()
      #expect(told.protocol == "http/1.1" && told.body == "body")
      #expect(try proxy.ask("http://api.test/").told().protocol == "http/1.1")
      #expect(try origin.tell().of("old").count == 2)
    }
  }

  @Test func `a GOAWAY that names the request as read asks for 1.1, too`() throws {
    let origin = try HTTP2Origin()
    try origin.script("old", [.awaitEnd, .goAway(-1, Self.code, ""), .close])
    try withProxy(origin.configuration()) { proxy throws in
      #expect(try proxy.ask("http://api.test/?id=old").told().protocol == "http/1.1")
    }
  }

  @Test func `a POST that such a GOAWAY names as read is not sent twice, and the next requests go over 1.1`() throws {
    let origin = try HTTP2Origin()
    try origin.script("old", [.awaitEnd, .goAway(-1, Self.code, ""), .close])
    try withProxy(origin.configuration()) { proxy throws in
      expectOwnAnswer(try proxy.ask("POST", "http://api.test/?id=old", body: "x"), 502, "http_protocol_error")
      #expect(try origin.tell().of("old").count == 1)
      #expect(try proxy.ask("http://api.test/").told().protocol == "http/1.1")
    }
  }

  @Test func `a body that cannot be sent again is lost once`() throws {
    let origin = try HTTP2Origin()
    try origin.script("old", [.awaitEnd, .reset(Self.code)])
    try withProxy(origin.configuration()) { proxy throws in
      let body = String(repeating: "b", count: 300_000)
      let answer = try proxy.ask("POST", "http://api.test/?id=old", body: body)
      expectOwnAnswer(answer, 502, "http_protocol_error")
      #expect(answer["Proxy-Status"]?.contains("HTTP_1_1_REQUIRED") == true, "\(answer.head)")
      #expect(try proxy.ask("POST", "http://api.test/?id=old", body: body).told().protocol == "http/1.1")
    }
  }

  @Test func `others on that connection end in peace`() throws {
    let origin = try HTTP2Origin()
    try origin.script("old", [.awaitEnd, .reset(Self.code)])
    try origin.script("slow", [.head([[":status", "200"]]), .data("a"), .gate("on"), .last("b")])
    try withProxy(origin.configuration()) { proxy throws in
      let slow = try proxy.connect()
      try slow.send(ProxyProcess.request("GET", "http://api.test/?id=slow"))
      try origin.await(.requests, of: "slow")
      #expect(try proxy.ask("POST", "http://api.test/?id=old", body: "x").told().protocol == "http/1.1")
      try origin.open("on")
      #expect(try slow.readAnswer().text == "ab")
    }
  }

  @Test(arguments: [false, true]) func `with 2 that is an error`(byGoAway: Bool) throws {
    let origin = try HTTP2Origin()
    try origin.script("old", byGoAway ? [.awaitEnd, .goAway(0, Self.code, ""), .close] : [.awaitEnd, .reset(Self.code)])
    try withProxy(origin.configuration(version: "2")) { proxy throws in
      let answer = try proxy.ask("POST", "http://api.test/?id=old", body: "x")
      expectOwnAnswer(answer, 502, "http_protocol_error")
      #expect(answer["Proxy-Status"]?.contains("HTTP_1_1_REQUIRED") == true, "\(answer.head)")
      #expect(try origin.tell().of("old").count == 1)
    }
  }
}
