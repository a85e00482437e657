import HTTPWire

/// What a response's head says about its storage. Read before `response_headers` of the entry change the head.
public struct ResponseFacts: Sendable {
  public enum Expiry: Sendable, Hashable {
    case none
    /// Repeated, or no date: already expired (RFC 9111 section 5.3).
    case unreadable
    /// Unix time.
    case at(Int64)
  }

  public private(set) var status: Int
  public private(set) var directives: CacheDirectives
  /// Unix time; nil: absent or not readable, so the time of receipt counts.
  public private(set) var date: Int64?
  /// Age as received. The first member counts, and one that is no number does not (RFC 9111 section 5.1).
  public private(set) var age: Int64
  public private(set) var expiry: Expiry
  public private(set) var tag: EntityTag?
  /// As received, for If-Modified-Since; empty: absent or no date.
  public private(set) var lastModified: [UInt8]
  /// The same as Unix time.
  public private(set) var lastModifiedTime: Int64?
  public private(set) var vary: VaryReading
  public private(set) var setsCookie: Bool
  /// The proxy has taken the coding away: the body is another representation than the one that the validators are about.
  public private(set) var isDecoded = false
  public let isEventStream, announcesTrailers: Bool
  /// Content-Length, if there is one.
  public let length: Int64?
  private let hasDirectives: Bool

  /// - Parameter wall: Unix time of receipt.
  public init(_ head: borrowing ResponseHead, in bytes: UnsafeRawBufferPointer, wall: Int64) {
    let present = head.present
    status = head.status
    hasDirectives = present.contains(.cacheControl)
    directives = hasDirectives ? CacheDirectives(head.fields, in: bytes) : CacheDirectives()
    let date = present.contains(.date) ? Self.only(.date, of: head.fields, in: bytes) : nil
    self.date = date.flatMap { parseHTTPDate($0, now: wall) }
    age = present.contains(.age) ? Self.age(head.fields, in: bytes) : 0
    expiry = .none
    if present.contains(.expires) {
      let time = Self.only(.expires, of: head.fields, in: bytes).flatMap { parseHTTPDate($0, now: wall) }
      expiry = time.map { .at($0) } ?? .unreadable
    }
    tag = present.contains(.etag) ? Self.only(.etag, of: head.fields, in: bytes).flatMap { EntityTag($0) } : nil
    lastModified = []
    lastModifiedTime = nil
    if present.contains(.lastModified), let text = Self.only(.lastModified, of: head.fields, in: bytes),
      let time = parseHTTPDate(text, now: wall)
    {
      lastModified = Array(text)
      lastModifiedTime = time
    }
    vary = VaryReading(head.fields, present, in: bytes)
    setsCookie =
      present.contains(.setCookie)
      || head.fields.contains { $0.id == .other && $0.name.equalsIgnoringCase("Set-Cookie2", in: bytes) }
    isEventStream = head.isEventStream(in: bytes)
    announcesTrailers = present.contains(.trailer)
    length = head.contentLength(in: bytes)
  }

  public var decoded: ResponseFacts {
    var facts = self
    facts.isDecoded = true
    return facts
  }

  /// A validator for a conditional request.
  public var hasValidator: Bool { tag != nil || lastModifiedTime != nil }

  /// These facts with the newer ones of a 304 (RFC 9111 section 3.2): a field that the 304 has replaces all of its name. A cookie that
  /// it sets is for who asked, and would be in the renewed head.
  public func renewed(by newer: ResponseFacts) -> ResponseFacts {
    var facts = self
    if newer.hasDirectives { facts.directives = newer.directives }
    // Its Date and Age belong to it, also where it has none.
    facts.date = newer.date
    facts.age = newer.age
    if newer.expiry != .none { facts.expiry = newer.expiry }
    facts.setsCookie = setsCookie || newer.setsCookie
    if newer.tag != nil { facts.tag = newer.tag }
    if newer.lastModifiedTime != nil {
      facts.lastModified = newer.lastModified
      facts.lastModifiedTime = newer.lastModifiedTime
    }
    if case .names(let names) = newer.vary, names.names.isEmpty { return facts }
    facts.vary = newer.vary
    return facts
  }

  private static func only(
    _ id: FieldName, of fields: ContiguousArray<Field>, in bytes: UnsafeRawBufferPointer
  ) -> UnsafeRawBufferPointer? {
    var found: UnsafeRawBufferPointer?
    for field in fields where field.id == id && !field.dropped {
      if found != nil { return nil }
      found = field.value.bytes(in: bytes)
    }
    return found
  }

  private static func age(_ fields: ContiguousArray<Field>, in bytes: UnsafeRawBufferPointer) -> Int64 {
    for field in fields where field.id == .age && !field.dropped {
      var members = ListMembers(field.value, in: bytes)
      if let first = members.next() { return CacheDirectives.number(first.bytes(in: bytes)) ?? 0 }
    }
    return 0
  }
}
