import CFuzzer
import Signing

@_cdecl("AWSChunkedFuzz_main")
public func start(_ argc: Int32, _ argv: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Int32 {
  fuzz_run(argc, argv) { bytes, count in
    check(Array(UnsafeRawBufferPointer(start: bytes, count: count)))
    return 0
  }
}

private struct Signed: Equatable {
  var output: [UInt8] = []
  var error: BodyTransformError?

  /// Pieces of `step` bytes.
  init(_ input: [UInt8], step: Int, trailers: [[UInt8]]?) {
    let scope = SigningScope(service: Array("s3".utf8), region: Array("us-east-1".utf8))
    let time = SigningTime(1_369_353_600)
    guard let key = try? SigningKey(secret: [1, 2, 3], for: scope, on: time.day) else { return }
    let transform = ChunkSignatures(
      key: key, scope: scope, time: time, seed: [UInt8](repeating: 0x61, count: 64), announced: nil, trailers: trailers)
    var index = 0
    repeat {
      let end = min(index + step, input.count)
      input[index..<end].withUnsafeBytes { piece in
        do throws(BodyTransformError) { try transform.take(piece, isLast: end == input.count, into: &output) } catch {
          self.error = error
        }
      }
      index = end
      // What is kept back is bounded, and nothing is made up.
      precondition(output.count <= index, "more than came")
    } while index < input.count && error == nil
    if error != nil { output = [] }
  }
}

/// Every way to cut the input gives the same output or error. The output has the input's length, differs from it in signatures alone, and
/// is taken again.
private func check(_ input: [UInt8]) {
  for trailers in [nil, [Array("a".utf8), Array("x-amz-checksum-crc32".utf8)]] as [[[UInt8]]?] {
    let whole = Signed(input, step: max(input.count, 1), trailers: trailers)
    for step in [1, 2, 3, 7, 64] {
      let pieces = Signed(input, step: step, trailers: trailers)
      precondition(pieces == whole, "in steps of \(step): \(pieces), whole: \(whole)")
    }
    guard whole.error == nil else { continue }
    precondition(whole.output.count == input.count)
    let changed = zip(whole.output, input).filter { $0 != $1 }
    precondition(changed.allSatisfy { isHex($0) && isHex($1) })
    let again = Signed(whole.output, step: 5, trailers: trailers)
    precondition(again == whole, "signed again: \(again)")
  }
}

private func isHex(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte | 0x20) }
