import Testing

@testable import Crypto

private func hex(_ text: String) -> [UInt8] {
  stride(from: 0, to: text.utf8.count, by: 2).map { offset in
    let start = text.index(text.startIndex, offsetBy: offset)
    return UInt8(text[start..<text.index(start, offsetBy: 2)], radix: 16) ?? 0
  }
}

@Suite struct CryptoTests {
  @Test func `SHA-256 gives the published values`() {
    // FIPS 180-2 appendix B.1.
    #expect(
      SHA256.digest(Array("abc".utf8)) == hex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"))
    #expect(SHA256.digest([]) == hex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"))
  }

  @Test(arguments: [0, 1, 15, 16, 17, 4096])
  func `AES-GCM opens what it sealed`(_ size: Int) throws {
    let key = try SecureRandom.bytes(32)
    let plain = try SecureRandom.bytes(size)
    let extra = Array("record".utf8)
    let box = try AESGCM.seal(plain, key: key, authenticating: extra)
    #expect(box.count == size + 28)
    #expect(try AESGCM.open(box, key: key, authenticating: extra) == plain)
    #expect(try AESGCM.seal(plain, key: key, authenticating: extra) != box)
  }

  @Test func `AES-GCM refuses another key, other extra data, each flipped byte and a cut box`() throws {
    let key = try SecureRandom.bytes(32)
    let box = try AESGCM.seal(Array("token".utf8), key: key)
    #expect(throws: OpenSSLError.self) { try AESGCM.open(box, key: SecureRandom.bytes(32)) }
    #expect(throws: OpenSSLError.self) { try AESGCM.open(box, key: key, authenticating: [1]) }
    for index in box.indices {
      var changed = box
      changed[index] ^= 1
      #expect(throws: OpenSSLError.self) { try AESGCM.open(changed, key: key) }
    }
    for count in 0..<28 { #expect(throws: OpenSSLError.self) { try AESGCM.open(Array(box.prefix(count)), key: key) } }
    #expect(throws: OpenSSLError.self) { try AESGCM.seal([1], key: [1, 2, 3]) }
  }

  @Test func `AES-GCM gives the standard's values`() throws {
    // NIST GCM test case 14 (256-bit zero key, zero nonce, one zero block).
    let box = [UInt8](repeating: 0, count: 12) + hex("cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919")
    #expect(try AESGCM.open(box, key: [UInt8](repeating: 0, count: 32)) == [UInt8](repeating: 0, count: 16))
  }

  @Test func `base64 has one spelling for a value`() {
    let samples = [
      "": "", "f": "Zg==", "fo": "Zm8=", "foo": "Zm9v", "foob": "Zm9vYg==", "fooba": "Zm9vYmE=", "foobar": "Zm9vYmFy",
    ]
    for (plain, text) in samples {
      #expect(Base64.encode(Array(plain.utf8)) == Array(text.utf8))
      #expect(Base64.decode(text.utf8) == Array(plain.utf8))
    }
    #expect(Base64.encodeURL([0xFB, 0xFF]) == Array("-_8".utf8))
    #expect(Base64.decodeURL("-_8".utf8) == [0xFB, 0xFF])
    for wrong in ["Zg", "Zg=", "Zh==", "Zm9v=", "Z m9", "Zm9v\n", "=", "====", "-_8="] {
      #expect(Base64.decode(wrong.utf8) == nil, "\(wrong)")
    }
    for wrong in ["+/8", "A", "Zg=="] { #expect(Base64.decodeURL(wrong.utf8) == nil, "\(wrong)") }
  }

  @Test func `comparison in constant time compares correctly`() {
    #expect(constantTimeEquals([1, 2], [1, 2]))
    #expect(constantTimeEquals([], []))
    #expect(!constantTimeEquals([1, 2], [1, 3]))
    #expect(!constantTimeEquals([1, 2], [1, 2, 3]))
  }

  @Test func `a key signs as JWS wants it, and only with its own algorithm`() throws {
    let message = Array("header.payload".utf8)
    let curve = try PrivateKey.generateP256()
    let signature = try curve.sign(message, as: .es256)
    #expect(signature.count == 64)
    #expect(curve.verify(signature, of: message, as: .es256))
    #expect(!curve.verify(signature, of: message + [0], as: .es256))
    #expect(throws: OpenSSLError.self) { try curve.sign(message, as: .rs256) }

    let rsa = try PrivateKey.generateRSA(bits: 2048)
    let long = try rsa.sign(message, as: .rs256)
    #expect(long.count == 256)
    #expect(rsa.verify(long, of: message, as: .rs256))
    #expect(!rsa.verify(long, of: [], as: .rs256))
    #expect(try PrivateKey.generateRSA(bits: 1024).jwsAlgorithm == nil)
  }

  @Test func `a PEM key is read with its passphrase, and without a terminal`() throws {
    let key = try PrivateKey.generateP256()
    #expect(try PrivateKey(pem: key.pem()).publicKeyInfo == key.publicKeyInfo)
    let sealed = try key.pem(passphrase: Array("open".utf8))
    #expect(try PrivateKey(pem: sealed, passphrase: Array("open".utf8)).publicKeyInfo == key.publicKeyInfo)
    for wrong in [nil, Array("shut".utf8), []] {
      #expect(throws: OpenSSLError.self) { try PrivateKey(pem: sealed, passphrase: wrong) }
    }
    #expect(throws: OpenSSLError.self) { try PrivateKey(pem: Array("no key".utf8)) }
  }
}
