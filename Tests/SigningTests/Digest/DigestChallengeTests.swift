import Credentials
import Testing

@testable import Signing

@Suite("Digest challenges")
struct DigestChallengeTests {
  @Test(
    "say what they say",
    arguments: [
      (#"realm="r", nonce="n""#, "r n MD5 legacy"),
      (#"nonce=n, realm=r, qop=auth, algorithm=md5, opaque="o p""#, "r n MD5 request o p"),
      (#"realm="r", nonce="n", qop="auth-int""#, "r n MD5 body"),
      (#"realm="r", nonce="n", qop="auth-int , auth""#, "r n MD5 request"),
      (#"realm="r", nonce="n", qop="x, AUTH-INT""#, "r n MD5 body"),
      (#"realm="r", nonce="n", qop="""#, "r n MD5 legacy"), (#"realm="r", nonce="n", qop=" , ""#, "r n MD5 legacy"),
      (#"realm="", nonce="n", algorithm="SHA-256-sess", qop=auth"#, " n SHA-256-sess request"),
      (#"realm="r", nonce="n", algorithm=SHA-512-256, qop=auth, stale=TRUE"#, "r n SHA-512-256 request stale"),
      (#"realm="r", nonce="n", stale=false, userhash=True, charset="utf-8""#, "r n MD5 legacy userhash utf8"),
      (#"realm="r", nonce="n", stale="true", userhash=false, charset=latin1, domain="/a /b", x=y"#, "r n MD5 legacy stale"),
    ])
  func meaning(parameters: String, expected: String) throws {
    let challenge = try #require(Lines("WWW-Authenticate: Digest \(parameters)").best())
    let rules = challenge.rules
    var words = [String(decoding: rules.realm, as: UTF8.self), String(decoding: challenge.nonce, as: UTF8.self)]
    words += [rules.algorithm.rawValue + (rules.isSession ? "-sess" : ""), "\(rules.protection)"]
    if let opaque = challenge.opaque { words.append(String(decoding: opaque, as: UTF8.self)) }
    words += [challenge.isStale ? "stale" : nil, rules.hashesUserName ? "userhash" : nil, rules.isUTF8 ? "utf8" : nil]
      .compactMap { $0 }
    #expect(words.joined(separator: " ") == expected)
    #expect(rules.namesAlgorithm == parameters.contains("algorithm"))
  }

  @Test(
    "that cannot be answered are none",
    arguments: [
      "Basic realm=\"r\"", "Digest", "Digest realm=r", "Digest nonce=n", "Digest realm=r, nonce=\"\"",
      "Digest realm=r, nonce=n, algorithm=SHA-1", "Digest realm=r, nonce=n, algorithm=-sess",
      "Digest realm=r, nonce=n, algorithm=\"\"",
      "Digest realm=r, nonce=n, algorithm=SHA-512", "Digest realm=r, nonce=n, qop=token", "Digest realm=r, nonce=n, nonce=m",
      "Digest realm=\"r, nonce=\"n\"", "Digest abc=, realm=r, nonce=n", "Digester realm=r, nonce=n",
      "Digest realm=r, nonce=\"\(String(repeating: "n", count: 6_144))\"",
      "Digest realm=r, nonce=\"\(String(repeating: "\\\"", count: 3_072))\"",
      "Digest realm=r, nonce=n, opaque=\"\(String(repeating: "o", count: 60 << 10))\"",
      "Digest realm=r, nonce=n, " + (0..<100).map { "p\($0)=x" }.joined(separator: ", "),
    ])
  func unanswerable(value: String) {
    #expect(Lines("WWW-Authenticate: " + value).best() == nil)
    // It hides no other.
    let nonce = Lines("WWW-Authenticate: " + value, "WWW-Authenticate: Digest realm=r, nonce=good").best()?.nonce
    #expect(nonce == Array("good".utf8))
  }

  @Test("of many, the one whose algorithm the configuration names first is answered")
  func best() {
    func nonce(_ algorithms: [DigestPolicy.Algorithm], _ lines: [String]) -> String? {
      let joined = Lines("WWW-Authenticate: " + lines.joined(separator: ", ")).best(algorithms)
      let apart = Lines(lines.map { "WWW-Authenticate: " + $0 }.joined(separator: "\r\n")).best(algorithms)
      #expect(joined == apart)
      return joined.map { String(decoding: $0.nonce, as: UTF8.self) }
    }
    let all = [
      "Basic realm=r", "Digest realm=r, nonce=old", "Digest realm=r, nonce=unknown, algorithm=SHA3",
      "Digest realm=r, nonce=md5, qop=auth, algorithm=MD5", "Digest realm=r, nonce=sha, qop=auth-int, algorithm=SHA-256-sess",
      "Digest realm=r, nonce=sha2, qop=\"auth,auth-int\", algorithm=SHA-256", "Negotiate",
      "Digest realm=r, nonce=sha3, qop=auth, algorithm=SHA-256",
    ]
    #expect(nonce([.sha512t256, .sha256, .md5], all) == "sha2")
    #expect(nonce([.md5, .sha256], all) == "md5")
    #expect(nonce([.sha256], all) == "sha2")
    #expect(nonce([.sha512t256], all) == nil)
    #expect(nonce([.md5], ["Basic realm=r", "Digest realm=r, nonce=old"]) == "old")
    #expect(nonce([.md5], ["Basic realm=r", "NTLM", "Negotiate"]) == nil)
  }

  @Test("Proxy-Authenticate is another field")
  func proxies() {
    let lines = Lines("Proxy-Authenticate: Digest realm=r, nonce=n", "WWW-Authenticate: Basic realm=r")
    #expect(lines.best() == nil)
    let found = lines.bytes.withUnsafeBytes {
      DigestChallenge.best(in: lines.fields, named: .proxyAuthenticate, of: $0, among: [.md5])
    }
    #expect(found?.nonce == Array("n".utf8))
  }
}
