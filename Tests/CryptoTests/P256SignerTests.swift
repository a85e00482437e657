import Testing

@testable import Crypto

@Suite struct P256SignerTests {
  @Test func `every signature of one context is verified, whatever zeros it begins with`() throws {
    let key = try PrivateKey.generateP256()
    let signer = try P256Signer(key)
    var signatures: Set<[UInt8]> = []
    for number in 0..<600 {
      let message = Array("message \(number)".utf8)
      let signature = try signer.sign(message)
      #expect(signature.count == 64)
      #expect(key.verify(signature, of: message, as: .es256))
      #expect(!key.verify(signature, of: message + [0], as: .es256))
      signatures.insert(signature)
    }
    #expect(signatures.count == 600)
  }

  @Test func `a signature in DER becomes two numbers of 32 bytes, and nothing else does`() {
    let full = [UInt8](repeating: 0x7f, count: 32)
    let high = [0] + [UInt8](repeating: 0xff, count: 32)
    func der(_ r: [UInt8], _ s: [UInt8], after: [UInt8] = []) -> ArraySlice<UInt8> {
      let body = [2, UInt8(r.count)] + r + [2, UInt8(s.count)] + s + after
      return ([0x30, UInt8(body.count)] + body)[...]
    }
    let zeros = [UInt8](repeating: 0, count: 31)
    #expect(P256Signer.joined(der(full, full)) == full + full)
    #expect(P256Signer.joined(der(high, [1])) == high.dropFirst() + zeros + [1])
    #expect(P256Signer.joined(der([5], high)) == zeros + [5] + high.dropFirst())
    for wrong in [
      [], [0x30], [0x30, 0], der(full, full).dropLast(), der(full, full, after: [0]), der([], full), der(full, []),
      der([1] + full, full), [0x31] + der(full, full).dropFirst(), [0x30, 6, 2, 9, 1, 2, 1, 1], [0x30, 3, 2, 1, 1],
    ] as [ArraySlice<UInt8>] {
      #expect(P256Signer.joined(wrong) == nil, "\(Array(wrong))")
    }
  }

  @Test func `keys of other kinds have neither point nor signer`() throws {
    let key = try PrivateKey.generateRSA(bits: 2048)
    #expect(key.p256Point == nil)
    #expect(throws: OpenSSLError.self) { try P256Signer(key) }
  }

  @Test func `the point is the one in the public key`() throws {
    for _ in 0..<20 {
      let key = try PrivateKey.generateP256()
      let point = try #require(key.p256Point)
      #expect(Array(key.publicKeyInfo.suffix(65)) == [4] + point.x + point.y)
    }
  }
}
