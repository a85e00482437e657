import Forwarding
import HTTPWire
import Testing

@Suite struct SecretInURLTests {
  /// An origin that knows the secret chooses the bytes, and other requests wait meanwhile.
  @Test(arguments: ["a", "aab", "%2561"])
  func `the time to look for a secret in a long URL is linear`(_ part: String) throws {
    let url = try HTTPURL("https://cdn.test/" + String(repeating: part, count: (64 << 10) / part.utf8.count))
    let plain = part.replacing("%25", with: "%").replacing("%61", with: "a")
    let secret = Array(String(repeating: plain, count: 4_000).utf8)
    let time = ContinuousClock().measure {
      #expect(!SecretInURL.isSecret(secret + [UInt8(ascii: "!")], in: url))
      #expect(SecretInURL.isSecret(secret, in: url))
    }
    #expect(time < .seconds(5))
  }

  @Test func `a secret in a URL is found wherever it begins`() throws {
    for secret in ["abababac", "aaaaaaab", "abcabcabd", "12345678"] {
      for before in ["", "a", "ab", "aba", "abab", "aaaa", "abcabc", "1", "1234567"] {
        let url = try HTTPURL("https://cdn.test/" + before + secret + "/x")
        #expect(SecretInURL.isSecret(Array(secret.utf8), in: url), "\(url)")
        #expect(!SecretInURL.isSecret(Array((secret + "!").utf8), in: url), "\(url)")
      }
    }
    #expect(try !SecretInURL.isSecret(Array("1234567".utf8), in: HTTPURL("https://cdn.test/1234567")))
  }

  @Test(
    arguments: [
      ("Authorization: Bearer abcd-5ecret", "abcd-5ecret", true), ("Authorization: Bearer abcd-5ecret", "abcd-5ecreT", false),
      ("Cookie: sid=abcd-5ecret", "abcd-5ecret", true), ("Cookie: sid=abcd-5ecret; v=1", "abcd-5ecret", true),
      ("Cookie: session-id=abcd-5ecret", "session-id", false),
      ("Authorization: Token token=\"abcd-5ecret\"", "abcd-5ecret", true),
      ("Authorization: ApiKey-of-ours abcd-5ecret client-one", "abcd-5ecret", true),
      ("Authorization: ApiKey-of-ours abcd-5ecret client-one", "ApiKey-of-ours", false),
      ("X-Key: abcd-5ecret", "abcd-5ecret", true), ("X-Key: YWJjZC01ZWNyZXQ=", "YWJjZC01ZWNyZXQ=", true),
      ("X-Key: abcd-5ecret", "abcd%2D5ecret", true), ("X-Key: abcd-5ecret", "abcd%252D5ecret", true),
      ("X-Key: abcd-5ecret", "abcd%25252D5ecret", true), ("X-Key: 5ecret", "5ecret", false), ("X-Key:", "x", false),
      // All of a value, whatever divides it.
      ("X-Key: part1,ab;cd,5ecret;34", "part1,ab;cd,5ecret;34", true),
      ("X-Key: part1,ab;cd,5ecret;34", "part1%2Cab%3Bcd%2C5ecret%3B34", true),
      ("X-Key: part1,ab;cd,5ecret;34", "part1,ab", false), ("Authorization: Key a,b;c'5ecret", "a,b;c'5ecret", true),
      ("Authorization: Key k=a,b;c'5ecret", "a,b;c'5ecret", true),
      ("Authorization: Key k=\"a b,5ecret\"", "a%20b,5ecret", true),
      // What precedes an equals sign may be no name.
      ("X-Key: AbCd5ecret1234=x", "AbCd5ecret1234=x", true), ("X-Key: AbCd5ecret1234=x", "AbCd5ecret1234", false),
      ("X-Key: AbCd5ecret1234 xyz", "AbCd5ecret1234%20xyz", true), ("X-Key: AbCd5ecret1234 xyz", "AbCd5ecret1234+xyz", true),
      ("X-Key: a word+5ecret/1", "a+word%2B5ecret%2F1", true), ("X-Key: a word+5ecret/1", "a%2Bword%252B5ecret%252F1", true),
      ("X-Key: a+word+5ecret", "a+word+5ecret", true),
    ])
  func `a credential's secret is found in a URL`(_ line: String, _ text: String, _ isFound: Bool) throws {
    let line = Array((line + "\r\n").utf8)
    for url in ["https://a.test/\(text)", "https://a.test/?u=\(text)&v"]
      + (text.contains { "%=+,;'".contains($0) } ? [] : ["https://\(text).test/"])
    {
      let url = try HTTPURL(url)
      let isHost = url.host.contains("5ecret")
      #expect(
        line.withUnsafeBytes { SecretInURL.isSecret(of: $0, in: url) } == (isFound || isHost && text == "abcd-5ecreT"),
        "\(url.text)")
    }
  }

  private static let signature = "5ecret" + String(repeating: "0123456789abcdef", count: 2)

  @Test(
    arguments: [
      ("Authorization: Bearer \(signature)", nil, signature, true), ("DPoP: \(signature)", nil, signature, true),
      ("Signature: sig1=:\(signature)=:", nil, signature + "=", true),
      // What else a signer writes is in others' URLs as well.
      ("X-Sign: 20261122T230000Z \(signature)", nil, "20261122T230000Z", false),
      ("X-Sign: 20261122T230000Z \(signature)", nil, signature, true),
      (
        "Authorization: AWS4 Credential=AKIA5ecret/20261122/eu/s3/aws4_request, SignedHeaders=host, Signature=\(signature)",
        "Signature", "AKIA5ecret/20261122/eu/s3/aws4_request", false
      ),
      ("Authorization: AWS4 Credential=x, Signature=\(signature)", "Signature", signature, true),
      ("Authorization: Digest uri=\"/path/5ecret/x\", response=\"\(signature)\"", "response", "path/5ecret/x", false),
    ] as [(String, String?, String, Bool)])
  func `of what a signer writes, its proof is found in a URL`(
    _ line: String, _ parameter: String?, _ text: String, _ isFound: Bool
  ) throws {
    let url = try HTTPURL("https://a.test/?u=\(text)&v")
    let found = Array((line + "\r\n").utf8).withUnsafeBytes {
      SecretInURL.isProof(of: $0, parameter.map { Array($0.utf8) }, in: url)
    }
    #expect(found == isFound)
  }
}
