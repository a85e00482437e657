/// One challenge of `WWW-Authenticate` or `Proxy-Authenticate` (RFC 9110 section 11.6.1), as ranges over the head.
public struct Challenge: Sendable, Hashable {
  public struct Parameter: Sendable, Hashable {
    public let name: ByteSlice
    /// Without quotation marks. A quoted string may contain quoted pairs: see `text`.
    public let value: ByteSlice
    let hasPairs: Bool

    /// The value; quoted pairs are resolved.
    public func text(in head: UnsafeRawBufferPointer) -> [UInt8] {
      let value = value.bytes(in: head)
      guard hasPairs else { return Array(value) }
      var text: [UInt8] = []
      text.reserveCapacity(value.count)
      var index = 0
      while index < value.count {
        if value[index] == ASCII.backslash, index + 1 < value.count { index += 1 }
        text.append(value[index])
        index += 1
      }
      return text
    }
  }

  /// Empty for parameters that have no scheme.
  public let scheme: ByteSlice
  /// Empty if there is none.
  public internal(set) var token68 = ByteSlice.empty
  /// In the order received. Without what could not be read.
  public internal(set) var parameters = ContiguousArray<Parameter>()
  /// It is not as the grammar says, has a parameter twice, or exceeds a limit. The rest of it could be read.
  public internal(set) var isMalformed = false

  /// - Parameter scheme: in any case.
  public func uses(_ scheme: StaticString, in head: UnsafeRawBufferPointer) -> Bool {
    self.scheme.equalsIgnoringCase(scheme, in: head)
  }

  /// The first parameter of that name, ignoring case.
  public func parameter(_ name: StaticString, in head: UnsafeRawBufferPointer) -> Parameter? {
    parameters.first { $0.name.equalsIgnoringCase(name, in: head) }
  }

  /// The value of the first parameter of that name, ignoring case.
  public func text(_ name: StaticString, in head: UnsafeRawBufferPointer) -> [UInt8]? {
    parameter(name, in: head)?.text(in: head)
  }
}

/// Reads the challenges of one field, one after the other. Text that is no challenge is skipped up to the next comma outside of quoted
/// strings. The time is linear in the field's length.
public struct Challenges {
  /// Most challenges of a field, and parameters of a challenge. Others are ignored.
  public static let limit = 32
  public static let parameterLimit = 64

  private var scanner: ChallengeScanner
  private var count = 0

  /// - Parameter value: of the field.
  public init(_ value: ByteSlice, in head: UnsafeRawBufferPointer) { scanner = ChallengeScanner(value, in: head) }

  public mutating func next() -> Challenge? {
    while count < Self.limit {
      scanner.skipSeparators()
      if scanner.atEnd { return nil }
      let scheme = scanner.token()
      let blanks = scanner.skipBlanks()
      // Neither text that is no token, nor a parameter without a challenge.
      guard !scheme.isEmpty, scanner.isBehindMember || blanks > 0 && scanner.next != ASCII.equals else {
        scanner.skipMember()
        continue
      }
      count += 1
      var challenge = Challenge(scheme: scheme)
      if !scanner.isBehindMember {
        if scanner.startsParameter {
          scanner.readParameter(of: &challenge)
        } else {
          challenge.token68 = scanner.token68()
          scanner.endMember(of: &challenge)
        }
      }
      scanner.readParameters(of: &challenge)
      return challenge
    }
    return nil
  }

  /// A field that has parameters only, as `Authentication-Info` (RFC 9110 section 11.6.3). The result has no scheme.
  public static func parameters(of value: ByteSlice, in head: UnsafeRawBufferPointer) -> Challenge {
    var scanner = ChallengeScanner(value, in: head)
    var parameters = Challenge(scheme: .empty)
    scanner.readParameters(of: &parameters)
    if !scanner.atEnd { parameters.isMalformed = true }
    return parameters
  }
}

private struct ChallengeScanner {
  let head: UnsafeRawBufferPointer
  let end: Int
  var position: Int

  init(_ value: ByteSlice, in head: UnsafeRawBufferPointer) {
    precondition(value.end <= head.count, "slice outside of its head")
    self.head = head
    position = value.start
    end = value.end
  }

  var atEnd: Bool { position >= end }
  var next: UInt8? { position < end ? head[position] : nil }
  /// A comma follows, or nothing.
  var isBehindMember: Bool { atEnd || head[position] == ASCII.comma }

  @discardableResult
  mutating func skipBlanks() -> Int {
    let start = position
    while position < end, ASCII.isBlank(head[position]) { position += 1 }
    return position - start
  }

  /// Empty members of a list count for nothing (RFC 9110 section 5.6.1.2).
  mutating func skipSeparators() {
    while position < end, ASCII.isBlank(head[position]) || head[position] == ASCII.comma { position += 1 }
  }

  /// Up to the next comma outside of quoted strings.
  mutating func skipMember() {
    while !isBehindMember {
      if head[position] == ASCII.quote { _ = quotedString() } else { position += 1 }
    }
  }

  /// Skips what is left of a member, which must be nothing.
  mutating func endMember(of challenge: inout Challenge) {
    skipBlanks()
    if isBehindMember { return }
    challenge.isMalformed = true
    skipMember()
  }

  mutating func token() -> ByteSlice {
    let start = position
    while position < end, ASCII.isToken(head[position]) { position += 1 }
    return ByteSlice(start, to: position)
  }

  mutating func token68() -> ByteSlice {
    let start = position
    while position < end, Self.isToken68(head[position]) { position += 1 }
    if position > start { while position < end, head[position] == ASCII.equals { position += 1 } }
    return ByteSlice(start, to: position)
  }

  private static func isToken68(_ byte: UInt8) -> Bool {
    switch byte {
    case ASCII.hyphen, ASCII.dot, ASCII.underscore, UInt8(ascii: "~"), UInt8(ascii: "+"), ASCII.slash: true
    default: ASCII.isLetter(byte) || ASCII.isDigit(byte)
    }
  }

  /// `name =` and a value follow. A token68 may end in `=`, but nothing follows it.
  var startsParameter: Bool {
    var ahead = self
    guard !ahead.token().isEmpty else { return false }
    ahead.skipBlanks()
    guard ahead.next == ASCII.equals else { return false }
    ahead.position += 1
    ahead.skipBlanks()
    return !ahead.isBehindMember && ahead.next != ASCII.equals
  }

  /// Reads members as long as they are parameters. The next challenge begins with a token and no `=`.
  mutating func readParameters(of challenge: inout Challenge) {
    while true {
      var ahead = self
      ahead.skipSeparators()
      let start = ahead
      guard !ahead.token().isEmpty else {
        self = start
        if atEnd { return }
        // Neither parameter nor challenge: it breaks the challenge before it.
        challenge.isMalformed = true
        skipMember()
        continue
      }
      ahead.skipBlanks()
      guard ahead.next == ASCII.equals else { return }
      self = start
      readParameter(of: &challenge)
    }
  }

  /// At a name that `=` follows.
  mutating func readParameter(of challenge: inout Challenge) {
    // RFC 9110 section 11.6.1: one or the other.
    if !challenge.token68.isEmpty { challenge.isMalformed = true }
    let name = token()
    skipBlanks()
    position += 1
    skipBlanks()
    var parameter: Challenge.Parameter?
    if next == ASCII.quote {
      parameter = quotedString().map { Challenge.Parameter(name: name, value: $0.value, hasPairs: $0.hasPairs) }
    } else {
      let value = token()
      if !value.isEmpty { parameter = Challenge.Parameter(name: name, value: value, hasPairs: false) }
    }
    if let parameter, challenge.parameters.count < Challenges.parameterLimit {
      if challenge.parameters.contains(where: { sameName($0.name, name) }) { challenge.isMalformed = true }
      challenge.parameters.append(parameter)
    } else {
      challenge.isMalformed = true
    }
    endMember(of: &challenge)
  }

  private func sameName(_ one: ByteSlice, _ other: ByteSlice) -> Bool {
    equalsIgnoringCase(one.bytes(in: head), other.bytes(in: head))
  }

  /// At a quotation mark. nil: it is not closed, or contains a control character.
  mutating func quotedString() -> (value: ByteSlice, hasPairs: Bool)? {
    position += 1
    let start = position
    var (hasPairs, isGood) = (false, true)
    while position < end {
      var byte = head[position]
      if byte == ASCII.quote {
        let value = ByteSlice(start, to: position)
        position += 1
        return isGood ? (value, hasPairs) : nil
      }
      if byte == ASCII.backslash {
        hasPairs = true
        position += 1
        guard position < end else { return nil }
        byte = head[position]
      }
      if ASCII.isControl(byte) { isGood = false }
      position += 1
    }
    return nil
  }
}
