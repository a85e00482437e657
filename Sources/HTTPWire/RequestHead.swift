/// A request's head, parsed in place: offsets into bytes that the caller keeps. A loop uses one for all its requests, one after
/// the other. `reset` keeps its storage, so parsing rarely allocates.
public struct RequestHead: ~Copyable, Sendable {
  private enum Phase: UInt8 { case start, method, target, version, fields, done }
  private var phase = Phase.start
  private var section = FieldSection()
  private var position = 0

  public private(set) var method = Method.other
  public private(set) var methodText = ByteSlice.empty
  public private(set) var target = ByteSlice.empty
  /// 0 or 1; a higher minor version counts as 1 (RFC 9110 section 2.5).
  public private(set) var minorVersion: UInt8 = 1
  /// Start of the request line: 2 after a skipped empty line (RFC 9112 section 2.2), else 0.
  public private(set) var lineStart = 0
  /// Bytes of the whole head, including a skipped empty line and the blank line at the end.
  public private(set) var length = 0

  public init() {}

  /// In the order received, with duplicates.
  public var fields = ContiguousArray<Field>()
  /// The known names among `fields`, dropped or not.
  public private(set) var present = FieldSet()

  /// Whether there is a field of that name.
  @inlinable
  public func contains(_ id: FieldName) -> Bool { present.contains(id) }

  /// Clears the head, keeps the storage.
  public mutating func reset() {
    phase = .start
    section = FieldSection()
    fields.removeAll(keepingCapacity: true)
    present = FieldSet()
    position = 0
    method = .other
    methodText = .empty
    target = .empty
    minorVersion = 1
    lineStart = 0
    length = 0
  }

  /// Continues where the last call stopped, so a head that arrives slowly costs no more than one that arrives at once.
  /// - Parameters:
  ///   - bytes: everything received, from the head's first byte, at each call (the buffer may have moved).
  ///   - limit: the largest allowed head in bytes. If this many have arrived and the head is not complete, it is 414 or 431.
  /// - Returns: after `invalid` or `complete` the next call must be `reset`.
  public mutating func parse(_ bytes: UnsafeRawBufferPointer, limit: Int) -> HeadOutcome {
    guard let start = bytes.baseAddress, phase != .done else { return phase == .done ? .complete : .incomplete }
    let base = start.assumingMemoryBound(to: UInt8.self)
    let count = min(bytes.count, limit)
    var outcome = HeadOutcome.incomplete
    if phase == .fields || parseRequestLine(base, count, &outcome) {
      outcome = section.parse(base, count, into: &fields, &present)
      if outcome == .complete {
        phase = .done
        length = section.position
      }
    }
    if outcome == .incomplete, bytes.count >= limit {
      return .invalid(phase == .target ? .targetTooLong : .headTooLarge)
    }
    return outcome
  }

  /// Whether the request line is complete.
  @inline(__always)
  private mutating func parseRequestLine(_ base: UnsafePointer<UInt8>, _ count: Int, _ outcome: inout HeadOutcome) -> Bool {
    if phase == .start {
      guard count > 0 else { return false }
      if base[0] == ASCII.cr {
        guard count > 1 else { return false }
        guard base[1] == ASCII.lf else {
          outcome = .invalid(.bareCR)
          return false
        }
        lineStart = 2
        position = 2
      }
      phase = .method
    }
    if phase == .method {
      var index = position
      while index < count, ASCII.isToken(base[index]) { index &+= 1 }
      position = index
      guard index < count else { return false }
      guard base[index] == ASCII.space, index > lineStart else {
        outcome = .invalid(methodError(base[index]))
        return false
      }
      methodText = ByteSlice(lineStart, to: index)
      method = Method(base + lineStart, index &- lineStart)
      position = index &+ 1
      phase = .target
    }
    if phase == .target {
      let targetStart = methodText.end &+ 1
      let index = firstInvisible(base, from: position, to: count)
      position = index
      guard index < count else { return false }
      guard base[index] == ASCII.space, index > targetStart else {
        outcome = .invalid(targetError(base[index]))
        return false
      }
      target = ByteSlice(targetStart, to: index)
      position = index &+ 1
      phase = .version
    }
    let versionStart = target.end &+ 1
    switch parseVersion(base + versionStart, count &- versionStart) {
    case .incomplete: return false
    case .invalid(let error):
      outcome = .invalid(error)
      return false
    case .version(let minor):
      guard let end = lineBreak(base, at: versionStart &+ 8, count, &outcome) else { return false }
      minorVersion = minor
      section.start(at: end)
      phase = .fields
      return true
    }
  }

  /// The offset after the CRLF that must be here. nil if there is none: with `outcome` set after an error, or unchanged if
  /// bytes are missing.
  private func lineBreak(
    _ base: UnsafePointer<UInt8>, at offset: Int, _ count: Int, _ outcome: inout HeadOutcome
  ) -> Int? {
    guard offset < count else { return nil }
    guard base[offset] == ASCII.cr else {
      outcome = .invalid(base[offset] == ASCII.lf ? .bareLF : .requestLine)
      return nil
    }
    guard offset &+ 1 < count else { return nil }
    guard base[offset &+ 1] == ASCII.lf else {
      outcome = .invalid(.bareCR)
      return nil
    }
    return offset &+ 2
  }

  private func methodError(_ byte: UInt8) -> HeadError {
    switch byte {
    case 0, ASCII.lf: lineError(byte)
    case ASCII.cr: .requestLine
    default: .method
    }
  }

  private func targetError(_ byte: UInt8) -> HeadError {
    switch byte {
    case ASCII.space, ASCII.tab, ASCII.cr: .requestLine
    case 0, ASCII.lf: lineError(byte)
    default: ASCII.isControl(byte) ? .control : .targetCharacter
    }
  }
}

enum VersionOutcome {
  case incomplete
  case invalid(HeadError)
  case version(minor: UInt8)
}

/// `HTTP/1.x`, byte by byte as it arrives, so that invalid text is refused before the line ends.
@inline(__always)
func parseVersion(_ base: UnsafePointer<UInt8>, _ count: Int) -> VersionOutcome {
  if count >= 8 {
    let word = load64(base)
    if word == word64("HTTP/1.1") { return .version(minor: 1) }
    if word == word64("HTTP/1.0") { return .version(minor: 0) }
  }
  return parseOddVersion(base, count)
}

private func parseOddVersion(_ base: UnsafePointer<UInt8>, _ count: Int) -> VersionOutcome {
  let name: StaticString = "HTTP/"
  var index = 0
  while index < min(count, 8) {
    let byte = base[index]
    switch index {
    case 0..<5: if byte != name.utf8Start[index] { return .invalid(byte == ASCII.lf ? .bareLF : .httpVersion) }
    case 5:
      guard ASCII.isDigit(byte) else { return .invalid(.httpVersion) }
      if byte != UInt8(ascii: "1") { return .invalid(.unsupportedVersion) }
    case 6: if byte != ASCII.dot { return .invalid(.httpVersion) }
    default: if !ASCII.isDigit(byte) { return .invalid(.httpVersion) }
    }
    index &+= 1
  }
  guard index == 8 else { return .incomplete }
  return .version(minor: base[7] == ASCII.zero ? 0 : 1)
}
