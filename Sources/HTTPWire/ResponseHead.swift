/// A response's head, parsed in place and as strictly as a request's: the proxy answers 502 for an invalid one, and never uses
/// its connection again. See `RequestHead` for storage and offsets.
public struct ResponseHead: ~Copyable, Sendable {
  private enum Phase: UInt8 { case version, status, reason, fields, done }
  private var phase = Phase.version
  private var section = FieldSection()
  private var position = 0

  /// 100...999. Codes from 600 have no meaning (RFC 9110 section 15), but servers use them, and the proxy relays them.
  public private(set) var status = 0
  public private(set) var reason = ByteSlice.empty
  /// 0 or 1; a higher minor version counts as 1.
  public private(set) var minorVersion: UInt8 = 1
  /// Bytes of the whole head, including the blank line.
  public private(set) var length = 0

  public init() {}

  /// In the order received, with duplicates.
  public var fields = ContiguousArray<Field>()
  /// The known names among `fields`, dropped or not.
  public private(set) var present = FieldSet()

  /// Whether there is a field of that name.
  @inlinable
  public func contains(_ id: FieldName) -> Bool { present.contains(id) }

  /// 1xx: another head follows on the connection. Not 101, after which another protocol follows.
  public var isInterim: Bool { status < 200 && status != 101 }

  /// Whether its status line is spelled as the proxy spells it: `HTTP/1.1 status reason` and CRLF.
  func hasPlainStatusLine(in bytes: UnsafeRawBufferPointer) -> Bool {
    // Without a reason the space before it may be missing.
    guard reason.start == 13, let base = bytes.baseAddress else { return false }
    return load64(base.assumingMemoryBound(to: UInt8.self)) == word64("HTTP/1.1")
  }

  /// Clears the head, keeps the storage.
  public mutating func reset() {
    phase = .version
    section = FieldSection()
    fields.removeAll(keepingCapacity: true)
    present = FieldSet()
    position = 0
    status = 0
    reason = .empty
    minorVersion = 1
    length = 0
  }

  /// See `RequestHead.parse`.
  public mutating func parse(_ bytes: UnsafeRawBufferPointer, limit: Int) -> HeadOutcome {
    guard let start = bytes.baseAddress, phase != .done else { return phase == .done ? .complete : .incomplete }
    let base = start.assumingMemoryBound(to: UInt8.self)
    let count = min(bytes.count, limit)
    var outcome = HeadOutcome.incomplete
    if phase == .fields || parseStatusLine(base, count, &outcome) {
      outcome = section.parse(base, count, into: &fields, &present)
      if outcome == .complete {
        phase = .done
        length = section.position
      }
    }
    if outcome == .incomplete, bytes.count >= limit { return .invalid(.headTooLarge) }
    return outcome
  }

  @inline(__always)
  private mutating func parseStatusLine(_ base: UnsafePointer<UInt8>, _ count: Int, _ outcome: inout HeadOutcome) -> Bool {
    if phase == .version {
      switch parseVersion(base, count) {
      case .incomplete: return false
      case .invalid(let error):
        outcome = .invalid(error)
        return false
      case .version(let minor):
        minorVersion = minor
        position = 8
        phase = .status
      }
    }
    if phase == .status {
      // One space and three digits. Many servers omit the space before the reason, so that is no error.
      while position < 12 {
        guard position < count else { return false }
        let byte = base[position]
        guard position == 8 ? byte == ASCII.space : ASCII.isDigit(byte), position != 9 || byte != ASCII.zero else {
          outcome = .invalid(byte == 0 || byte == ASCII.lf ? lineError(byte) : .statusLine)
          return false
        }
        if position > 8 { status = status &* 10 &+ Int(byte &- ASCII.zero) }
        position &+= 1
      }
      guard position < count else { return false }
      guard base[12] == ASCII.space || base[12] == ASCII.cr else {
        outcome = .invalid(base[12] == 0 || base[12] == ASCII.lf ? lineError(base[12]) : .statusLine)
        return false
      }
      if base[12] == ASCII.space { position = 13 }
      phase = .reason
    }
    var index = firstControl(base, from: position, to: count)
    while index < count, base[index] == ASCII.tab { index = firstControl(base, from: index &+ 1, to: count) }
    position = index
    guard index < count else { return false }
    guard base[index] == ASCII.cr else {
      outcome = .invalid(lineError(base[index]))
      return false
    }
    guard index &+ 1 < count else { return false }
    guard base[index &+ 1] == ASCII.lf else {
      outcome = .invalid(.bareCR)
      return false
    }
    let reasonStart = min(13, index)
    reason = ByteSlice(reasonStart, to: index)
    section.start(at: index &+ 2)
    phase = .fields
    return true
  }
}
