import HTTPWire
import Testing

@Suite("A message that authenticates its connection (RFC 4559 section 6)")
struct ConnectionSchemeTests {
  @Test(
    "is a request with NTLM or Negotiate",
    arguments: [
      ("Authorization: NTLM TlRMTVNTUAAB", true), ("authorization: negotiate YII=", true), ("Authorization: NeGoTiAtE", true),
      ("Authorization: Basic bmVnb3RpYXRl", false), ("Authorization: NTLMv2 x", false),
      ("Authorization: Bearer negotiate", false),
      ("Authorization:", false), ("X-Authorization: NTLM x", false), ("A: b", false),
    ])
  func requests(fields: String, expected: Bool) {
    let request = ParsedRequest(fields: fields)
    #expect(request.bytes.withUnsafeBytes { request.head.authenticatesConnection(in: $0) } == expected)
  }

  @Test("is no request whose Authorization is not sent on")
  func dropped() {
    var request = ParsedRequest(fields: "Authorization: NTLM x")
    request.head.fields.drop(.authorization)
    #expect(!request.bytes.withUnsafeBytes { request.head.authenticatesConnection(in: $0) })
  }

  @Test(
    "is a response with a challenge, or a last word, of either",
    arguments: [
      ("WWW-Authenticate: NTLM", true), ("WWW-Authenticate: Negotiate", true), ("www-authenticate: ntlm TlRMTQ==", true),
      ("WWW-Authenticate: Basic realm=\"x\", Negotiate", true),
      ("WWW-Authenticate: Basic realm=\"x\"\r\nWWW-Authenticate: NTLM", true),
      ("WWW-Authenticate: Negotiate,NTLM,Basic realm=x", true), ("WWW-Authenticate: Bearer realm=\"open, Negotiate YI", true),
      ("WWW-Authenticate: Basic realm=\"NTLM\"", false), ("WWW-Authenticate: Bearer error=\"x\", scope=ntlm", false),
      ("WWW-Authenticate:", false), ("WWW-Authenticate: ,,", false), ("A: b", false),
    ])
  func responses(fields: String, expected: Bool) {
    let response = ParsedResponse(status: "401 Unauthorized", fields: fields)
    #expect(response.bytes.withUnsafeBytes { response.head.authenticatesConnection(in: $0) } == expected)
  }

  @Test("a challenge that the proxy has answered itself is none of the app's")
  func answered() {
    var response = ParsedResponse(status: "200 OK", fields: "WWW-Authenticate: Negotiate oYG2")
    let bytes = response.bytes
    let before = bytes.withUnsafeBytes { response.head.authenticatesConnection(in: $0) }
    _ = bytes.withUnsafeBytes { response.head.fields.drop(named: Array("WWW-Authenticate".utf8), in: $0) }
    let after = bytes.withUnsafeBytes { response.head.authenticatesConnection(in: $0) }
    #expect(before && !after)
  }
}
