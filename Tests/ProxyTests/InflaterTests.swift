import CZlib
import EventIO
import Forwarding
import Testing

@testable import Proxy

@Suite struct InflaterTests {
  /// zlib's window bits: the format around the data.
  enum Wrapping: Int32, CaseIterable { case gzip = 31, zlib = 15, raw = -15 }

  private static func deflated(_ bytes: [UInt8], _ wrapping: Wrapping) -> [UInt8] {
    var stream = z_stream()
    let size = Int32(MemoryLayout<z_stream>.size)
    #expect(deflateInit2_(&stream, 9, Z_DEFLATED, wrapping.rawValue, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size) == Z_OK)
    defer { deflateEnd(&stream) }
    var input = bytes
    var output = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(bytes.count))) + 64)
    let count = input.withUnsafeMutableBufferPointer { input in
      output.withUnsafeMutableBufferPointer { output in
        stream.next_in = input.baseAddress
        stream.avail_in = UInt32(input.count)
        stream.next_out = output.baseAddress
        stream.avail_out = UInt32(output.count)
        #expect(deflate(&stream, Z_FINISH) == Z_STREAM_END)
        return output.count - Int(stream.avail_out)
      }
    }
    return Array(output[..<count])
  }

  /// Feeds the body in pieces of this size, and collects the output.
  private static func inflated(_ body: [UInt8], _ coding: ContentCoding, piece: Int = .max) throws -> [UInt8] {
    let inflater = try #require(Inflater(coding))
    var result: [UInt8] = []
    func drain() throws {
      while inflater.hasWork { if let block = try inflater.next() { result += Array(block.bytes) } }
    }
    var start = 0
    while start < body.count {
      let end = start + min(piece, body.count - start)
      let block = Block(capacity: end - start)
      body[start..<end].withUnsafeBytes { block.append($0) }
      inflater.feed(block.start..<block.end, of: block)
      try drain()
      start = end
    }
    inflater.end()
    try drain()
    return result
  }

  private static let text = Array(String(repeating: "The quick brown fox. ", count: 5_000).utf8)

  @Test(arguments: Wrapping.allCases, [1, 7, 4_096, Int.max])
  func `what was deflated comes back, whatever pieces it comes in`(_ wrapping: Wrapping, _ piece: Int) throws {
    let coding = wrapping == .gzip ? ContentCoding.gzip : .deflate
    #expect(try Self.inflated(Self.deflated(Self.text, wrapping), coding, piece: piece) == Self.text)
  }

  @Test func `an empty body has no coding, and empty contents are empty`() throws {
    #expect(try Self.inflated([], .gzip).isEmpty)
    #expect(try Self.inflated(Self.deflated([], .gzip), .gzip).isEmpty)
  }

  @Test func `gzip members one after the other are one content`() throws {
    let both = Self.deflated(Array("one, ".utf8), .gzip) + Self.deflated(Array("two".utf8), .gzip)
    for piece in [1, Int.max] { #expect(try Self.inflated(both, .gzip, piece: piece) == Array("one, two".utf8)) }
  }

  @Test(arguments: [1, 20, Int.max])
  func `what is cut, damaged or something else is a failure`(_ piece: Int) {
    let whole = Self.deflated(Self.text, .gzip)
    var damaged = whole
    damaged[damaged.count - 6] ^= 1
    for body in [Array(whole.dropLast()), Array(whole.prefix(5)), damaged, Array("plain text".utf8), whole + [0]] {
      #expect(throws: Inflater.Failure.self) { try Self.inflated(body, .gzip, piece: piece) }
    }
  }

  @Test func `what swells more than 200-fold beyond the first MiB is refused, text that packs well is not`() throws {
    let bomb = Self.deflated([UInt8](repeating: 0, count: 8 << 20), .gzip)
    #expect(bomb.count * 200 < 7 << 20)
    #expect(throws: Inflater.Failure.self) { try Self.inflated(bomb, .gzip) }
    let small = [UInt8](repeating: 0, count: 1 << 20)
    #expect(try Self.inflated(Self.deflated(small, .gzip), .gzip) == small)
  }
}
