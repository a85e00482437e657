import HTTPWire
import Testing

@testable import Signing

@Suite struct NegotiateAnswerTests {
  @Test(arguments: [
    ([], "absent"), (["Basic realm=\"x\""], "absent"), (["Negotiate"], "bare"), (["NEGOTIATE "], "bare"),
    (["Basic realm=\"x\", Negotiate"], "bare"), (["Basic realm=\"x\"", "NTLM", "Negotiate"], "bare"), (["NTLM"], "ntlm"),
    (["NTLM TlRMTVNTUAAB"], "ntlm"), (["Basic realm=\"a, b\", NTLM"], "ntlm"), (["Negotiate oYG2=="], "oYG2=="),
    (["Negotiate   oYG2"], "oYG2"), (["NTLM", "negotiate abc, Basic realm=\"x\""], "abc"),
    (["Negotiate realm=\"x\""], "malformed"), (["Negotiate a b"], "malformed"), (["Negotiate \u{7f}"], "malformed"),
    (["Negotiation"], "absent"), (["Negotiate,"], "bare"),
  ])
  func `what WWW-Authenticate says of SPNEGO`(_ fields: [String], _ meaning: String) throws {
    let text = "HTTP/1.1 401 Unauthorized\r\n" + fields.map { "WWW-Authenticate: \($0)\r\n" }.joined() + "\r\n"
    let bytes = Array(text.utf8)
    try bytes.withUnsafeBytes { bytes in
      var head = ResponseHead()
      let outcome = head.parse(bytes, limit: bytes.count)
      try #require(outcome == .complete || meaning == "malformed")
      guard outcome == .complete else { return }
      let found: String =
        switch NegotiateAnswer(head, in: bytes) {
        case .absent: "absent"
        case .bare: "bare"
        case .token(let token): String(decoding: token.bytes(in: bytes), as: UTF8.self)
        case .malformed: "malformed"
        case .onlyNTLM: "ntlm"
        }
      #expect(found == meaning)
    }
  }

  @Test(arguments: [
    (["Negotiate oYG2=="], ["Negotiate"]), (["Negotiate"], ["Negotiate"]), (["Basic realm=\"x\""], ["Basic realm=\"x\""]),
    (["Basic a=b, negotiate oYG2, NTLM", "Digest c=d"], ["Basic a=b, negotiate", "Digest c=d", "NTLM"]),
    (["Negotiate oYG2, Basic realm=\"x, y\""], ["Negotiate", "Basic realm=\"x, y\""]),
    (
      ["Negotiate a, Negotiate b, NTLM", "Negotiate, negotiate c"],
      ["Negotiate", "Negotiate, negotiate", "Negotiate", "NTLM"]
    ),
    (["Negotiate a b"], ["Negotiate a b"]), (["NTLM TlRMTVNTUAAB"], ["NTLM TlRMTVNTUAAB"]),
  ])
  func `a 401's token stays here, and its other challenges go to the app`(_ fields: [String], _ left: [String]) {
    let bytes = Array(("HTTP/1.1 401 x\r\n" + fields.map { "WWW-Authenticate: \($0)\r\n" }.joined() + "\r\n").utf8)
    bytes.withUnsafeBytes { bytes in
      var head = ResponseHead()
      #expect(head.parse(bytes, limit: bytes.count) == .complete)
      NegotiateAnswer.hideToken(in: &head, bytes)
      let values = head.fields.filter { !$0.dropped }.map { String(decoding: $0.value.bytes(in: bytes), as: UTF8.self) }
      #expect(values == left)
    }
  }
}
