import Testing

@testable import Crypto

@Suite("Public keys")
struct PublicKeyTests {
  @Test("the coordinates of a key are its public half, and verify what it signed")
  func verifies() throws {
    let key = try PrivateKey.generateP256()
    let own = try #require(PublicKey(of: key))
    let read = try #require(PublicKey(x: own.x, y: own.y))
    let message = Array("message".utf8)
    let signature = try key.sign(message, as: .es256)
    #expect(own.verifyES256(signature, of: message) && read.verifyES256(signature, of: message))
    #expect(!read.verifyES256(signature, of: message + [0]))
    #expect(!read.verifyES256(Array(signature.dropLast()), of: message))
    let other = try #require(PublicKey(of: try PrivateKey.generateP256()))
    #expect(!other.verifyES256(signature, of: message))
  }

  @Test("what is no point of the curve is no key")
  func refuses() throws {
    let own = try #require(PublicKey(of: try PrivateKey.generateP256()))
    #expect(PublicKey(x: own.y, y: own.x) == nil)
    #expect(PublicKey(x: own.x + [0], y: own.y) == nil)
    #expect(PublicKey(x: own.x, y: Array(own.y.dropLast())) == nil)
    #expect(PublicKey(x: [], y: []) == nil)
    #expect(PublicKey(of: try PrivateKey.generateRSA(bits: 2048)) == nil)
  }
}
