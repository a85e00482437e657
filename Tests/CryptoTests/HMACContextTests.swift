import Testing

@testable import Crypto

@Suite("HMAC with a key that is used often")
struct HMACContextTests {
  @Test("is HMAC, for keys and messages of any length")
  func same() throws {
    for keyLength in [0, 1, 32, 63, 64, 65, 200] {
      let key = (0..<keyLength).map { UInt8(truncatingIfNeeded: $0 * 7) }
      let context = try HMACContext(key: key)
      for length in [0, 1, 55, 64, 200, 5_000] {
        let message = [UInt8](repeating: 0x61, count: length)
        #expect(try context.code(of: message) == HMACSHA256.code(of: message, key: key))
      }
    }
  }

  @Test("does not show the key")
  func hidden() throws {
    let context = try HMACContext(key: Array("s3cr3t".utf8))
    #expect("\(context)" == "<HMAC key>")
    #expect(Array(Mirror(reflecting: context).children).isEmpty)
  }
}
