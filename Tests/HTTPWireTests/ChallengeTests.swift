import HTTPWire
import Testing

/// Challenges as text: `scheme[ token68][ name=value ...][ !]`.
private func challenges(_ value: String) -> [String] { challenges(Array(value.utf8)) }

private func challenges(_ value: [UInt8]) -> [String] {
  value.withUnsafeBytes { head in
    var challenges = Challenges(ByteSlice(start: 0, count: head.count), in: head)
    var found: [String] = []
    while let challenge = challenges.next() { found.append(described(challenge, head)) }
    return found
  }
}

private func described(_ challenge: Challenge, _ head: UnsafeRawBufferPointer) -> String {
  func text(_ bytes: some Sequence<UInt8>) -> String { String(decoding: Array(bytes), as: UTF8.self) }
  var words = [text(challenge.scheme.bytes(in: head))]
  if !challenge.token68.isEmpty { words.append(text(challenge.token68.bytes(in: head))) }
  words += challenge.parameters.map { "\(text($0.name.bytes(in: head)))=\(text($0.text(in: head)))" }
  return words.joined(separator: " ") + (challenge.isMalformed ? " !" : "")
}

@Suite("Challenges")
struct ChallengeTests {
  @Test(
    "of a field are found, whatever lies between them",
    arguments: [
      ("", []), (" , ,\t,", []),
      ("Negotiate", ["Negotiate"]),
      ("Basic realm=\"a\"", ["Basic realm=a"]),
      ("Basic realm=a", ["Basic realm=a"]),
      // RFC 9110 section 11.6.1
      (
        "Basic realm=\"simple\", Newauth realm=\"apps\", type=1, title=\"Login to \\\"apps\\\"\"",
        ["Basic realm=simple", "Newauth realm=apps type=1 title=Login to \"apps\""]
      ),
      ("Digest realm=\"a, b\", nonce=\"c=d\", qop=\"auth, auth-int\"", ["Digest realm=a, b nonce=c=d qop=auth, auth-int"]),
      ("Negotiate, NTLM, Digest realm=a , nonce=b", ["Negotiate", "NTLM", "Digest realm=a nonce=b"]),
      ("Negotiate YII+/b-._~==, Digest realm=a", ["Negotiate YII+/b-._~==", "Digest realm=a"]),
      ("Digest realm=a, Negotiate abc=", ["Digest realm=a", "Negotiate abc="]),
      ("Negotiate abc=, Digest nonce=b", ["Negotiate abc=", "Digest nonce=b"]),
      // Blanks and empty members.
      ("Digest   realm = a\t,\tnonce =\"b\"", ["Digest realm=a nonce=b"]),
      (",, Digest realm=a,, ,nonce=b,,Basic realm=c,", ["Digest realm=a nonce=b", "Basic realm=c"]),
      ("Digest ,realm=a", ["Digest realm=a"]), ("Digest\t", ["Digest"]),
      ("DIGEST REALM=a", ["DIGEST REALM=a"]),
      // Quoted pairs.
      ("Digest realm=\"a\\\\b\\\"c\\d\"", ["Digest realm=a\\b\"cd"]), ("Digest realm=\"\"", ["Digest realm="]),
      ("Digest realm=\"Basic realm=x, NTLM\"", ["Digest realm=Basic realm=x, NTLM"]),
      ("Digest realm=\"ä\", nonce=b", ["Digest realm=ä nonce=b"]),
    ])
  func good(field: String, expected: [String]) { #expect(challenges(field) == expected) }

  @Test(
    "that break the grammar are marked, and those around them are found",
    arguments: [
      ("Basic realm=\"a\", Digest realm=\"b", ["Basic realm=a", "Digest !"]),
      ("Digest realm=\"b\\", ["Digest !"]), ("Digest realm=\"b\\\", Basic realm=c", ["Digest !"]),
      ("Digest realm=\"a\u{0}b\", nonce=c, NTLM", ["Digest nonce=c !", "NTLM"]),
      ("Digest realm=\"a\\\u{1}b\", nonce=c", ["Digest nonce=c !"]),
      ("Digest realm=\"a\"b, nonce=c, NTLM", ["Digest realm=a nonce=c !", "NTLM"]),
      ("Digest realm=, nonce=c", ["Digest realm= nonce=c !"]), ("Digest nonce=c, realm=", ["Digest nonce=c !"]),
      ("Digest nonce=a/b==, qop=auth", ["Digest nonce=a qop=auth !"]),
      ("Digest nonce=a, nonce=b, Nonce=c", ["Digest nonce=a nonce=b Nonce=c !"]),
      ("Negotiate abc=, error=b", ["Negotiate abc= error=b !"]), ("Negotiate a b c", ["Negotiate a !"]),
      ("Digest ?, nonce=b", ["Digest nonce=b !"]), ("Digest realm=a, \u{1}, nonce=b", ["Digest realm=a nonce=b !"]),
      // No challenge at all.
      ("realm=\"NTLM, a\", Digest nonce=b", ["Digest nonce=b"]), ("= , \"Basic realm=a\", NTLM", ["NTLM"]),
      ("\"Basic", []), ("Basic\"a, b\", NTLM", ["NTLM"]), ("a=b=c, Digest nonce=d", ["Digest nonce=d"]),
    ])
  func bad(field: String, expected: [String]) { #expect(challenges(field) == expected) }

  @Test("are bounded: 32 of them, and 64 parameters of each")
  func bounded() {
    let many = challenges(Array(repeating: "NTLM", count: 1_000).joined(separator: ","))
    #expect(many.count == Challenges.limit)
    let parameters = (0..<1_000).map { "p\($0)=\"\($0)\"" }.joined(separator: ", ")
    let found = challenges("Digest \(parameters), Basic realm=a")
    #expect(found.count == 2 && found[0].hasSuffix(" p63=63 !") && found[1] == "Basic realm=a")
  }

  @Test("with tokens of 60 KiB are read in one piece")
  func long() {
    let long = String(repeating: "a", count: 60 << 10)
    #expect(challenges("Digest nonce=\"\(long)\", realm=\(long)") == ["Digest nonce=\(long) realm=\(long)"])
    #expect(challenges("Negotiate \(long)==, \(long)") == ["Negotiate \(long)==", long])
    #expect(challenges("Digest nonce=\"\(long), Basic realm=a") == ["Digest !"])
  }

  @Test("are found by name in any case; the first value of a name counts")
  func names() {
    let field = Array("DiGeSt NonCE=\"a\\b\", nonce=c".utf8)
    field.withUnsafeBytes { head in
      var challenges = Challenges(ByteSlice(start: 0, count: head.count), in: head)
      let challenge = challenges.next()
      #expect(challenge?.uses("digest", in: head) == true && challenge?.uses("diges", in: head) == false)
      #expect(challenge?.text("nonce", in: head) == Array("ab".utf8) && challenge?.text("realm", in: head) == nil)
    }
  }

  @Test(
    "a field of parameters alone has no scheme",
    arguments: [
      ("nextnonce=\"a, b\", qop=auth", " nextnonce=a, b qop=auth"), (" , nextnonce = a", " nextnonce=a"), ("", ""),
      ("nextnonce", " !"), ("Digest nextnonce=a", " !"), ("a=b, c", " a=b !"), ("a=\"b", " !"),
    ])
  func parameters(field: String, expected: String) {
    let bytes = Array(field.utf8)
    bytes.withUnsafeBytes { head in
      #expect(described(Challenges.parameters(of: ByteSlice(start: 0, count: head.count), in: head), head) == expected)
    }
  }

  @Test("any cut of a field is read without a fault, and hides no challenge that is whole")
  func cuts() {
    let field = Array("Digest realm=\"a\\\"b\", nonce=\"c\", qop=\"auth,auth-int\", Negotiate abc==, Basic realm=d".utf8)
    let whole = challenges(field)
    for count in 0..<field.count {
      let found = challenges(Array(field[..<count]))
      // A name without its value looks like the next challenge.
      #expect(found.dropLast(2) == whole.prefix(max(found.count - 2, 0)), "\(count)")
      #expect(found.count <= whole.count + 1, "\(count)")
    }
  }
}
