import HTTPWire

/// A request for a part (RFC 9110 section 14.2).
public enum RangeRequest: Sendable, Hashable {
  /// None, or one that a server ignores: other units, no syntax.
  case none
  /// From a byte to the end.
  case from(Int64)
  case between(Int64, Int64)
  /// The last bytes.
  case last(Int64)
  /// Several: the answer is the whole, as many parts would cost more than it.
  case several

  public init(_ head: borrowing RequestHead, in bytes: UnsafeRawBufferPointer) {
    self = .none
    guard head.method == .get, head.contains(.range), head.fields.count(of: .range) == 1, let field = head.fields.first(.range),
      !field.dropped
    else { return }
    self = RangeRequest(field.value.bytes(in: bytes))
  }

  init(_ text: UnsafeRawBufferPointer) {
    self = .none
    guard let equals = text.firstIndex(of: UInt8(ascii: "=")),
      equalsIgnoringCase(UnsafeRawBufferPointer(rebasing: text[..<equals]), "bytes")
    else { return }
    let set = UnsafeRawBufferPointer(rebasing: text[(equals + 1)...])
    if set.contains(UInt8(ascii: ",")) {
      self = .several
      return
    }
    guard let hyphen = set.firstIndex(of: UInt8(ascii: "-")) else { return }
    var (start, end) = (0, set.count)
    while start < hyphen, isBlank(set[start]) { start += 1 }
    while end > hyphen + 1, isBlank(set[end - 1]) { end -= 1 }
    let first = UnsafeRawBufferPointer(rebasing: set[start..<hyphen])
    let last = UnsafeRawBufferPointer(rebasing: set[(hyphen + 1)..<end])
    switch (first.isEmpty, last.isEmpty) {
    case (true, true): return
    case (true, false): if let count = Self.number(last) { self = .last(count) }
    case (false, true): if let from = Self.number(first) { self = .from(from) }
    case (false, false):
      if let from = Self.number(first), let to = Self.number(last), from <= to { self = .between(from, to) }
    }
  }

  private static func number(_ text: UnsafeRawBufferPointer) -> Int64? {
    var value: Int64 = 0
    for byte in text {
      guard byte &- 0x30 <= 9 else { return nil }
      let (product, isOver) = value.multipliedReportingOverflow(by: 10)
      let (sum, isOverToo) = product.addingReportingOverflow(Int64(byte &- 0x30))
      value = isOver || isOverToo ? .max : sum
    }
    return value
  }

  /// What to send of a stored 200.
  public enum Part: Sendable, Hashable {
    case whole
    /// 206.
    case bytes(Range<Int>)
    /// 416.
    case unsatisfiable
  }

  public func part(of size: Int) -> Part {
    switch self {
    case .none, .several: return .whole
    case .from(let first): return first < Int64(size) ? .bytes(Int(first)..<size) : .unsatisfiable
    case .between(let first, let last):
      return first < Int64(size) ? .bytes(Int(first)..<Int(min(last, Int64(size) - 1)) + 1) : .unsatisfiable
    case .last(let count):
      return count > 0 && size > 0 ? .bytes(max(0, size - Int(clamping: count))..<size) : .unsatisfiable
    }
  }
}

/// If-Range (RFC 9110 section 13.1.5).
public enum RangeCondition: Sendable, Hashable {
  case none
  case tag(EntityTag)
  /// A date, exactly as received.
  case date([UInt8])
  /// Neither, or repeated: it matches nothing.
  case unreadable

  /// - Parameter wall: Unix time.
  public init(_ head: borrowing RequestHead, in bytes: UnsafeRawBufferPointer, wall: @autoclosure () -> Int64) {
    self = .none
    guard head.contains(.ifRange), let field = head.fields.first(.ifRange) else { return }
    let text = field.value.bytes(in: bytes)
    self = .unreadable
    guard head.fields.count(of: .ifRange) == 1 else { return }
    if let tag = EntityTag(text) {
      self = .tag(tag)
    } else if parseHTTPDate(text, now: wall()) != nil {
      self = .date(Array(text))
    }
  }

  /// Only a strong validator permits a part. A date is one if the answer was made at least a second later (section 8.8.2.2).
  public func permitsPart(of facts: ResponseFacts) -> Bool {
    // Of a body without its coding all validators are weak.
    if facts.isDecoded { return self == .none }
    switch self {
    case .none: return true
    case .tag(let tag): return facts.tag.map { $0.matchesStrongly(tag) } ?? false
    case .date(let text):
      guard let modified = facts.lastModifiedTime, let date = facts.date else { return false }
      return text == facts.lastModified && date > modified
    case .unreadable: return false
    }
  }
}
