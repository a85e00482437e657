import Testing

@testable import Signing

@Suite("Signing keys")
struct SigningKeyTests {
  private func scope(_ service: String, _ region: String = "us-east-1") -> SigningScope {
    SigningScope(service: Array(service.utf8), region: Array(region.utf8))
  }

  @Test("are derived as in the AWS General Reference")
  func derived() throws {
    let key = try SigningKey(
      secret: Array("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".utf8), for: scope("iam"), on: Array("20150830".utf8)[...])
    // Its string to sign and its signature.
    let text =
      "AWS4-HMAC-SHA256\n20150830T123600Z\n20150830/us-east-1/iam/aws4_request\n"
      + "f536975d06c0309214f805bb90ccff089219ecd68b2577efef23edd43b7e1a59"
    #expect(
      try String(decoding: key.sign(Array(text.utf8)), as: UTF8.self)
        == "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7")
  }

  @Test("of one day, region and service are not used for another")
  func kept() throws {
    var keys = SigningKeys(secret: Array("secret".utf8))
    let (one, two) = (SigningTime(1_440_938_160), SigningTime(1_440_938_160 + 86_400))
    var seen: Set<[UInt8]> = []
    // More than are kept, and twice.
    for _ in 0..<2 {
      for number in 0..<40 {
        let wanted = scope("service\(number)")
        let key = try keys.key(for: wanted, at: one)
        #expect(try key.sign([1]) == SigningKey(secret: Array("secret".utf8), for: wanted, on: one.day).sign([1]))
        seen.insert(try key.sign([1]))
      }
    }
    #expect(seen.count == 40)
    let first = try keys.key(for: scope("s3"), at: one).sign([1])
    #expect(try keys.key(for: scope("s3"), at: SigningTime(1_440_938_161)).sign([1]) == first)
    #expect(try keys.key(for: scope("s3"), at: two).sign([1]) != first)
    #expect(try keys.key(for: scope("s3", "eu-west-1"), at: one).sign([1]) != first)
    #expect(try keys.key(for: scope("s3"), at: one).sign([1]) == first)
  }

  @Test("are never shown")
  func hidden() throws {
    let keys = SigningKeys(secret: Array("wJalr".utf8))
    let key = try SigningKey(secret: Array("wJalr".utf8), for: scope("s3"), on: Array("20150830".utf8)[...])
    var text = ""
    dump((keys, key), to: &text)
    #expect("\(keys) \(key) \(text)".contains("wJalr") == false)
    #expect(!text.contains("bytes"))
  }
}
