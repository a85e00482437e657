import HTTPWire

/// A request's own condition, as a cache evaluates it (RFC 9111 section 4.3.2).
public enum CacheCondition: Sendable, Hashable {
  case none
  /// Without a list: `*`.
  case noneMatch([EntityTag]?)
  /// Unix time.
  case modifiedSince(Int64)

  /// - Parameter wall: Unix time.
  public init(_ head: borrowing RequestHead, in bytes: UnsafeRawBufferPointer, wall: @autoclosure () -> Int64) {
    self = .none
    if head.contains(.ifNoneMatch) {
      var tags: [EntityTag] = []
      for field in head.fields where field.id == .ifNoneMatch && !field.dropped {
        let text = field.value.bytes(in: bytes)
        if text.elementsEqual([UInt8(ascii: "*")]) {
          self = .noneMatch(nil)
          return
        }
        var list = EntityTags(text)
        while let tag = list.next() { tags.append(tag) }
      }
      self = .noneMatch(tags)
      return
    }
    // Repeated or no date: ignored (RFC 9110 section 13.1.3).
    if head.contains(.ifModifiedSince), head.fields.count(of: .ifModifiedSince) == 1,
      let field = head.fields.first(.ifModifiedSince), !field.dropped,
      let time = parseHTTPDate(field.value.bytes(in: bytes), now: wall())
    {
      self = .modifiedSince(time)
    }
  }

  /// Whether the app has what is stored: the answer is a 304. Conditions count for 200 only (RFC 9110 section 13.2.1).
  /// - Parameter received: Unix time when the stored answer came, in place of a Date.
  public func isMet(by facts: ResponseFacts, received: Int64) -> Bool {
    guard facts.status == 200 else { return false }
    switch self {
    case .none: return false
    case .noneMatch(nil): return true
    case .noneMatch(let tags?): return facts.tag.map { tag in tags.contains { $0.matchesWeakly(tag) } } ?? false
    case .modifiedSince(let time): return (facts.lastModifiedTime ?? facts.date ?? received) <= time
    }
  }
}

/// What a 304 to a validation says about the stored answer (RFC 9111 section 4.3.4).
public enum Validated: Sendable {
  /// The stored answer with newer facts.
  case renewed(ResponseFacts)
  /// The 304 is about another representation: ask again without a condition.
  case mismatch
}

extension ResponseFacts {
  /// - Parameter answer: the facts of a 304.
  public func validated(by answer: ResponseFacts) -> Validated {
    if let newer = answer.tag {
      guard let tag else { return .mismatch }
      // A strong validator selects what has the same; a weak one is enough if ours is weak.
      guard newer.isWeak || tag.isWeak ? newer.matchesWeakly(tag) : newer.matchesStrongly(tag) else { return .mismatch }
    } else if let newer = answer.lastModifiedTime, newer != lastModifiedTime {
      // An origin that knows dates only: a restored backup is older, and so not modified.
      return .mismatch
    }
    return .renewed(renewed(by: answer))
  }

  /// Whether a 200 to HEAD is about this stored answer, which it then renews; else it drops it (section 4.3.5). Without a validator
  /// nothing says so.
  /// - Parameter size: bytes of the stored body.
  public func isRenewed(byHead answer: ResponseFacts, size: Int) -> Bool {
    guard answer.status == 200, status == 200, hasValidator else { return false }
    if !isDecoded, let length = answer.length, length != Int64(size) { return false }
    return answer.tag == tag && answer.lastModifiedTime == lastModifiedTime
  }
}

extension ByteWriter {
  /// If-None-Match and If-Modified-Since of a validation, from the stored answer. Needs `validationSize(of:)` bytes.
  public mutating func append(validationOf facts: ResponseFacts) {
    if let tag = facts.tag { appendField("If-None-Match", tag.text) }
    if !facts.lastModified.isEmpty { appendField("If-Modified-Since", facts.lastModified) }
  }

  public static func validationSize(of facts: ResponseFacts) -> Int {
    (facts.tag?.opaque.count ?? 0) + facts.lastModified.count + 48
  }
}
