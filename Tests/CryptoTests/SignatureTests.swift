import Crypto
import Testing

/// Signatures as JWS has them: known answers of the RFCs, and every algorithm with every kind of key.
@Suite struct SignatureTests {
  /// RFC 8410 section 7: the head of an Ed25519 key in PKCS #8, which the 32 bytes of the key follow.
  private static let ed25519Head: [UInt8] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
  ]

  @Test func `an Ed25519 signature is that of RFC 8037 appendix A-4`() throws {
    let secret = try #require(Base64.decodeURL("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A".utf8))
    let body = String(decoding: Base64.encode(Self.ed25519Head + secret), as: UTF8.self)
    let key = try PrivateKey(pem: Array("-----BEGIN PRIVATE KEY-----\n\(body)\n-----END PRIVATE KEY-----\n".utf8))
    #expect(key.jwsAlgorithms == [.edDSA])
    let message = Array("eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc".utf8)
    let expected = "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
    let signature = try key.sign(message, as: .edDSA)
    #expect(String(decoding: Base64.encodeURL(signature), as: UTF8.self) == expected)
    #expect(key.verify(signature, of: message, as: .edDSA))
    #expect(!key.verify(signature, of: message + [0], as: .edDSA))
  }

  @Test func `an HMAC is that of RFC 7515 appendix A-1`() throws {
    let key = try #require(
      Base64.decodeURL("AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow".utf8))
    let message =
      "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    let code = try HMACSHA256.code(of: Array(message.utf8), key: key)
    #expect(String(decoding: Base64.encodeURL(code), as: UTF8.self) == "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
  }

  @Test func `an HMAC is that of RFC 4231, for keys shorter and longer than a block`() throws {
    func hex(_ bytes: [UInt8]) -> String {
      bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
    let table: [(key: [UInt8], message: String, code: String)] = [
      (
        Array(repeating: 0x0b, count: 20), "Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
      ),
      (
        Array("Jefe".utf8), "what do ya want for nothing?", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
      ),
      (
        Array(repeating: 0xaa, count: 131), "Test Using Larger Than Block-Size Key - Hash Key First",
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
      ),
    ]
    for row in table {
      let code = try HMACSHA256.code(of: Array(row.message.utf8), key: row.key)
      #expect(hex(code) == row.code)
    }
  }

  @Test func `each kind of key has its algorithms, and a signature has the length of its algorithm`() throws {
    let table: [(key: PrivateKey, algorithms: [PrivateKey.JWSAlgorithm], size: Int)] = [
      (try .generateRSA(bits: 2048), [.rs256, .rs384, .rs512, .ps256, .ps384, .ps512], 256),
      (try .generateP256(), [.es256], 64),
      (try .generateP384(), [.es384], 96), (try .generateEd25519(), [.edDSA], 64),
    ]
    let message = Array("header.payload".utf8)
    for row in table {
      #expect(row.key.jwsAlgorithms == row.algorithms)
      for algorithm in PrivateKey.JWSAlgorithm.allCases {
        guard row.algorithms.contains(algorithm) else {
          #expect(throws: OpenSSLError.self) { try row.key.sign(message, as: algorithm) }
          continue
        }
        // ECDSA's numbers are sometimes short; the signature never is.
        for _ in 0..<(row.size == 256 ? 1 : 40) {
          let signature = try row.key.sign(message, as: algorithm)
          #expect(signature.count == row.size, "\(algorithm)")
          #expect(row.key.verify(signature, of: message, as: algorithm), "\(algorithm)")
          #expect(!row.key.verify(signature, of: message + [0], as: algorithm), "\(algorithm)")
          #expect(!row.key.verify(Array(signature.dropLast()), of: message, as: algorithm), "\(algorithm)")
        }
      }
    }
  }

  @Test func `the two paddings of RSA are told apart`() throws {
    let key = try PrivateKey.generateRSA(bits: 2048)
    let message = Array("header.payload".utf8)
    let plain = try key.sign(message, as: .rs256)
    let probabilistic = try key.sign(message, as: .ps256)
    #expect(!key.verify(plain, of: message, as: .ps256))
    #expect(!key.verify(probabilistic, of: message, as: .rs256))
    #expect(try key.sign(message, as: .rs256) == plain)
    #expect(try key.sign(message, as: .ps256) != probabilistic)
  }
}
