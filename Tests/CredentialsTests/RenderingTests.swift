import Testing

@testable import Credentials

@Suite("A credential is rendered once, as the whole field line")
struct RenderingTests {
  @Test(
    "what each kind looks like",
    arguments: [
      (.basic(username: "Aladdin", password: Secret("open sesame")), "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n"),
      (.basic(username: "test", password: Secret("123£")), "Authorization: Basic dGVzdDoxMjPCow==\r\n"),
      (.basic(username: "svc", password: Secret("with:colon")), "Authorization: Basic c3ZjOndpdGg6Y29sb24=\r\n"),
      (.bearer(token: Secret("mF_9.B5f-4.1JqM")), "Authorization: Bearer mF_9.B5f-4.1JqM\r\n"),
      (.bearer(token: Secret("12|a%7C!=\"b")), "Authorization: Bearer 12|a%7C!=\"b\r\n"),
      (.header(name: "X-Api-Key", value: Secret("k"), format: "Token {value}"), "X-Api-Key: Token k\r\n"),
      (.header(name: "X-Api-Key", value: Secret("{value}"), format: "{value}!"), "X-Api-Key: {value}!\r\n"),
    ] as [(CredentialPolicy.Kind, String)])
  func lines(kind: CredentialPolicy.Kind, line: String) throws {
    let credential = try CredentialRenderer.render(CredentialPolicy(name: "c", kind: kind), version: 3)
    #expect(text(credential.line) == line)
    #expect(line.hasPrefix(text(credential.fieldName) + ": "))
    #expect(credential.version == 3)
    #expect(credential.isUsable(at: Int64.max - 1))
  }

  @Test(
    "what cannot stand in a field value is refused",
    arguments: [
      (.basic(username: "a:b", password: Secret("x")), .colonInUserName),
      (.basic(username: "a\nb", password: Secret("x")), .controlCharacter),
      (.basic(username: "a", password: Secret("x\u{7f}")), .controlCharacter),
      (.basic(username: "a", password: Secret([0xff])), .notUTF8),
      (.basic(username: "", password: Secret([])), .empty),
      (.bearer(token: Secret([])), .empty),
      (.bearer(token: Secret("a b")), .spaceInToken),
      (.bearer(token: Secret("ä")), .spaceInToken),
      (.bearer(token: Secret("a\r\nHost: evil")), .controlCharacter),
      (.header(name: "X Y", value: Secret("k"), format: "{value}"), .badFieldName("X Y")),
      (.header(name: "", value: Secret("k"), format: "{value}"), .badFieldName("")),
      (.header(name: "Content-LENGTH", value: Secret("1"), format: "{value}"), .forbiddenFieldName("Content-LENGTH")),
      (.header(name: "X", value: Secret("k\r\nY: z"), format: "{value}"), .controlCharacter),
      (.header(name: "X", value: Secret("k\0"), format: "{value}"), .controlCharacter),
      (.header(name: "X", value: Secret("k"), format: "no place"), .badFormat),
      (.header(name: "X", value: Secret("k"), format: "{value}{value}"), .badFormat),
      (.header(name: "X", value: Secret("k "), format: "{value}"), .spaceAtEdge),
      (.header(name: "X", value: Secret("k"), format: " {value}"), .spaceAtEdge),
      (.header(name: "X", value: Secret([UInt8](repeating: 0x61, count: 30_000)), format: "{value}"), .tooLong),
      (.oauth2(makePolicy()), .notStatic),
    ] as [(CredentialPolicy.Kind, CredentialError)])
  func refusals(kind: CredentialPolicy.Kind, error: CredentialError) {
    #expect(throws: error) { try CredentialRenderer.render(CredentialPolicy(name: "c", kind: kind)) }
  }

  @Test("neither a secret nor a rendered credential shows itself")
  func redaction() throws {
    let secret = Secret("tell-nobody")
    let credential = try CredentialRenderer.render(CredentialPolicy(name: "c", kind: .bearer(token: secret)))
    var dumped = ""
    dump(credential, to: &dumped)
    dump(secret, to: &dumped)
    dump(CredentialPolicy(name: "c", kind: .bearer(token: secret)), to: &dumped)
    for shown in ["\(secret)", String(reflecting: secret), "\(credential)", String(reflecting: credential), dumped] {
      #expect(!shown.contains("tell-nobody"))
      #expect(!shown.contains("116, 101, 108, 108"))
    }
  }
}
