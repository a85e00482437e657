import Crypto
import JSON
import Testing

@testable import Credentials

@Suite struct JWTMintTests {
  private static let here = JWTMint.Peer(isTLS: true, host: Array("api.test".utf8))
  private static let there = JWTMint.Peer(isTLS: true, host: Array("late.test".utf8))
  private static let secret = Secret("s3cr3t-of-just-thirty-two-bytes!")

  private static func policy(
    _ key: JWTPolicy.Key = .secret(secret), _ algorithm: JWTPolicy.Algorithm = .hs256, preset: JWTPolicy.Preset? = nil,
    expires: Bool = true, field: String = "Authorization", format: String = "Bearer {jwt}"
  ) -> JWTPolicy {
    JWTPolicy(
      key: key, algorithm: algorithm, keyID: "k\"1",
      claims: .init(issuer: "me", audience: "you", more: [("scope", "[\"a\",\"b\"]"), ("admin", "true")]), preset: preset,
      expires: expires, field: field, format: format)
  }

  private static func instant(_ seconds: Int64, wall: Int64? = nil) -> JWTMint.Instant {
    JWTMint.Instant(monotonic: seconds * 1000, wall: 1_700_000_000 + (wall ?? seconds))
  }

  private func correct(
    _ mint: JWTMint, _ peer: JWTMint.Peer, by offset: Int64, uncertainty: Int64 = 0, used: Int64 = 0, at seconds: Int64
  ) -> Bool {
    mint.correct(
      peer, ClockReading(offset: offset, uncertainty: uncertainty), used: used, at: Self.instant(seconds))
  }

  private func part(_ line: [UInt8], _ index: Int) throws -> JSONValue {
    let token = String(decoding: line, as: UTF8.self).dropFirst("Authorization: Bearer ".count).dropLast()
    return try JSONParser.parse(try #require(Base64.decodeURL(token.split(separator: ".")[index].utf8)))
  }

  @Test func `a line has the field, the format and a JWT with the claims in their order, signed`() throws {
    let mint = try JWTMint(Self.policy())
    let line = try mint.line(for: Self.here, at: Self.instant(0))
    let text = String(decoding: line, as: UTF8.self)
    #expect(text.hasPrefix("Authorization: Bearer ") && text.hasSuffix("\r\n"))
    #expect(line.count <= mint.sizeLimit)
    let parts = text.dropFirst("Authorization: Bearer ".count).dropLast().split(separator: ".").map(String.init)
    let decoded = try parts.prefix(2).map { String(decoding: try #require(Base64.decodeURL($0.utf8)), as: UTF8.self) }
    #expect(decoded[0] == #"{"alg":"HS256","typ":"JWT","kid":"k\"1"}"#)
    #expect(
      decoded[1]
        == #"{"iss":"me","aud":"you","scope":["a","b"],"admin":true,"iat":1699999940,"exp":1700000540}"#)
    let code = try HMACSHA256.code(of: Array((parts[0] + "." + parts[1]).utf8), key: Self.secret.bytes)
    #expect(parts[2] == String(decoding: Base64.encodeURL(code), as: UTF8.self))
  }

  @Test func `without expiration there is no exp; field and format are free`() throws {
    let mint = try JWTMint(Self.policy(expires: false, field: "X-Token", format: "v1 {jwt};q"))
    let text = String(decoding: try mint.line(for: Self.here, at: Self.instant(0)), as: UTF8.self)
    #expect(text.hasPrefix("X-Token: v1 eyJ") && text.hasSuffix(";q\r\n"))
    let claims = try #require(Base64.decodeURL(text.split(separator: ".")[1].utf8))
    #expect(try JSONParser.parse(claims)["exp"] == nil)
  }

  @Test func `every algorithm signs what its key verifies`() throws {
    let keys: [(PrivateKey, [JWTPolicy.Algorithm])] = [
      (try .generateRSA(bits: 2048), [.rs256, .rs384, .rs512, .ps256, .ps384, .ps512]), (try .generateP256(), [.es256]),
      (try .generateP384(), [.es384]), (try .generateEd25519(), [.edDSA]),
    ]
    for (key, algorithms) in keys {
      for algorithm in algorithms {
        let mint = try JWTMint(Self.policy(.privateKey(Secret(try key.pem()), passphrase: nil), algorithm))
        let line = try mint.line(for: Self.here, at: Self.instant(0))
        #expect(line.count <= mint.sizeLimit)
        #expect(try part(line, 0)["alg"]?.string == algorithm.rawValue)
        let token = line.dropFirst("Authorization: Bearer ".utf8.count).dropLast(2)
        let dot = try #require(token.lastIndex(of: UInt8(ascii: ".")))
        let signature = try #require(Base64.decodeURL(token[(dot + 1)...]))
        let used = try #require(PrivateKey.JWSAlgorithm(rawValue: algorithm.rawValue))
        #expect(key.verify(signature, of: Array(token[..<dot]), as: used), "\(algorithm)")
      }
    }
    for (algorithm, size) in [(JWTPolicy.Algorithm.hs384, 48), (.hs512, 64)] {
      let line = try JWTMint(Self.policy(.secret(Self.secret), algorithm)).line(for: Self.here, at: Self.instant(0))
      let signature = line.dropLast(2).split(separator: UInt8(ascii: "."))[2]
      #expect(Base64.decodeURL(signature)?.count == size)
    }
  }

  @Test func `a key that does not fit makes no mint`() throws {
    let p256 = JWTPolicy.Key.privateKey(Secret(try PrivateKey.generateP256().pem()), passphrase: nil)
    for policy in [
      Self.policy(p256, .es384), Self.policy(p256, .hs256), Self.policy(.secret(Self.secret), .es256),
      Self.policy(.privateKey(Secret("no key"), passphrase: nil), .es256), Self.policy(.secret(Secret("")), .hs256),
    ] {
      #expect(throws: CredentialError.unusableKey) { try JWTMint(policy) }
    }
    #expect(throws: CredentialError.badFormat) { try JWTMint(Self.policy(format: "{jwt}{jwt}")) }
    #expect(throws: CredentialError.forbiddenFieldName("Host")) { try JWTMint(Self.policy(field: "Host")) }
  }

  @Test func `one JWT serves until four fifths of the time to its exp are over`() throws {
    let mint = try JWTMint(Self.policy())
    let first = try mint.line(for: Self.here, at: Self.instant(0))
    // 600 s from iat to exp, of which 60 s were over at once: 540 s.
    #expect(try mint.line(for: Self.there, at: Self.instant(431)) == first)
    let second = try mint.line(for: Self.here, at: Self.instant(432))
    #expect(second != first)
    #expect(try part(second, 1)["iat"]?.integer == 1_700_000_000 + 432 - 60)
    #expect(try mint.line(for: Self.here, at: Self.instant(863)) == second)
  }

  @Test func `when our clock was set, it is minted anew`() throws {
    let mint = try JWTMint(Self.policy())
    let first = try mint.line(for: Self.here, at: Self.instant(0))
    #expect(try mint.line(for: Self.here, at: Self.instant(10, wall: 40)) == first)
    let second = try mint.line(for: Self.here, at: Self.instant(10, wall: 41))
    #expect(second != first)
    #expect(try mint.line(for: Self.here, at: Self.instant(11, wall: 0)) != second)
  }

  @Test func `a refused one is replaced after a fifth of its lifetime only`() throws {
    let mint = try JWTMint(Self.policy())
    #expect(!mint.replaceRefused(at: 0))
    let first = try mint.line(for: Self.here, at: Self.instant(0))
    #expect(!mint.replaceRefused(at: 119_999))
    #expect(try mint.line(for: Self.here, at: Self.instant(119)) == first)
    #expect(mint.replaceRefused(at: 120_000))
    // The next minute's refusals are about the new one.
    #expect(try mint.line(for: Self.here, at: Self.instant(120)) != first)
    #expect(!mint.replaceRefused(at: 130_000))
  }

  @Test func `for Apple it is minted at 50 minutes, and never within 20 of the last`() throws {
    let key = JWTPolicy.Key.privateKey(Secret(try PrivateKey.generateP256().pem()), passphrase: nil)
    let mint = try JWTMint(Self.policy(key, .es256, preset: .apns, expires: false))
    let first = try mint.line(for: Self.here, at: Self.instant(0))
    #expect(!mint.replaceRefused(at: 1_199_999))
    #expect(try mint.line(for: Self.here, at: Self.instant(2_999)) == first)
    let second = try mint.line(for: Self.here, at: Self.instant(3_000))
    #expect(second != first)
    #expect(!mint.replaceRefused(at: 4_199_999))
    #expect(mint.replaceRefused(at: 4_200_000))
  }

  @Test func `a clock is corrected for its origin alone, by 15 minutes at most, and not for each answer`() throws {
    let mint = try JWTMint(Self.policy())
    let first = try mint.line(for: Self.here, at: Self.instant(0))
    #expect(!correct(mint, Self.there, by: 30, at: 1))
    #expect(correct(mint, Self.there, by: 31, at: 1))
    let other = try mint.issue(for: Self.there, at: Self.instant(2))
    #expect(try part(other.line, 1)["iat"]?.integer == 1_700_000_000 + 2 + 31 - 60)
    #expect(other.offset == 31)
    #expect(try mint.line(for: Self.here, at: Self.instant(2)) == first)
    // It jumps.
    #expect(!correct(mint, Self.there, by: -5000, used: 31, at: 3))
    #expect(correct(mint, Self.there, by: -5000, used: 31, at: 121))
    #expect(try part(mint.line(for: Self.there, at: Self.instant(121)), 1)["iat"]?.integer == 1_700_000_000 + 121 - 900 - 60)
    // It cannot be followed further.
    #expect(!correct(mint, Self.there, by: -5000, used: -900, at: 122))
    #expect(correct(mint, Self.there, by: 0, used: -900, at: 250))
    #expect(try mint.line(for: Self.here, at: Self.instant(250)) == first)
  }

  @Test func `every request that was sent with the old time learns that there is a better one`() throws {
    let mint = try JWTMint(Self.policy())
    #expect(correct(mint, Self.there, by: 600, at: 1))
    for offset in [600, 598, 603] as [Int64] { #expect(correct(mint, Self.there, by: offset, at: 2)) }
    // With the new one there is nothing to be gained.
    #expect(!correct(mint, Self.there, by: 600, used: 600, at: 2))
    // Nor with one that fits no better.
    #expect(!correct(mint, Self.there, by: -600, at: 2))
  }

  @Test func `a slow answer tells less of a clock`() throws {
    let mint = try JWTMint(Self.policy())
    #expect(!correct(mint, Self.there, by: 50, uncertainty: 50, at: 1))
    #expect(!correct(mint, Self.there, by: 80, uncertainty: 50, at: 1))
    #expect(correct(mint, Self.there, by: 81, uncertainty: 50, at: 1))
  }

  @Test func `more origins than are kept cost the oldest nothing but a correction`() throws {
    let mint = try JWTMint(Self.policy())
    for number in 0..<1_100 {
      #expect(correct(mint, JWTMint.Peer(isTLS: false, host: Array("h\(number)".utf8)), by: 60, at: 0))
    }
    #expect(try mint.line(for: Self.here, at: Self.instant(0)).count > 50)
  }

  @Test func `while one thread makes the next JWT, the others go on with the last one`() async throws {
    let mint = try JWTMint(
      Self.policy(.privateKey(Secret(try PrivateKey.generateRSA(bits: 4096).pem()), passphrase: nil), .rs256))
    let first = try mint.line(for: Self.here, at: Self.instant(0))
    let lines = await withTaskGroup(of: [UInt8].self) { group in
      for _ in 0..<64 { group.addTask { (try? mint.line(for: Self.here, at: Self.instant(432))) ?? [] } }
      return await group.reduce(into: Set<[UInt8]>()) { $0.insert($1) }
    }
    // RS256 makes the same of the same time.
    let next = try mint.line(for: Self.here, at: Self.instant(432))
    #expect(lines.isSubset(of: [first, next]) && lines.contains(next) && next != first)
    #expect(try part(next, 1)["iat"]?.integer == 1_700_000_000 + 432 - 60)
    // A last one that has nearly ended serves nobody.
    #expect(try mint.line(for: Self.here, at: Self.instant(432 + 486)) != next)
  }

  @Test func `threads share one JWT`() async throws {
    let mint = try JWTMint(
      Self.policy(.privateKey(Secret(try PrivateKey.generateRSA(bits: 2048).pem()), passphrase: nil), .ps256))
    let lines = await withTaskGroup(of: [UInt8].self) { group in
      for _ in 0..<64 { group.addTask { (try? mint.line(for: Self.here, at: Self.instant(0))) ?? [] } }
      return await group.reduce(into: Set<[UInt8]>()) { $0.insert($1) }
    }
    #expect(lines.count == 1 && lines.first?.isEmpty == false)
  }

  @Test func `no description shows a key`() throws {
    let mint = try JWTMint(Self.policy())
    var dumped = "\(mint) \(SigningMaterial.jwt(mint))"
    dump(mint, to: &dumped)
    #expect(!dumped.contains("s3cr3t"))
  }

  // MARK: The machine

  private let key = RequestKey(entry: "e", client: "", method: "GET", path: [])

  private func machine() throws -> (StaticCredentialMachine, JWTMint) {
    let machine = try StaticCredentialMachine(CredentialPolicy(name: "a", kind: .jwt(Self.policy())))
    guard case .jwt(let mint)? = machine.current.material else { throw CredentialError.notStatic }
    return (machine, mint)
  }

  @Test func `a refusal of an old JWT publishes a version with another one; of a young one it is relayed`() throws {
    var (machine, mint) = try machine()
    _ = try mint.line(for: Self.here, at: Self.instant(0))
    _ = machine.refused(version: 1, by: key, isRetry: false, now: 60_000)
    let young = machine.sourceRead(id: 1, nil, now: 60_000)
    guard case .releaseRefused(.unchanged)? = young.first else {
      Issue.record("\(young)")
      return
    }
    _ = machine.refused(version: 1, by: key, isRetry: false, now: 130_000)
    let old = machine.sourceRead(id: 2, .jwt(Self.policy()), now: 130_000)
    guard case .publish(let next)? = old.first else {
      Issue.record("\(old)")
      return
    }
    #expect(next.version == 2)
    #expect(next.material == .jwt(mint))
  }

  @Test func `another key in the source is another mint`() throws {
    var (machine, mint) = try machine()
    let other = Self.policy(.secret(Secret("another-s3cr3t-of-thirty-two-bytes")))
    _ = machine.refused(version: 1, by: key, isRetry: false, now: 0)
    guard case .publish(let next)? = machine.sourceRead(id: 1, .jwt(other), now: 0).first else {
      Issue.record("nothing is published")
      return
    }
    #expect(next.material != .jwt(mint))
    #expect(try machine.reconfigure(CredentialPolicy(name: "a", kind: .jwt(other))).isEmpty)
  }
}

extension JWTMint {
  fileprivate func line(for peer: Peer, at now: Instant) throws(OpenSSLError) -> [UInt8] { try issue(for: peer, at: now).line }
}
