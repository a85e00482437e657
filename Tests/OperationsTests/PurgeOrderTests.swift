import Proxy
import Testing

@testable import Operations

@Suite struct PurgeOrderTests {
  @Test(arguments: [
    ("{}", PurgeOrder()), (#" {"url": "http://a/*"} "#, PurgeOrder(url: "http://a/*")),
    (#"{"client":"c","upstream":"u","url":"x"}"#, PurgeOrder(url: "x", upstream: "u", client: "c")),
  ])
  func `the body of a purge is an object of texts`(_ json: String, _ order: PurgeOrder) throws {
    #expect(try PurgeOrder(json: Array(json.utf8)) == order)
  }

  @Test(arguments: [
    ("", "the body is no JSON: byte 0: ends too early"), ("{\"url\": \"a\"", "the body is no JSON: byte 11: ends too early"),
    ("[]", "the body is no JSON object"), ("null", "the body is no JSON object"), (#"{"url": null}"#, #""url" must be a text"#),
    (#"{"url": "a", "url": "b"}"#, "the body is no JSON: byte 18: a duplicate member"),
    (#"{"client": 1}"#, #""client" must be a text"#),
    (#"{"URL": "a"}"#, #"unknown member "URL"; there are 'url', 'upstream' and 'client'"#),
    (#"{"a\n": "a"}"#, #"unknown member "a\u000a"; there are 'url', 'upstream' and 'client'"#),
  ])
  func `what it does not understand would have narrowed it, so it is an error`(_ json: String, _ problem: String) {
    let error = #expect(throws: PurgeOrder.Problem.self) { try PurgeOrder(json: Array(json.utf8)) }
    #expect(error?.description == problem)
  }
}
