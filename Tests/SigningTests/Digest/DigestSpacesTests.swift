import Testing

@testable import Signing

@Suite("Digest protection spaces")
struct DigestSpacesTests {
  private func challenge(_ text: String) throws -> DigestChallenge {
    try #require(Lines("WWW-Authenticate: Digest \(text), qop=auth").best())
  }

  private func realm(_ path: String, _ spaces: DigestSpaces) -> String? {
    spaces.session(for: Array(path.utf8)).map { String(decoding: $0.rules.realm, as: UTF8.self) }
  }

  private func learn(_ realm: String, _ path: String, _ spaces: inout DigestSpaces, nonce: String = "n") throws -> DigestSession
  {
    spaces.learn(try challenge("realm=\(realm), nonce=\(nonce)"), at: Array(path.utf8))
  }

  @Test("with one realm every path is its own")
  func one() throws {
    var spaces = DigestSpaces()
    #expect(realm("/", spaces) == nil)
    _ = try learn("a", "/deep/down", &spaces)
    for path in ["/", "/deep/down", "*", ""] { #expect(realm(path, spaces) == "a") }
  }

  @Test("with several, the longest path that was challenged tells; else the last challenge")
  func several() throws {
    var spaces = DigestSpaces()
    _ = try learn("a", "/one/x", &spaces)
    _ = try learn("b", "/two/x", &spaces)
    _ = try learn("c", "/one/deep/x", &spaces)
    for (path, expected) in [
      ("/one/y", "a"), ("/one/", "a"), ("/one/x/y", "a"), ("/one/xy", "a"), ("/two/y", "b"), ("/one/deep/y", "c"),
      ("/one/deeper", "a"), ("/three", "c"), ("/", "c"), ("*", "c"),
    ] { #expect(realm(path, spaces) == expected, "\(path)") }
    // Two beside each other: each path is known by itself.
    _ = try learn("d", "/four", &spaces)
    _ = try learn("e", "/five", &spaces)
    for (path, expected) in [("/four", "d"), ("/four/x", "d"), ("/five", "e"), ("/fourth", "e")] {
      #expect(realm(path, spaces) == expected, "\(path)")
    }
  }

  @Test("a challenge of a known realm goes on with its session, and takes the path over")
  func again() throws {
    var spaces = DigestSpaces()
    let first = try learn("a", "/x", &spaces)
    _ = try learn("b", "/y/z", &spaces)
    let second = try learn("a", "/y/z", &spaces, nonce: "m")
    #expect(first === second && first.nonce == Array("m".utf8))
    #expect(realm("/y/z", spaces) == "a")
  }

  @Test("realms and paths without measure are bounded")
  func bounds() throws {
    var spaces = DigestSpaces()
    for index in 0..<20 { _ = try learn("r\(index)", "/\(index)/x", &spaces) }
    #expect(realm("/19/y", spaces) == "r19" && realm("/12/y", spaces) == "r12" && realm("/11/y", spaces) == "r19")
    for index in 0..<1_000 { _ = try learn("r19", "/p/\(index)", &spaces) }
    #expect(realm("/12/y", spaces) == "r19")
    let long = "/" + String(repeating: "l", count: 1_000)
    _ = try learn("r18", long, &spaces)
    #expect(realm(long, spaces) == "r18" && realm("/other", spaces) == "r18")
  }

  @Test("all origins of a signer together remember a bounded number of nonces, and each some of its own")
  func commonRoom() throws {
    let room = NonceRoom(common: 2_500)
    func count(_ nonce: String, _ spaces: inout DigestSpaces) throws -> String? {
      let session = try learn("r", "/", &spaces, nonce: nonce)
      let fields = try Answering(session).answer("/", clientNonce: "c").split(separator: ", ")
      return fields.first { $0.hasPrefix("nc=") }.map(String.init)
    }
    func fill(_ spaces: inout DigestSpaces) throws {
      for index in 0...NonceRoom.longest { _ = try count("n\(index)", &spaces) }
    }
    var greedy: [DigestSpaces] = []
    for _ in 0..<3 {
      var spaces = DigestSpaces(room: room)
      try fill(&spaces)
      greedy.append(spaces)
    }
    #expect(room.used == 2_500)
    // Another remembers its own, and no more.
    var late = DigestSpaces(room: room)
    for index in 0..<NonceRoom.own { #expect(try count("n\(index)", &late) == "nc=00000001") }
    for index in 0..<NonceRoom.own { #expect(try count("n\(index)", &late) == "nc=00000002") }
    try fill(&late)
    #expect(room.used == 2_500 && NonceRoom.common + 8 * 1_024 * NonceRoom.own == 65_536)
    // What is forgotten makes room.
    greedy = []
    #expect(room.used == 0)
    try fill(&late)
    #expect(room.used == NonceRoom.longest - NonceRoom.own)
  }
}
