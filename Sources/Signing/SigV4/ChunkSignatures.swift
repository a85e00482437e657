import Crypto
import HTTPWire

/// Signs each chunk of an upload again (STREAMING-AWS4-HMAC-SHA256-PAYLOAD and -TRAILER). Every signature covers the one before, back to
/// that of the head; so the app's, which were made with other keys, all change. A signature stands before its chunk: one chunk is kept.
public final class ChunkSignatures: BodyTransform {
  /// Bytes of a chunk's data at most.
  public static let chunkLimit = 1 << 20
  /// Of size, signature and CRLF, with some to spare.
  private static let headLimit = 128
  private static let trailerLimit = 16 << 10
  /// Memory that stays for the next chunk: an upload may pause.
  private static let spare = 16 << 10
  private static let extensionName: StaticString = ";chunk-signature="
  private static let trailerName: StaticString = "x-amz-trailer-signature"

  private enum State { case head, data, dataEnd, trailer, end, done }

  private let key: SigningKey
  /// From the time to the scope: the middle of every string to sign.
  private let middle: [UInt8]
  /// The last signature.
  private var previous: [UInt8]
  /// Bytes of data that the app has announced and not yet sent; nil: it announced none.
  private var announced: Int64?
  /// Names of trailers that may come, and how often. The app chooses their number.
  private var trailers: [[UInt8]: Int]
  private let hasTrailer: Bool

  private var state = State.head
  /// What cannot go on yet: a chunk with its head, or trailers.
  private var kept: [UInt8] = []
  /// Offset of the current chunk's signature in `kept`.
  private var place = 0
  /// Offset of the current chunk's data, or of the current line of trailers.
  private var start = 0
  private var missing = 0
  /// The trailers, as they are signed.
  private var canonicalTrailers: [UInt8] = []
  private var hasTrailerSignature = false
  /// The line before ended with LF alone, as some clients write it: a blank one follows.
  private var endedBare = false

  /// - Parameters:
  ///   - seed: the signature of the head.
  ///   - announced: X-Amz-Decoded-Content-Length.
  ///   - trailers: names in X-Amz-Trailer, in lower case; nil: it is the form without trailers.
  public init(
    key: SigningKey, scope: SigningScope, time: SigningTime, seed: [UInt8], announced: Int64?, trailers: [[UInt8]]?
  ) {
    self.key = key
    var middle = time.text
    middle.append(0x0a)
    middle.append(scope, on: time)
    middle.append(0x0a)
    self.middle = middle
    previous = seed
    self.announced = announced
    self.trailers = Dictionary((trailers ?? []).map { ($0, 1) }, uniquingKeysWith: +)
    hasTrailer = trailers != nil
  }

  public override func take(
    _ piece: UnsafeRawBufferPointer, isLast: Bool, into output: inout [UInt8]
  ) throws(BodyTransformError) {
    var index = 0
    while index < piece.count {
      switch state {
      case .head:
        if try takeLine(piece, &index, limit: Self.headLimit, "a chunk's head is too long") { try readHead(into: &output) }
      case .data:
        let count = min(missing, piece.count - index)
        kept.append(contentsOf: UnsafeRawBufferPointer(rebasing: piece[index..<(index + count)]))
        index += count
        missing -= count
        if missing == 0 { state = .dataEnd }
      case .dataEnd:
        kept.append(piece[index])
        index += 1
        let end = kept.suffix(2)
        if kept.count - dataEnd == 1, end.last != 0x0d { throw .malformed("no CRLF behind a chunk") }
        guard kept.count - dataEnd == 2 else { continue }
        guard end.last == 0x0a else { throw .malformed("no CRLF behind a chunk") }
        try sign(kept[start..<dataEnd])
        release(into: &output)
        state = .head
      case .trailer:
        if try takeLine(piece, &index, limit: Self.trailerLimit, "the trailers are too long") {
          try readTrailer(into: &output)
        }
      case .end:
        kept.append(piece[index])
        index += 1
        guard kept.elementsEqual("\r\n".utf8.prefix(kept.count)) else { throw .malformed("no CRLF behind the last chunk") }
        if kept.count == 2 {
          release(into: &output)
          state = .done
        }
      case .done: throw .malformed("bytes behind the last chunk")
      }
    }
    if isLast {
      guard state == .done else { throw .malformed("it ends before the last chunk") }
    }
  }

  private var dataEnd: Int { start + size }
  private var size = 0

  public override var held: Int { kept.capacity }

  private func release(into output: inout [UInt8]) {
    if output.isEmpty {
      // The storage changes hands, as a copy would cost a tenth of the signature.
      swap(&output, &kept)
    } else {
      let count = output.count + kept.count
      if count > output.capacity { output.reserveCapacity(max(count, min(2 * output.capacity, output.capacity + Self.spare))) }
      output.append(contentsOf: kept)
    }
    kept.removeAll(keepingCapacity: kept.capacity <= Self.spare)
    start = 0
  }

  /// Keeps bytes up to the end of the line.
  /// - Returns: whether it is there.
  private func takeLine(
    _ piece: UnsafeRawBufferPointer, _ index: inout Int, limit: Int, _ tooLong: String
  ) throws(BodyTransformError) -> Bool {
    while index < piece.count {
      let byte = piece[index]
      kept.append(byte)
      index += 1
      if byte == 0x0a { return true }
      guard kept.count < limit else { throw .malformed(tooLong) }
    }
    return false
  }

  // MARK: Chunks

  /// `400;chunk-signature=<64 hexadecimal digits>` and CRLF.
  private func readHead(into output: inout [UInt8]) throws(BodyTransformError) {
    var index = 0
    var size: UInt64 = 0
    while index < kept.count, let digit = hexadecimalDigit(kept[index]) {
      guard index < 16 else { throw .malformed("a chunk's size has too many digits") }
      size = size << 4 | UInt64(digit)
      index += 1
    }
    guard index > 0 else { throw .malformed("a chunk has no size") }
    let name = UnsafeBufferPointer(start: Self.extensionName.utf8Start, count: Self.extensionName.utf8CodeUnitCount)
    guard kept[index...].starts(with: name) else { throw .malformed("a chunk has no signature") }
    place = index + name.count
    guard isSignature(from: place), kept[(place + 64)...].elementsEqual("\r\n".utf8) else {
      throw .malformed("a chunk's signature is not 64 hexadecimal digits")
    }
    guard size <= UInt64(Self.chunkLimit) else { throw .tooLarge("a chunk is larger than 1 MiB") }
    if let left = announced {
      guard Int64(size) <= left else { throw .malformed("more data than X-Amz-Decoded-Content-Length says") }
      announced = left - Int64(size)
    }
    start = kept.count
    self.size = Int(size)
    missing = self.size
    if size > 0 {
      // By doubling, half of the array could be for nothing. The last chunk, which is a head alone, fits behind this one.
      kept.reserveCapacity(start + missing + 2 + Self.headLimit)
      state = .data
      return
    }
    if let announced, announced > 0 { throw .malformed("less data than X-Amz-Decoded-Content-Length says") }
    try sign([])
    release(into: &output)
    state = hasTrailer ? .trailer : .end
  }

  private func isSignature(from start: Int) -> Bool {
    kept.count >= start + 64 && kept[start..<(start + 64)].allSatisfy { hexadecimalDigit($0) != nil }
  }

  private func sign(_ data: ArraySlice<UInt8>) throws(BodyTransformError) {
    let hash = data.withUnsafeBytes { SHA256.digest($0) }
    try sign("AWS4-HMAC-SHA256-PAYLOAD\n", emptyHash: true, hash)
  }

  /// Puts the next signature in its place.
  private func sign(_ kind: StaticString, emptyHash: Bool, _ hash: [UInt8]) throws(BodyTransformError) {
    var text: [UInt8] = []
    text.reserveCapacity(320)
    text.append(ascii: kind)
    text.append(contentsOf: middle)
    text.append(contentsOf: previous)
    text.append(0x0a)
    if emptyHash {
      text.append(contentsOf: SigV4Payload.emptyHash)
      text.append(0x0a)
    }
    text.append(hex: hash)
    do throws(OpenSSLError) {
      previous = try key.sign(text)
    } catch { throw .malformed(error.message) }
    kept.replaceSubrange(place..<(place + 64), with: previous)
  }

  // MARK: Trailers

  private func readTrailer(into output: inout [UInt8]) throws(BodyTransformError) {
    let isBare = kept.count - start < 2 || kept[kept.count - 2] != 0x0d
    let line = kept[start..<(kept.count - (isBare ? 1 : 2))]
    if line.isEmpty {
      guard !isBare else { throw .malformed("a bare LF in the trailers") }
      if hasTrailerSignature {
        place = signaturePlace
        try sign("AWS4-HMAC-SHA256-TRAILER\n", emptyHash: false, SHA256.digest(canonicalTrailers))
        release(into: &output)
        state = .done
        return
      }
      guard endedBare else { throw .malformed("the trailers have no signature") }
      endedBare = false
      start = kept.count
      return
    }
    guard !hasTrailerSignature else { throw .malformed("a trailer behind the trailers' signature") }
    guard !endedBare else { throw .malformed("a bare LF in the trailers") }
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else {
      throw .malformed("a trailer has no name")
    }
    let name = line[..<colon].map { $0 &- 0x41 < 26 ? $0 | 0x20 : $0 }
    guard name.allSatisfy({ isUnreserved($0) }) else { throw .malformed("a trailer's name is malformed") }
    if name.equals(Self.trailerName) {
      guard !isBare, line.endIndex - colon - 1 == 64, isSignature(from: colon + 1) else {
        throw .malformed("the trailers' signature is not 64 hexadecimal digits")
      }
      signaturePlace = colon + 1
      hasTrailerSignature = true
    } else {
      guard let count = trailers[name], count > 0 else { throw .malformed("a trailer that X-Amz-Trailer does not name") }
      trailers[name] = count - 1
      canonicalTrailers += name
      canonicalTrailers.append(UInt8(ascii: ":"))
      canonicalTrailers += trimmed(line[(colon + 1)...])
      canonicalTrailers.append(0x0a)
      endedBare = isBare
    }
    start = kept.count
  }
  private var signaturePlace = 0

  private func trimmed(_ value: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var value = value
    while let first = value.first, first == 0x20 || first == 0x09 { value.removeFirst() }
    while let last = value.last, last == 0x20 || last == 0x09 { value.removeLast() }
    return value
  }
}

private func hexadecimalDigit(_ byte: UInt8) -> UInt8? {
  switch byte {
  case 0x30...0x39: byte - 0x30
  case 0x41...0x46: byte - 0x41 + 10
  case 0x61...0x66: byte - 0x61 + 10
  default: nil
  }
}
