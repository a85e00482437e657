import CFuzzer
import HTTPWire

@_cdecl("ChunkedFuzz_main")
public func start(_ argc: Int32, _ argv: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Int32 {
  fuzz_run(argc, argv) { bytes, count in
    check(Array(UnsafeRawBufferPointer(start: bytes, count: count)))
    return 0
  }
}

private struct Decoded: Equatable {
  var payload: [UInt8] = []
  var consumed = 0
  var isDone = false
  var error: ChunkedError?
  var trailers = ContiguousArray<Field>()
  var trailerBytes = ContiguousArray<UInt8>()

  /// Pieces of `step` bytes.
  init(_ input: [UInt8], step: Int) {
    var decoder = ChunkedDecoder(trailerLimit: 512)
    var start = 0
    while start < input.count, error == nil, !isDone {
      var piece = Array(input[start..<min(start + step, input.count)])
      start += piece.count
      piece.withUnsafeMutableBytes { bytes in
        do throws(ChunkedError) {
          let output = try decoder.decode(bytes)
          precondition(output.consumed <= bytes.count && output.payload.end <= output.consumed)
          precondition(output.state == .done || output.consumed == bytes.count)
          payload += output.payload.bytes(in: UnsafeRawBufferPointer(bytes))
          consumed += output.consumed
          isDone = output.state == .done
        } catch { self.error = error }
      }
    }
    // What the failing call decoded depends on where its input began.
    if error != nil {
      payload = []
      consumed = 0
    } else if !decoder.trailers.isEmpty {
      trailers = decoder.trailers
      trailerBytes = decoder.trailerBytes
    }
  }
}

/// Every way to cut the input gives the same payload, end, trailers or error. What was decoded and encoded again decodes to the
/// same.
private func check(_ input: [UInt8]) {
  let whole = Decoded(input, step: max(input.count, 1))
  for step in [1, 2, 3, 7, 64] {
    let pieces = Decoded(input, step: step)
    precondition(pieces == whole, "in steps of \(step): \(pieces), whole: \(whole)")
  }
  guard whole.isDone, !whole.payload.isEmpty else { return }
  withUnsafeTemporaryAllocation(byteCount: whole.payload.count + 64, alignment: 8) { buffer in
    var writer = ByteWriter(buffer)
    writer.append(Array((String(whole.payload.count, radix: 16) + "\r\n").utf8))
    writer.append(whole.payload)
    writer.appendCRLF()
    writer.appendLastChunk()
    let again = Decoded(Array(writer.written), step: writer.count)
    precondition(again.isDone && again.payload == whole.payload && again.consumed == writer.count)
  }
}
