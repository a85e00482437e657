import Crypto
import Testing

@testable import Signing

/// Amazon S3 API Reference, "Signature Calculations for the Authorization Header: Transferring Payload in Multiple Chunks" and "...
/// Including Trailing Headers": the examples.
@Suite("Chunks that are signed again")
struct ChunkSignatureTests {
  private static let scope = SigningScope(service: Array("s3".utf8), region: Array("us-east-1".utf8))
  /// 20130524T000000Z
  private static let time = SigningTime(1_369_353_600)
  private static let secret = Array("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".utf8)
  private static let dead = String(repeating: "d", count: 64)

  private static func seed(_ fields: [String], _ declared: String) throws -> [UInt8] {
    let lines = fields.map { $0 + "\r\n" }.joined()
    let signature = sigV4(
      Array("PUT".utf8), Array("/examplebucket/chunkObject.txt".utf8), Array(lines.utf8), scope, Array(declared.utf8),
      writesPayload: true, host: "s3.amazonaws.com", time: time.seconds)
    return try signature.signature(by: SigningKey(secret: secret, for: scope, on: time.day))
  }

  static func transform(seed: [UInt8], announced: Int64?, trailers: [String]?) throws -> ChunkSignatures {
    ChunkSignatures(
      key: try SigningKey(secret: secret, for: scope, on: time.day), scope: scope, time: time, seed: seed,
      announced: announced, trailers: trailers?.map { Array($0.utf8) })
  }

  static func chunk(_ data: String, _ signature: String = dead) -> String {
    String(data.utf8.count, radix: 16) + ";chunk-signature=\(signature)\r\n" + (data.isEmpty ? "" : data + "\r\n")
  }

  private static let large = String(repeating: "a", count: 65_536)
  private static let small = String(repeating: "a", count: 1_024)

  private func signed(_ transform: ChunkSignatures, _ body: String, step: Int) throws -> String {
    let bytes = Array(body.utf8)
    var output: [UInt8] = []
    var index = 0
    repeat {
      let end = min(index + step, bytes.count)
      try bytes[index..<end].withUnsafeBytes { try transform.take($0, isLast: end == bytes.count, into: &output) }
      index = end
    } while index < bytes.count
    return String(decoding: output, as: UTF8.self)
  }

  @Test("have the signatures of the S3 pages", arguments: [1, 7, 1_000, 66_000, 1 << 20])
  func streaming(step: Int) throws {
    let seed = try Self.seed(
      [
        "x-amz-storage-class:REDUCED_REDUNDANCY", "Content-Encoding:aws-chunked", "x-amz-decoded-content-length:66560",
        "Content-Length:66824",
      ], "STREAMING-AWS4-HMAC-SHA256-PAYLOAD")
    #expect(String(decoding: seed, as: UTF8.self) == "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9")
    let transform = try Self.transform(seed: seed, announced: 66_560, trailers: nil)
    let body = Self.chunk(Self.large) + Self.chunk(Self.small) + Self.chunk("") + "\r\n"
    #expect(body.utf8.count == 66_824)
    let expected =
      Self.chunk(Self.large, "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648")
      + Self.chunk(Self.small, "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497")
      + Self.chunk("", "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9") + "\r\n"
    #expect(try signed(transform, body, step: step) == expected)
  }

  @Test("have the trailers' signature of the S3 pages", arguments: [1, 7, 1_000, 66_000, 1 << 20])
  func trailer(step: Int) throws {
    let seed = try Self.seed(
      [
        "x-amz-storage-class:REDUCED_REDUNDANCY", "Content-Encoding:aws-chunked", "x-amz-decoded-content-length:66560",
        "x-amz-trailer:x-amz-checksum-crc32c",
      ], "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER")
    #expect(String(decoding: seed, as: UTF8.self) == "106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e")
    let transform = try Self.transform(seed: seed, announced: 66_560, trailers: ["x-amz-checksum-crc32c"])
    func body(_ one: String, _ two: String, _ three: String, _ four: String) -> String {
      Self.chunk(Self.large, one) + Self.chunk(Self.small, two) + Self.chunk("", three)
        + "x-amz-checksum-crc32c:sOO8/Q==\r\nx-amz-trailer-signature:\(four)\r\n\r\n"
    }
    let expected = body(
      "b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2",
      "1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7",
      "2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992",
      "d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435")
    #expect(expected.utf8.count == 66_946)
    #expect(try signed(transform, body(Self.dead, Self.dead, Self.dead, Self.dead), step: step) == expected)
  }

  @Test("may have a trailer that ends with LF and a blank line, as minio-go writes it")
  func bareTrailer() throws {
    func run(_ end: String) throws -> String {
      let transform = try Self.transform(seed: Array(Self.dead.utf8), announced: 1, trailers: ["x-amz-checksum-crc32c"])
      let body = Self.chunk("a") + Self.chunk("")
      let text = try signed(
        transform, body + "x-amz-checksum-crc32c:sOO8/Q==\(end)x-amz-trailer-signature:\(Self.dead)\r\n\r\n", step: 3)
      return String(text.suffix(68))
    }
    #expect(try run("\r\n") == run("\n\r\n"))
  }

  @Test("of several trailers are signed as they come, names in lower case, without white space")
  func severalTrailers() throws {
    func run(_ lines: String) throws -> String {
      let transform = try Self.transform(seed: Array(Self.dead.utf8), announced: nil, trailers: ["a", "b"])
      let text = try signed(transform, Self.chunk("") + lines + "x-amz-trailer-signature:\(Self.dead)\r\n\r\n", step: 100)
      return String(text.suffix(68))
    }
    #expect(try run("A: 1 \r\nb:2\r\n") == run("a:1\r\nB:\t2\r\n"))
    #expect(try run("a:1\r\nb:2\r\n") != run("b:2\r\na:1\r\n"))
    #expect(try run("").hasSuffix("\r\n\r\n"))
  }

  /// Whatever is wrong, nothing of the chunk in question goes on, and the length of what went on is that of what came.
  @Test("are refused", arguments: BadChunks.all)
  func bad(_ bad: BadChunks) throws {
    for step in [1, 5, 1 << 21] {
      let transform = try Self.transform(
        seed: Array(Self.dead.utf8), announced: bad.announced, trailers: bad.trailers)
      #expect(throws: bad.error, "\(bad), \(step)") { try signed(transform, bad.body, step: step) }
    }
  }

  @Test("are kept in little more memory than they have, and only until they go on", arguments: [1, 300, 1 << 10, 32 << 10])
  func memory(step: Int) throws {
    for size in [8 << 10, 64 << 10, (64 << 10) + 1, 1 << 20] {
      let transform = try Self.transform(seed: Array(Self.dead.utf8), announced: nil, trailers: nil)
      let bytes = Array((Self.chunk(String(repeating: "x", count: size)) + Self.chunk("1")).utf8)
      var (output, most, index) = ([UInt8](), 0, 0)
      while index < bytes.count {
        let end = min(index + step, bytes.count)
        try bytes[index..<end].withUnsafeBytes { try transform.take($0, isLast: false, into: &output) }
        most = max(most, transform.held + output.capacity)
        output.removeAll(keepingCapacity: output.capacity <= 16 << 10)
        index = end
      }
      // The pages that the array shares with its header, and what stays for heads.
      #expect(most >= size && most <= size + (48 << 10), "\(size): \(most)")
      #expect(transform.held <= 16 << 10, "\(size): \(transform.held)")
    }
  }

  @Test("of one MiB go on, larger ones do not")
  func limit() throws {
    let data = String(repeating: "x", count: ChunkSignatures.chunkLimit)
    let fits = try Self.transform(seed: Array(Self.dead.utf8), announced: nil, trailers: nil)
    let body = Self.chunk(data) + Self.chunk("") + "\r\n"
    #expect(try signed(fits, body, step: 100_000).utf8.count == body.utf8.count)
    let larger = try Self.transform(seed: Array(Self.dead.utf8), announced: nil, trailers: nil)
    #expect(throws: BodyTransformError.tooLarge("a chunk is larger than 1 MiB")) {
      try signed(larger, Self.chunk(data + "x"), step: 100_000)
    }
  }

  @Test("take a time that does not depend on how many trailers an app names")
  func manyTrailers() throws {
    let names = Array(repeating: "x", count: 25_000) + Array(repeating: "b", count: 5_000)
    let transform = try Self.transform(seed: Array(Self.dead.utf8), announced: nil, trailers: names)
    let body = Self.chunk("") + String(repeating: "b:\r\n", count: 4_000)
    var output: [UInt8] = []
    let time = try ContinuousClock().measure {
      try Array(body.utf8).withUnsafeBytes { try transform.take($0, isLast: false, into: &output) }
    }
    // Looking for each among all takes several seconds without optimization.
    #expect(time < .seconds(1), "\(time)")
  }
}
