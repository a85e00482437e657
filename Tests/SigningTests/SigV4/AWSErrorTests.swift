import HTTPWire
import Testing

@testable import Signing

@Suite("An error of AWS")
struct AWSErrorTests {
  @Test(
    "says in JSON or XML whether newer keys may help",
    arguments: [
      (#"{"__type":"com.amazon.coral.service#ExpiredTokenException","message":"x"}"#, AWSError.keysRefused),
      (#"{"__type":"UnrecognizedClientException"}"#, .keysRefused),
      (#" {"message":"a","code":"InvalidClientTokenId"}"#, .keysRefused),
      (#"{"__type":"AccessDeniedException"}"#, .accessDenied), (#"{"message":"ExpiredToken"}"#, .other),
      (#"{"__type":"ExpiredTokenExceptions"}"#, .other), (#"{"__type":"ExpiredToken""#, .other), ("{", .other), ("", .other),
      ("x", .other),
      ("<?xml version=\"1.0\"?>\n<Error><Code>ExpiredToken</Code><Message>x</Message></Error>", .keysRefused),
      ("<ErrorResponse><Error><Type>Sender</Type><Code> InvalidClientTokenId\n</Code></Error></ErrorResponse>", .keysRefused),
      ("<Error><Code>AccessDenied</Code></Error>", .accessDenied), ("<Error><Code>RequestTimeTooSkewed</Code></Error>", .other),
      ("<Error><Message>ExpiredToken</Message></Error>", .other), ("<Error><Code>ExpiredToken", .other),
      ("<Error><Code>", .other),
      ("<html>ExpiredToken</html>", .other),
      // With a byte order mark, a prefix, attributes, escapes; cut off behind the code; as the query APIs say it in JSON.
      ("\u{feff}{\"__type\":\"ExpiredToken\"}", .keysRefused),
      ("\u{feff}<Error><Code>ExpiredToken</Code></Error>", .keysRefused),
      (#"<e:Error xmlns:e="x"><e:Code>ExpiredToken</e:Code></e:Error>"#, .keysRefused),
      (#"<Error><Code xmlns="a/b">ExpiredToken</Code></Error>"#, .keysRefused), ("<Error><Code/>ExpiredToken</Error>", .other),
      ("<Error><MyCode>ExpiredToken</MyCode></Error>", .other), ("<Error><Code x", .other), ("<", .other),
      (#"{"message":"\"}{","__type":"a\u0023ExpiredToken"}"#, .keysRefused),
      (#"{"a":[1,{"code":"ExpiredToken"}],"b":{"code":"ExpiredToken"},"c":null}"#, .other),
      (#"{"code":"ExpiredToken","__type":"ValidationException"}"#, .other),
      (#"{"__type":"ExpiredToken","message":"cut of"#, .keysRefused), (#"{"__type":"ExpiredToken","a":[1,{"#, .keysRefused),
      (#"{"message":"cut off","__type":"Expired"#, .other), (#"{"a":{"__type":"ExpiredToken","#, .other),
      (#"{"Error":{"Code":"ExpiredToken","Type":"Sender"},"RequestId":"x"}"#, .keysRefused), (#"{"a":"\"#, .other),
      ("{1}", .other),
      (#"{"Error":{"Error":{"Code":"ExpiredToken"}}}"#, .other),
      (#"{"Error":{"Error":{},"Code":"ExpiredToken"}}"#, .keysRefused),
      // The code stands in front of what a requester can write into the message.
      ("<Error><Code>NoSuchKey</Code><Key><Code>ExpiredToken</Code></Key></Error>", .other),
    ])
  func body(text: String, expected: AWSError) { #expect(AWSError(body: Array(text.utf8)) == expected) }

  @Test("of a hostile server costs no more than its bytes", arguments: ["xml", "names", "tags", "objects", "errors"])
  func hostile(kind: String) {
    let size = 16_384
    func filled(_ piece: String, _ end: String) -> [UInt8] {
      Array(String(repeating: piece, count: (size - end.utf8.count) / piece.utf8.count).utf8) + Array(end.utf8)
    }
    let body =
      switch kind {
      case "xml": filled("< ", ">")
      case "names": filled("<", ">")
      case "tags": filled("<a>", "<Code>ExpiredToken</Code>")
      case "objects": Array((String(repeating: "{\"Error\":", count: 1_638) + "1" + String(repeating: "}", count: 1_638)).utf8)
      default: Array("{".utf8) + filled("\"Error\":{},", "\"Code\":\"ExpiredToken\"}")
      }
    let isCode = kind == "tags" || kind == "errors"
    let clock = ContinuousClock()
    // Looking at the rest once for each piece takes seconds without optimization.
    let times = (0..<5).map { _ in clock.measure { #expect(AWSError(body: body) == (isCode ? .keysRefused : .other)) } }
    #expect((times.min() ?? .zero) < .milliseconds(100), "\(times)")
  }

  @Test("says it in the head")
  func head() {
    func read(_ lines: String) -> AWSError? {
      Array("HTTP/1.1 403 x\r\n\(lines)\r\n".utf8).withUnsafeBytes { bytes in
        var head = ResponseHead()
        guard case .complete = head.parse(bytes, limit: 4_096) else { return nil }
        return AWSError(head, in: bytes)
      }
    }
    #expect(read("x-amzn-ErrorType: ExpiredTokenException:http://internal.amazon.com/coral/\r\n") == .keysRefused)
    #expect(read("X-Amzn-Errortype: UnrecognizedClientException\r\n") == .keysRefused)
    #expect(read("X-Amzn-Errortype: AccessDeniedException\r\n") == .accessDenied)
    #expect(read("x-amz-error-code: ExpiredToken\r\n") == .keysRefused)
    #expect(read("X-Amzn-Errortype: ValidationException\r\n") == .other)
    #expect(read("X-Amzn-Errortype: a\r\nX-Amzn-Errortype: ExpiredToken\r\n") == nil)
    #expect(read("Content-Length: 0\r\n") == nil)
  }
}
