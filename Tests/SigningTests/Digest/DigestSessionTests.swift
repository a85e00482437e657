import Testing

@testable import Signing

@Suite("Digest sessions")
struct DigestSessionTests {
  private func words(_ answer: String) -> [String] {
    let wanted = ["nonce=", "nc=", "cnonce=", "opaque="]
    return answer.dropFirst("Digest ".count).split(separator: ", ").map(String.init).filter { word in
      wanted.contains { word.hasPrefix($0) }
    }
  }

  @Test("count each nonce from 1, and never use a count twice, even if an old nonce comes back")
  func counts() throws {
    let server = try Answering("realm=r, nonce=a, qop=auth", username: "u", password: "p")
    func next() throws -> String {
      words(try server.answer("/", clientNonce: "c")).prefix(2).joined(separator: " ").replacing("\"", with: "")
    }
    #expect(try [next(), next()] == ["nonce=a nc=00000001", "nonce=a nc=00000002"])
    try server.challenge("realm=r, nonce=b, qop=auth")
    #expect(try next() == "nonce=b nc=00000001")
    try server.challenge("realm=r, nonce=a, qop=auth")
    #expect(try next() == "nonce=a nc=00000003")
    try server.challenge("realm=r, nonce=a, qop=auth, stale=true")
    #expect(try next() == "nonce=a nc=00000004")
    server.inform("nextnonce=\"b\"")
    #expect(try next() == "nonce=b nc=00000002")
    for index in 0..<60 { server.inform("nextnonce=\"x\(index)\"") }
    server.inform("nextnonce=\"a\"")
    #expect(try next() == "nonce=a nc=00000005")
    #expect(!server.session.isUsedUp)
  }

  @Test("remember the counts of a thousand nonces")
  func manyNonces() throws {
    let server = try Answering("realm=r, nonce=n0, qop=auth", username: "u", password: "p")
    for round in 1...2 {
      for index in 0..<1_000 {
        try server.challenge("realm=r, nonce=n\(index), qop=auth, stale=true")
        #expect(try server.answer("/", clientNonce: "c").contains(", nc=0000000\(round), "), "\(index)")
      }
    }
    // Beyond that the oldest are forgotten, and the newest are not.
    for index in 0..<1_100 {
      server.inform("nextnonce=\"m\(index)\"")
      _ = try server.answer("/", clientNonce: "c")
    }
    server.inform("nextnonce=\"m1000\"")
    #expect(try server.answer("/", clientNonce: "c").contains(", nc=00000002, "))
  }

  @Test("write the count as eight digits")
  func digits() throws {
    let server = try Answering("realm=r, nonce=a, qop=auth", username: "u", password: "p")
    for _ in 0..<255 { _ = try server.answer("/", clientNonce: "c") }
    #expect(try server.answer("/", clientNonce: "c").contains(", nc=00000100, "))
  }

  @Test(
    "ignore a next nonce that cannot be one",
    arguments: [
      "nextnonce=\"\"", "rspauth=\"x\"", "nextnonce=\"b", "nextnonce=b, nextnonce=c",
      "nextnonce=\"\(String(repeating: "b", count: 6_144))\"",
    ])
  func badNextNonces(info: String) throws {
    let server = try Answering("realm=r, nonce=a, qop=auth", username: "u", password: "p")
    server.inform(info)
    #expect(server.session.nonce == Array("a".utf8))
  }

  @Test("take realm, opaque and rules of each challenge")
  func challenges() throws {
    let server = try Answering("realm=r, nonce=a, qop=auth, opaque=o", username: "u", password: "p")
    #expect(try words(server.answer("/", clientNonce: "c")).contains("opaque=\"o\""))
    try server.challenge("realm=s, nonce=b, algorithm=SHA-256, qop=auth")
    let fresh = try Answering("realm=s, nonce=b, algorithm=SHA-256, qop=auth", username: "u", password: "p")
    #expect(try server.answer("/", clientNonce: "c") == fresh.answer("/", clientNonce: "c"))
  }

  @Test("of the -sess forms keep secret and nonce of the client until the next challenge")
  func sessions() throws {
    let server = try Answering("realm=r, nonce=a, algorithm=MD5-sess, qop=auth", username: "u", password: "p")
    #expect(try server.answer("/", clientNonce: "one").contains("cnonce=\"one\""))
    server.inform("nextnonce=b")
    // Computed with Python's hashlib: the secret has nonce a and the first nonce of the client.
    let second = try server.answer("/", clientNonce: "two")
    #expect(second.contains("nonce=\"b\"") && second.contains("cnonce=\"one\""))
    #expect(second.contains("response=\"8a30393e9faa4a3c35599e0ed580be93\""))
    try server.challenge("realm=r, nonce=c, algorithm=MD5-sess, qop=auth")
    #expect(try server.answer("/", clientNonce: "three").contains("cnonce=\"three\""))
  }

  @Test("make the secret anew for another version of the credential")
  func versions() throws {
    let challenge = "realm=r, nonce=a, algorithm=SHA-256-sess, qop=auth"
    let server = try Answering(challenge, username: "u", password: "p")
    #expect(try server.answer("/", clientNonce: "one", version: 1).contains("cnonce=\"one\""))
    #expect(try server.answer("/", clientNonce: "two", version: 1).contains("cnonce=\"one\""))
    #expect(try server.answer("/", clientNonce: "three", version: 2).contains("cnonce=\"three\""))
  }

  @Test("a nonce of the client is random, and 32 digits")
  func clientNonces() throws {
    let nonces = try (0..<100).map { _ in try DigestSession.newClientNonce() }
    #expect(Set(nonces).count == 100 && nonces.allSatisfy { $0.count == 32 })
  }
}
