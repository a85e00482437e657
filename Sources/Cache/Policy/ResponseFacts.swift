import HTTPWire

/// What a response's head says about its storage. Read before `response_headers` of the entry change the head.
///
/// An object: it goes through many hands, and has a dozen parts.
public final class ResponseFacts: Sendable {
  public enum Expiry: Sendable, Hashable {
    case none
    /// Repeated, or no date: already expired (RFC 9111 section 5.3).
    case unreadable
    /// Unix time.
    case at(Int64)
  }

  public let status: Int
  public let directives: CacheDirectives
  /// Unix time; nil: absent or not readable, so the time of receipt counts.
  public let date: Int64?
  /// Age as received. The first member counts, and one that is no number does not (RFC 9111 section 5.1).
  public let age: Int64
  public let expiry: Expiry
  public let tag: EntityTag?
  /// Last-Modified as Unix time; nil: absent or no date.
  public let lastModifiedTime: Int64?
  /// As received; nil: in the form in which the proxy writes dates.
  private let otherLastModified: [UInt8]?
  public let vary: VaryReading
  public let setsCookie: Bool
  /// The proxy has taken the coding away: the body is another representation than the one that the validators are about.
  public let isDecoded: Bool
  public let isEventStream, announcesTrailers: Bool
  /// Content-Length, if there is one.
  public let length: Int64?
  private let hasDirectives: Bool

  /// - Parameters:
  ///   - wall: Unix time of receipt.
  ///   - recent: of the loop.
  public init(_ head: borrowing ResponseHead, in bytes: UnsafeRawBufferPointer, wall: Int64, recent: RecentHeads? = nil) {
    let present = head.present
    var date = OnlyField()
    var expires = OnlyField()
    var tag = OnlyField()
    var modified = OnlyField()
    var control = OnlyField()
    var names = OnlyField()
    var length = OnlyField()
    var type: ByteSlice?
    var setsCookie = present.contains(.setCookie)
    for field in head.fields {
      switch field.id {
      case .date: date.note(field)
      case .expires: expires.note(field)
      case .etag: tag.note(field)
      case .lastModified: modified.note(field)
      case .cacheControl: control.note(field)
      case .vary: names.note(field)
      case .contentLength: length.note(field)
      case .contentType: type = type ?? field.value
      case .other: if field.name.count == 11, field.name.equalsIgnoringCase("Set-Cookie2", in: bytes) { setsCookie = true }
      default: break
      }
    }
    status = head.status
    hasDirectives = present.contains(.cacheControl)
    if !hasDirectives {
      directives = CacheDirectives()
    } else if let recent, let only = control.value {
      directives = recent.directives.value(of: only.bytes(in: bytes)) { CacheDirectives(head.fields, in: bytes) }
    } else {
      directives = CacheDirectives(head.fields, in: bytes)
    }
    self.date = date.value.flatMap { parseHTTPDate($0.bytes(in: bytes), now: wall) }
    age = present.contains(.age) ? Self.age(head.fields, in: bytes) : 0
    if present.contains(.expires) {
      expiry = expires.value.flatMap { parseHTTPDate($0.bytes(in: bytes), now: wall) }.map { .at($0) } ?? .unreadable
    } else {
      expiry = .none
    }
    self.tag = tag.value.flatMap { EntityTag($0.bytes(in: bytes)) }
    lastModifiedTime = modified.value.flatMap { parseHTTPDate($0.bytes(in: bytes), now: wall) }
    if let time = lastModifiedTime, let text = modified.value?.bytes(in: bytes), !isFixdate(text, of: time) {
      otherLastModified = Array(text)
    } else {
      otherLastModified = nil
    }
    if let recent, let only = names.value {
      vary = recent.vary.value(of: only.bytes(in: bytes)) { VaryReading(head.fields, present, in: bytes) }
    } else {
      vary = VaryReading(head.fields, present, in: bytes)
    }
    self.setsCookie = setsCookie
    isDecoded = false
    isEventStream = type?.hasMediaType("text/event-stream", in: bytes) ?? false
    announcesTrailers = present.contains(.trailer)
    self.length = length.value.flatMap { Self.digits($0.bytes(in: bytes)) } ?? head.contentLength(in: bytes)
  }

  /// A Content-Length as nearly all are: digits alone, and few enough.
  private static func digits(_ text: UnsafeRawBufferPointer) -> Int64? {
    guard 1...18 ~= text.count else { return nil }
    var value: Int64 = 0
    for byte in text {
      guard byte &- 0x30 <= 9 else { return nil }
      value = value &* 10 &+ Int64(byte &- 0x30)
    }
    return value
  }

  /// A field that counts only if it is there once.
  private struct OnlyField {
    private(set) var value: ByteSlice?
    private var isRepeated = false

    @inline(__always)
    mutating func note(_ field: Field) {
      if field.dropped { return }
      value = isRepeated || value != nil ? nil : field.value
      isRepeated = isRepeated || value == nil
    }
  }

  /// These facts about the body without its coding.
  public var decoded: ResponseFacts { ResponseFacts(self, renewedBy: nil, isDecoded: true) }

  /// Last-Modified as received, for If-Modified-Since; empty: absent or no date.
  public var lastModified: [UInt8] {
    guard let lastModifiedTime else { return [] }
    if let otherLastModified { return otherLastModified }
    return withUnsafeTemporaryAllocation(byteCount: 32, alignment: 8) { buffer in
      var writer = ByteWriter(buffer)
      writer.append(httpDate: lastModifiedTime)
      return Array(writer.written)
    }
  }

  /// A validator for a conditional request.
  public var hasValidator: Bool { tag != nil || lastModifiedTime != nil }

  /// These facts with the newer ones of a 304 (RFC 9111 section 3.2): a field that the 304 has replaces all of its name. A cookie that
  /// it sets is for who asked, and would be in the renewed head.
  public func renewed(by newer: ResponseFacts) -> ResponseFacts {
    ResponseFacts(self, renewedBy: newer, isDecoded: isDecoded)
  }

  private init(_ older: ResponseFacts, renewedBy newer: ResponseFacts?, isDecoded: Bool) {
    status = older.status
    isEventStream = older.isEventStream
    announcesTrailers = older.announcesTrailers
    length = older.length
    hasDirectives = older.hasDirectives
    self.isDecoded = isDecoded
    directives = newer.flatMap { $0.hasDirectives ? $0.directives : nil } ?? older.directives
    // Its Date and Age belong to it, also where it has none.
    date = newer == nil ? older.date : newer?.date
    age = newer?.age ?? older.age
    expiry = newer.flatMap { $0.expiry == .none ? nil : $0.expiry } ?? older.expiry
    setsCookie = older.setsCookie || newer?.setsCookie == true
    tag = newer?.tag ?? older.tag
    let dated = newer?.lastModifiedTime == nil ? older : newer ?? older
    otherLastModified = dated.otherLastModified
    lastModifiedTime = dated.lastModifiedTime
    switch newer?.vary {
    case .names(let names)? where names.names.isEmpty: vary = older.vary
    case let said?: vary = said
    case nil: vary = older.vary
    }
  }

  private static func age(_ fields: ContiguousArray<Field>, in bytes: UnsafeRawBufferPointer) -> Int64 {
    for field in fields where field.id == .age && !field.dropped {
      var members = ListMembers(field.value, in: bytes)
      if let first = members.next() { return CacheDirectives.number(first.bytes(in: bytes)) ?? 0 }
    }
    return 0
  }
}
