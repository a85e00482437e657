/// Errors of a chunked body. The proxy answers 400 if it has not sent any part of the request, and closes the connection.
public enum ChunkedError: UInt8, Error, Sendable, Hashable, CaseIterable {
  case size, sizeTooLarge, extensionMalformed, extensionTooLarge, chunkEnd, trailersMalformed, trailersTooLarge

  /// One sentence for people, without its full stop.
  public var reason: StaticString {
    switch self {
    case .size: "a chunk's size is not hexadecimal digits followed by CRLF or an extension"
    case .sizeTooLarge: "a chunk's size is too large"
    case .extensionMalformed: "a chunk extension is malformed"
    case .extensionTooLarge: "the chunk extensions are too large"
    case .chunkEnd: "a chunk's data is not followed by CRLF"
    case .trailersMalformed: "the trailer section is malformed"
    case .trailersTooLarge: "the trailer section is too large"
    }
  }
}

/// Decodes the chunked coding (RFC 9112 section 7.1), in place and byte for byte strict: size lines end in CRLF and nothing
/// else [CVE-2025-55315], and exactly CRLF follows the data [h11 CVE-2025-43859]. Extensions are checked, bounded and dropped:
/// a loose reader could see the end of a size line elsewhere.
public struct ChunkedDecoder: Sendable {
  public enum State: UInt8, Sendable, Hashable {
    /// More input is needed.
    case more
    /// The body and its trailer section are complete; bytes after `consumed` belong to the next message.
    case done
  }

  /// The result of one call.
  public struct Output: Sendable, Hashable {
    /// The body's bytes: their place in the input. The first run stays in place, later ones move to follow it.
    public var payload: ByteSlice
    /// Used input bytes, payload included.
    public var consumed: Int
    public var state: State
  }

  private enum Phase: UInt8 {
    case sizeStart, size, sizeLF, data, dataCR, dataLF, trailers, done
    // Inside an extension (RFC 9112 section 7.1.1): after white space, when only `;` may follow (or `=`, after a name); ...
    case beforeExtension, afterName, afterValue
    // ... a name or value must begin, or is being read; ...
    case nameStart, name, valueStart, value
    // ... a quoted string (RFC 9110 section 5.6.4), a backslash in it, or its end.
    case quoted, quotedPair, quotedEnd
  }

  /// Extension bytes allowed in addition to the body's bytes; otherwise a body could consist of nothing else [CVE-2023-39326].
  private static let extensionAllowance: Int64 = 16 << 10

  private var phase = Phase.sizeStart
  /// Bytes of the current chunk still to come; while its size is being read, the size so far.
  private var left: Int64 = 0
  private var digits: UInt8 = 0
  private var allowance = extensionAllowance
  private var section = FieldSection()
  private var present = FieldSet()
  private let trailerLimit: Int

  /// The trailer section once `done`. Trailers that are not allowed (RFC 9110 section 6.5.1) are marked dropped. Offsets are
  /// into `trailerBytes`.
  public var trailers = ContiguousArray<Field>()
  public private(set) var trailerBytes = ContiguousArray<UInt8>()

  /// - Parameter trailerLimit: bytes of the trailer section, its empty line included.
  public init(trailerLimit: Int = 16 << 10) { self.trailerLimit = trailerLimit }

  public var isDone: Bool { phase == .done }

  /// Decodes as much as possible. Consumes all input unless the body ends in it. Call nothing after an error.
  public mutating func decode(_ bytes: UnsafeMutableRawBufferPointer) throws(ChunkedError) -> Output {
    guard let start = bytes.baseAddress, phase != .done else {
      return Output(payload: .empty, consumed: 0, state: phase == .done ? .done : .more)
    }
    let base = start.assumingMemoryBound(to: UInt8.self)
    let count = bytes.count
    var index = 0
    var payloadStart = 0
    var payloadEnd = 0
    while index < count {
      let byte = base[index]
      switch phase {
      case .data:
        let run = Int(min(left, Int64(count &- index)))
        if payloadEnd == payloadStart {
          payloadStart = index
          payloadEnd = index
        } else {
          (start + payloadEnd).copyMemory(from: start + index, byteCount: run)
        }
        payloadEnd &+= run
        index &+= run
        left &-= Int64(run)
        allowance = min(allowance &+ Int64(run), ChunkedDecoder.extensionAllowance)
        if left == 0 { phase = .dataCR }
        continue
      case .dataCR:
        guard byte == ASCII.cr else { throw .chunkEnd }
        phase = .dataLF
      case .dataLF:
        guard byte == ASCII.lf else { throw .chunkEnd }
        phase = .sizeStart
      case .sizeStart:
        guard let digit = ASCII.hexValue(byte) else { throw .size }
        left = Int64(digit)
        digits = 1
        phase = .size
      case .size: try readSize(byte)
      case .sizeLF:
        guard byte == ASCII.lf else { throw .extensionMalformed }
        phase = left == 0 ? .trailers : .data
      case .trailers:
        index &+= try readTrailers(base + index, count &- index)
        if phase == .done {
          return Output(payload: ByteSlice(payloadStart, to: payloadEnd), consumed: index, state: .done)
        }
        continue
      case .done: break
      case .beforeExtension, .nameStart, .name, .afterName, .valueStart, .value, .afterValue, .quoted, .quotedPair, .quotedEnd:
        try readExtension(byte)
      }
      index &+= 1
    }
    return Output(payload: ByteSlice(payloadStart, to: payloadEnd), consumed: count, state: .more)
  }

  @inline(__always)
  private mutating func readSize(_ byte: UInt8) throws(ChunkedError) {
    if let digit = ASCII.hexValue(byte) {
      // At most 16 digits, leading zeros included, and at most Int64's maximum.
      guard digits < 16, left <= Int64.max >> 4 else { throw .sizeTooLarge }
      left = left << 4 | Int64(digit)
      digits &+= 1
      return
    }
    switch byte {
    case ASCII.cr: phase = .sizeLF
    case ASCII.semicolon, ASCII.space, ASCII.tab:
      try spend()
      phase = byte == ASCII.semicolon ? .nameStart : .beforeExtension
    default: throw .size
    }
  }

  /// `chunk-ext = *( BWS ";" BWS chunk-ext-name [ BWS "=" BWS chunk-ext-val ] )`, RFC 9112 section 7.1.1; the value is a token
  /// or a quoted string. White space is allowed around `;` and `=`, never before the end of the line.
  private mutating func readExtension(_ byte: UInt8) throws(ChunkedError) {
    if byte == ASCII.cr {
      switch phase {
      case .name, .value, .quotedEnd: phase = .sizeLF
      case .beforeExtension: throw .size
      default: throw .extensionMalformed
      }
      return
    }
    try spend()
    phase = try afterExtension(byte)
  }

  private func afterExtension(_ byte: UInt8) throws(ChunkedError) -> Phase {
    let isBlank = ASCII.isBlank(byte)
    switch phase {
    case .beforeExtension:
      if byte == ASCII.semicolon { return .nameStart }
      guard isBlank else { throw .size }
      return .beforeExtension
    case .nameStart:
      if isBlank { return .nameStart }
      if ASCII.isToken(byte) { return .name }
    case .name, .afterName:
      if byte == ASCII.semicolon { return .nameStart }
      if byte == ASCII.equals { return .valueStart }
      if isBlank { return .afterName }
      if phase == .name, ASCII.isToken(byte) { return .name }
    case .valueStart:
      if isBlank { return .valueStart }
      if byte == ASCII.quote { return .quoted }
      if ASCII.isToken(byte) { return .value }
    case .value, .quotedEnd, .afterValue:
      if byte == ASCII.semicolon { return .nameStart }
      if isBlank { return .afterValue }
      if phase == .value, ASCII.isToken(byte) { return .value }
    case .quoted:
      if byte == ASCII.quote { return .quotedEnd }
      if byte == ASCII.backslash { return .quotedPair }
      if !ASCII.isControl(byte) { return .quoted }
    case .quotedPair:
      if !ASCII.isControl(byte) { return .quoted }
    case .sizeStart, .size, .sizeLF, .data, .dataCR, .dataLF, .trailers, .done: break
    }
    throw .extensionMalformed
  }

  private mutating func spend() throws(ChunkedError) {
    allowance &-= 1
    if allowance < 0 { throw .extensionTooLarge }
  }

  /// Takes trailer bytes up to the section's end, and returns how many. Stores them, as they may come in pieces.
  private mutating func readTrailers(_ base: UnsafePointer<UInt8>, _ count: Int) throws(ChunkedError) -> Int {
    if trailerBytes.isEmpty, count >= 2, base[0] == ASCII.cr, base[1] == ASCII.lf {
      phase = .done
      return 2
    }
    let before = trailerBytes.count
    let taken = min(count, trailerLimit - before)
    trailerBytes.append(contentsOf: UnsafeBufferPointer(start: base, count: taken))
    let outcome = trailerBytes.withUnsafeBufferPointer { bytes -> HeadOutcome in
      guard let base = bytes.baseAddress else { return .incomplete }
      return section.parse(base, bytes.count, into: &trailers, &present)
    }
    switch outcome {
    case .invalid(let error): throw error == .tooManyFields ? .trailersTooLarge : .trailersMalformed
    case .incomplete:
      guard trailerBytes.count < trailerLimit else { throw .trailersTooLarge }
      return taken
    case .complete:
      trailerBytes.removeLast(trailerBytes.count - section.position)
      trailers.dropForbiddenInTrailers()
      phase = .done
      return section.position - before
    }
  }
}
