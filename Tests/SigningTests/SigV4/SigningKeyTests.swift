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
      secret: Array("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".utf8), for: scope("iam"), on: Array("20120215".utf8)[...])
    var text: [UInt8] = []
    text.append(hex: key.bytes)
    #expect(String(decoding: text, as: UTF8.self) == "f4780e2d9f65fa895f9c67b32ce1baf0b0d8a43505a000a1a9e090d414db404d")
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
        #expect(try key.bytes == SigningKey(secret: Array("secret".utf8), for: wanted, on: one.day).bytes)
        seen.insert(key.bytes)
      }
    }
    #expect(seen.count == 40)
    let first = try keys.key(for: scope("s3"), at: one).bytes
    #expect(try keys.key(for: scope("s3"), at: SigningTime(1_440_938_161)).bytes == first)
    #expect(try keys.key(for: scope("s3"), at: two).bytes != first)
    #expect(try keys.key(for: scope("s3", "eu-west-1"), at: one).bytes != first)
    #expect(try keys.key(for: scope("s3"), at: one).bytes == first)
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
