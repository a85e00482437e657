import Credentials
import Testing

@testable import Signing

@Suite("Answers to Digest challenges")
struct DigestAnswerTests {
  private static let mufasa = #"realm="http-auth@example.org", qop="auth, auth-int", "#
  private static let nonces =
    #"nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS""#
  private static let clientNonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"

  @Test(
    "RFC 7616 section 3.9.1",
    arguments: [
      ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
      ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
    ])
  func example(algorithm: String, response: String) throws {
    let server = try Answering(
      Self.mufasa + "algorithm=\(algorithm), " + Self.nonces, username: "Mufasa", password: "Circle of Life")
    let answer = try server.answer("/dir/index.html", clientNonce: Self.clientNonce)
    #expect(
      answer == """
        Digest username="Mufasa", realm="http-auth@example.org", nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", \
        uri="/dir/index.html", qop=auth, nc=00000001, cnonce="\(Self.clientNonce)", response="\(response)", \
        opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS", algorithm=\(algorithm)
        """)
  }

  /// The RFC computed its example with a truncated SHA-512. Erratum 4897 has the values of SHA-512/256.
  @Test("RFC 7616 section 3.9.2, with erratum 4897")
  func hashedUserName() throws {
    let server = try Answering(
      #"""
      realm="api@example.org", qop="auth", algorithm=SHA-512-256, nonce="5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK", \#
      opaque="HRPCssKJSGjCrkzDg8OhwpzCiGPChXYjwrI2QmXDnsOS", charset=UTF-8, userhash=true
      """#, username: "Jäsøn Doe", password: "Secret, or not?")
    let answer = try server.answer("/doe.json", clientNonce: "NTg6RKcb9boFIAS3KrFK9BGeh+iDa/sm6jUMp2wds69v")
    #expect(
      answer == """
        Digest username="793263caabb707a56211940d90411ea4a575adeccb7e360aeb624ed06ece9b0b", realm="api@example.org", \
        nonce="5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK", uri="/doe.json", qop=auth, nc=00000001, \
        cnonce="NTg6RKcb9boFIAS3KrFK9BGeh+iDa/sm6jUMp2wds69v", \
        response="3798d4131c277846293534c3edc11bd8a5e4cdcbff78b05db9d95eeb1cec68a5", \
        opaque="HRPCssKJSGjCrkzDg8OhwpzCiGPChXYjwrI2QmXDnsOS", algorithm=SHA-512-256, userhash=true
        """)
  }

  @Test("RFC 2617 section 3.5, whose challenge names no algorithm")
  func older() throws {
    let server = try Answering(
      #"""
      realm="testrealm@host.com", qop="auth,auth-int", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", \#
      opaque="5ccc069c403ebaf9f0171e9517f40e41"
      """#, username: "Mufasa", password: "Circle Of Life")
    #expect(
      try server.answer("/dir/index.html", clientNonce: "0a4f113b") == """
        Digest username="Mufasa", realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", \
        uri="/dir/index.html", qop=auth, nc=00000001, cnonce="0a4f113b", response="6629fae49393a05397450978507c4ef1", \
        opaque="5ccc069c403ebaf9f0171e9517f40e41"
        """)
  }

  @Test("RFC 2069 section 2.4, with its erratum 749: neither count nor nonce of the client")
  func oldest() throws {
    let server = try Answering(
      #"""
      realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", \#
      opaque="5ccc069c403ebaf9f0171e9517f40e41"
      """#, username: "Mufasa", password: "CircleOfLife")
    #expect(
      try server.answer("/dir/index.html", clientNonce: "unused") == """
        Digest username="Mufasa", realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", \
        uri="/dir/index.html", response="1949323746fe6a43ef61f9606e7febea", opaque="5ccc069c403ebaf9f0171e9517f40e41"
        """)
  }

  /// Computed with Python's hashlib.
  @Test(
    "every algorithm with every protection",
    arguments: [
      ("MD5", "auth", "d72a6e1559bfe8f48d2618a64d3c34b5"), ("MD5", "auth-int", "b66045b362c1ee1f3c2bd46e0583d629"),
      ("MD5", "", "98784c73baa73df7fde968349623f38f"), ("MD5-sess", "auth", "dca610bc50984edc8a6f32ffb2001040"),
      ("MD5-sess", "auth-int", "6e768758e1e6a0d345e4156a45973bca"), ("MD5-sess", "", "b418e4174a9cbfc7e1f1129c8eaf6bb7"),
      ("SHA-256", "auth", "fc5ee743500104838d5b7b4604f5066e9a93c51c9dcd8afe8303294d6be6425b"),
      ("SHA-256", "auth-int", "819dc6bd5956d906bea795ddc6554e6d8217012949b81580824789d25f4ed260"),
      ("SHA-256", "", "7bfbc23f0011a65379a1be57fe67ccc66c22467bf748aa114285175d28103020"),
      ("SHA-256-sess", "auth", "7fa1e0dedfbd51a8244a4c539182b013b61e6ebc30448628fa8cfab241a50e6a"),
      ("SHA-256-sess", "auth-int", "12ae96ec082698bda5e10ced2bbbb67f377655cbfbe3350a55f0320193f2c376"),
      ("SHA-256-sess", "", "bb7c07281df776dd8b1b82a08fdcfd58d66e16e177349e14989caff10b6fc98d"),
      ("SHA-512-256", "auth", "5e548712f54b3ec47add8a3dd33325702e3bdb183d745549fdabe127433ace0d"),
      ("SHA-512-256", "auth-int", "fceed5a242631bfc6dc5fb134fdc60a09d499b5af1d120c6ddabd88ea54579d5"),
      ("SHA-512-256", "", "120edd4a47a55c4e81a9deadd443cc68b874c6f29ad7517273af219395586459"),
      ("SHA-512-256-sess", "auth", "538a0281364a63dcccb626021556dbbc43e8efae12ae1d30634b6e5353f20be7"),
      ("SHA-512-256-sess", "auth-int", "3c127cbebf424a4b178f884ad36e35818d053985a23af27494d5c85a21f32e6a"),
      ("sha-512-256-SESS", "", "2ee59e3e37de763465770b00575dda93d3fc29f8315f60840fae56b5e7204892"),
    ])
  func all(algorithm: String, qop: String, response: String) throws {
    let challenge = #"realm="realm", nonce="nonce", algorithm="\#(algorithm)""# + (qop.isEmpty ? "" : ", qop=\(qop)")
    let server = try Answering(challenge, username: "user", password: "pass")
    let answer = try server.answer("/a?b=c", method: "POST", body: "body", clientNonce: "cnonce")
    #expect(answer.contains(", response=\"\(response)\""))
    let isSession = algorithm.lowercased().hasSuffix("-sess")
    let name = isSession ? algorithm.dropLast(5).uppercased() + "-sess" : algorithm
    #expect(answer.hasSuffix(", algorithm=\(name)"))
    #expect(answer.contains(", qop=\(qop), nc=00000001, ") == !qop.isEmpty)
    #expect(answer.contains("cnonce=\"cnonce\"") == (!qop.isEmpty || isSession))
  }

  @Test("quotation marks and backslashes are escaped where they are written, and not where they are hashed")
  func escapes() throws {
    let server = try Answering(
      #"realm="a \"b\\c\"", nonce="n\"", opaque="o\\\"", qop=auth, algorithm=MD5"#, username: #"DOMAIN\"user"#, password: "p")
    // Computed with Python's hashlib.
    #expect(
      try server.answer(#"/x"y\z"#, clientNonce: "c") == #"""
        Digest username="DOMAIN\\\"user", realm="a \"b\\c\"", nonce="n\"", uri="/x\"y\\z", qop=auth, nc=00000001, cnonce="c", \#
        response="0a036140ffc542e0a9f397b651292598", opaque="o\\\"", algorithm=MD5
        """#)
  }

  @Test("a user name that is no ASCII: extended for a server that says UTF-8, else its bytes")
  func extendedNames() throws {
    let utf8 = try Answering(#"realm=r, nonce=n, qop=auth, charset=utf-8"#, username: "Jäsøn Doe", password: "ß")
    let one = try utf8.answer("/", clientNonce: "c")
    #expect(one.hasPrefix("Digest username*=UTF-8''J%C3%A4s%C3%B8n%20Doe, realm=\"r\", "))
    let other = try Answering(#"realm=r, nonce=n, qop=auth"#, username: "Jäsøn Doe", password: "ß")
    let two = try other.answer("/", clientNonce: "c")
    #expect(two.hasPrefix("Digest username=\"Jäsøn Doe\", realm=\"r\", "))
    let ascii = try Answering(#"realm=r, nonce=n, qop=auth, charset=UTF-8"#, username: "Doe", password: "ß")
    #expect(try ascii.answer("/", clientNonce: "c").hasPrefix("Digest username=\"Doe\", "))
  }

  @Test("the longest answer fits into its limit")
  func size() throws {
    let name = String(repeating: "ä", count: DigestPolicy.maximumUserName / 2)
    // Each quotation mark is written as two bytes.
    let long = String(repeating: "\\\"", count: DigestChallenge.sizeLimit / 2 - 1)
    let target = "/" + String(repeating: "\"", count: 10_000)
    for qop in ["auth", "auth-int"] {
      let server = try Answering(
        #"realm=r, nonce="\#(long)", qop="\#(qop)", charset=UTF-8, algorithm=SHA-512-256-sess"#, username: name, password: "p")
      let answer = try server.answer(target, method: "OPTIONS", clientNonce: String(repeating: "c", count: 32))
      #expect(answer.utf8.count > 25_000 && answer.utf8.count <= DigestSession.sizeLimit(target: target.utf8.count))
    }
  }
}
