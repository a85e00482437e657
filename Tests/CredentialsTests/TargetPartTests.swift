import Testing

@testable import Credentials

@Suite("A secret in the target")
struct TargetPartTests {
  @Test(
    "is percent-encoded, but for what may be there as it is",
    arguments: [
      (.query(name: "key", value: Secret("AIza-._~09")), "key=AIza-._~09"),
      (
        .query(name: "key", value: Secret("a b+c/d?e#f%41&g=h;i:j@k!*'()")),
        "key=a%20b%2Bc%2Fd%3Fe%23f%2541%26g%3Dh%3Bi%3Aj%40k%21%2A%27%28%29"
      ),
      (.query(name: "api key[]", value: Secret([0xc3, 0xbc, 0xff])), "api%20key%5B%5D=%C3%BC%FF"),
      (.path(segment: "bot{value}", value: Secret("123:AA-b_c")), "bot123:AA-b_c"),
      (.path(segment: "a:{value};v=1", value: Secret("x/y?z#%2 ü@!$&'()*+,;=")), "a:x%2Fy%3Fz%23%252%20%C3%BC@!$&'()*+,;=;v=1"),
      (.path(segment: "{value}", value: Secret("...")), "..."),
      (.path(segment: "v.{value}", value: Secret(".")), "v.."),
    ] as [(CredentialPolicy.Kind, String)])
  func parts(kind: CredentialPolicy.Kind, text: String) throws {
    let credential = try CredentialRenderer.render(CredentialPolicy(name: "c", kind: kind), version: 3)
    guard case .target(let part)? = credential.material else {
      Issue.record("no part of a target")
      return
    }
    #expect(String(decoding: part.text, as: UTF8.self) == text)
    #expect(credential.line.isEmpty && credential.version == 3 && credential.expiry == RenderedCredential.never)
    #expect(!"\(credential) \(part.value) \(credential.material as Any)".contains(text))
  }

  @Test(
    "must have a place and a value that can be there",
    arguments: [
      (.query(name: "", value: Secret("x")), .empty), (.query(name: "key", value: Secret("")), .empty),
      (.query(name: "key", value: Secret("x\r\nHost: evil")), .controlCharacter),
      (.query(name: "key", value: Secret([UInt8](repeating: 0x61, count: 8_193))), .tooLong),
      (.path(segment: "bot", value: Secret("x")), .badFormat), (.path(segment: "a/{value}", value: Secret("x")), .badFormat),
      (.path(segment: "{value}{value}", value: Secret("x")), .badFormat),
      (.path(segment: "{value}", value: Secret("")), .empty),
      (.path(segment: "{value}", value: Secret(".")), .dotSegment),
      (.path(segment: ".{value}", value: Secret(".")), .dotSegment),
      (.path(segment: "{value}", value: Secret("a\0")), .controlCharacter),
    ] as [(CredentialPolicy.Kind, CredentialError)])
  func refusals(kind: CredentialPolicy.Kind, error: CredentialError) {
    #expect(throws: error) { try CredentialRenderer.render(CredentialPolicy(name: "c", kind: kind)) }
  }

  @Test("is shown as stars")
  func shown() {
    func shown(_ kind: CredentialPolicy.Kind) -> String? {
      CredentialPolicy(name: "c", kind: kind).shownTargetPart.map { String(decoding: $0, as: UTF8.self) }
    }
    #expect(shown(.query(name: "a b", value: Secret("x"))) == "a%20b=***")
    #expect(shown(.path(segment: "bot{value}z", value: Secret("x"))) == "bot***z")
    #expect(shown(.bearer(token: Secret("x"))) == nil)
  }

  @Test("is read again after a refusal, and replaced if it changed")
  func refused() throws {
    var machine = try StaticCredentialMachine(
      CredentialPolicy(name: "c", kind: .query(name: "key", value: Secret("old"))), after: 4)
    let key = RequestKey(entry: "e", client: "", method: "GET", path: [])
    let (decision, actions) = machine.refused(version: 5, by: key, isRetry: false, now: 0)
    guard case .waitForRefresh = decision, case .readSource(let id)? = actions.first else {
      Issue.record("the source is not read")
      return
    }
    let next = machine.sourceRead(id: id, .query(name: "key", value: Secret("new")), now: 1)
    guard case .publish(let credential)? = next.first, case .target(let part)? = credential.material else {
      Issue.record("nothing new")
      return
    }
    #expect(String(decoding: part.text, as: UTF8.self) == "key=new" && credential.version == 6)
  }
}
