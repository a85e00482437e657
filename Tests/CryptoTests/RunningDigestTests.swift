import Testing

@testable import Crypto

@Suite struct RunningDigestTests {
  @Test func `pieces give the digest of the whole`() throws {
    let digest = try RunningDigest(.sha256)
    for piece in ["a", "", "bc"] { Array(piece.utf8).withUnsafeBytes { digest.update($0) } }
    #expect(digest.finish() == SHA256.digest(Array("abc".utf8)))
    #expect(digest.finish() == SHA256.digest(Array("abc".utf8)))
  }

  @Test(arguments: [(RunningDigest.Algorithm.sha256, 32), (.sha512, 64), (.md5, 16)])
  func `each algorithm has its length`(_ algorithm: RunningDigest.Algorithm, _ count: Int) throws {
    #expect(try RunningDigest(algorithm).finish().count == count)
  }
}
