import Foundation
import Testing

/// One of several origins processes nothing: the next one is asked.
@Suite struct HTTP2OriginListTests {
  private static let refusals: [(String, [HTTP2Origin.Step])] = [
    ("REFUSED_STREAM", [.awaitEnd, .reset(7)]), ("GOAWAY", [.awaitEnd, .goAway(0, 0, ""), .close]),
  ]

  @Test(arguments: [0, 1]) func `the next one answers a POST that the first refuses twice`(which: Int) throws {
    let (first, second) = (try HTTP2Origin(), try HTTP2Origin())
    try first.script("no", Self.refusals[which].1)
    let configuration = """
      threads: 1
      upstreams:
        - {match: api.test, origin: ["\(first.url)", "\(second.url)"], http_version: auto}
      """
    try withProxy(configuration) { proxy throws in
      let told = try proxy.ask("POST", "http://api.test/?id=no", body: "body").told()
      #expect(told.body == "body" && told[":authority"] == "localhost:\(second.port)")
      #expect(try first.tell().of("no").count == 2)
      // It is down for that alone.
      #expect(try proxy.ask("http://api.test/else").told()[":authority"] == "localhost:\(first.port)")
    }
  }

  @Test func `one refusal is no reason to leave`() throws {
    let (first, second) = (try HTTP2Origin(), try HTTP2Origin())
    try first.script("once", [.awaitEnd, .reset(7)], HTTP2Origin.Step.answer("first"))
    let configuration = """
      threads: 1
      upstreams:
        - {match: api.test, origin: ["\(first.url)", "\(second.url)"], http_version: auto}
      """
    try withProxy(configuration) { proxy throws in
      #expect(try proxy.ask("POST", "http://api.test/?id=once", body: "body").text == "first")
      #expect(try second.tell().requests.isEmpty)
    }
  }
}
