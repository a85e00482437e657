import HTTPWire

/// Cache-Control of a message, all its lines together (RFC 9111 section 5.2). Of a repeated directive the first counts.
public struct CacheDirectives: Sendable, Hashable {
  public struct Flags: OptionSet, Sendable, Hashable {
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }
    public static let noStore = Flags(rawValue: 1)
    /// Also with field names: to validate more than asked is always allowed (RFC 9111 section 5.2.2.4).
    public static let noCache = Flags(rawValue: 2)
    /// `private`, also with field names.
    public static let isPrivate = Flags(rawValue: 4)
    public static let isPublic = Flags(rawValue: 8)
    public static let mustRevalidate = Flags(rawValue: 16)
    public static let proxyRevalidate = Flags(rawValue: 32)
    public static let mustUnderstand = Flags(rawValue: 64)
    public static let onlyIfCached = Flags(rawValue: 128)
    /// public, s-maxage or must-revalidate, each as it is written in the standard: a shared cache may store what was asked for with a
    /// credential (RFC 9111 section 3.5).
    static let permitsSharing = Flags(rawValue: 256)
  }

  /// Larger numbers count as this one (RFC 9111 section 1.2.2).
  public static let longest: Int64 = 1 << 31

  public private(set) var flags: Flags = []
  /// Seconds; nil: absent. A number that cannot be read is 0, so that the answer is stale, and the request is met by no stored one.
  public private(set) var maxAge, sharedMaxAge: Int64?
  /// Seconds; nil: absent or not readable.
  public private(set) var staleWhileRevalidate, staleIfError: Int64?
  /// Seconds; a number that cannot be read is the longest time.
  public private(set) var minFresh: Int64?
  /// Seconds; without a number the longest time; nil: absent or not readable.
  public private(set) var maxStale: Int64?
  /// A quoted string does not end, or a quotation mark is where none can be. Only directives that restrict count, wherever they are.
  public private(set) var isMalformed = false

  public init() {}

  public init(_ fields: ContiguousArray<Field>, in head: UnsafeRawBufferPointer) {
    for field in fields where field.id == .cacheControl && !field.dropped {
      if readPlain(field.value.bytes(in: head)) { continue }
      var members = ListMembers(field.value, in: head, quotedStrings: true)
      var isQuotedWell = true
      while let member = members.next() { if !read(member, in: head) { isQuotedWell = false } }
      guard members.isMalformed || !isQuotedWell else { continue }
      // Another recipient might not see the quotation mark, and so the directives behind it.
      isMalformed = true
      var all = ListMembers(field.value, in: head)
      while let member = all.next() { _ = read(member, in: head) }
    }
    guard isMalformed else { return }
    flags.subtract([.isPublic, .permitsSharing])
    maxAge = 0
    sharedMaxAge = nil
    staleWhileRevalidate = nil
    staleIfError = nil
    maxStale = nil
  }

  /// As nearly all are: no quotation mark is in it, so each comma ends a member.
  /// - Returns: false: nothing was read.
  private mutating func readPlain(_ text: UnsafeRawBufferPointer) -> Bool {
    let end = text.count
    var index = 0
    while index < end {
      if text[index] == UInt8(ascii: "\"") { return false }
      index &+= 1
    }
    var start = 0
    while start < end {
      var stop = start
      var equals = -1
      while stop < end, text[stop] != UInt8(ascii: ",") {
        if equals < 0, text[stop] == UInt8(ascii: "=") { equals = stop }
        stop &+= 1
      }
      let next = stop &+ 1
      while start < stop, isBlank(text[start]) { start &+= 1 }
      while stop > start, isBlank(text[stop &- 1]) { stop &-= 1 }
      if start < stop {
        note(UnsafeRawBufferPointer(rebasing: text[start..<stop]), equals: equals < 0 ? nil : equals &- start)
      }
      start = next
    }
    return true
  }

  /// - Returns: whether each quotation mark is one of a quoted string that is a whole value.
  private mutating func read(_ member: ByteSlice, in head: UnsafeRawBufferPointer) -> Bool {
    let text = member.bytes(in: head)
    let equals = text.firstIndex(of: UInt8(ascii: "="))
    note(text, equals: equals)
    return Self.isQuotedWell(text, value: equals.map { $0 + 1 })
  }

  /// - Parameter equals: where the first `=` is.
  private mutating func note(_ text: UnsafeRawBufferPointer, equals: Int?) {
    var end = equals ?? text.count
    while end > 0, isBlank(text[end - 1]) { end -= 1 }
    let name = UnsafeRawBufferPointer(rebasing: text[..<end])
    let value = equals.map { UnsafeRawBufferPointer(rebasing: text[($0 + 1)...]) }
    // Blanks around `=` are no syntax: the number is not readable, but a restriction stays one.
    let number = end == (equals ?? end) ? value.flatMap(Self.seconds) : nil
    @inline(__always)
    func named(_ text: StaticString) -> Bool { equalsIgnoringCase(name, text) }
    switch name.count {
    case 6: if named("public"), value == nil { flags.formUnion([.isPublic, .permitsSharing]) }
    case 7:
      if named("private") { flags.insert(.isPrivate) }
      if named("max-age") { Self.set(&maxAge, number ?? 0) }
    case 8:
      if named("no-store") { flags.insert(.noStore) }
      if named("no-cache") { flags.insert(.noCache) }
      if named("s-maxage") {
        if number != nil { flags.insert(.permitsSharing) }
        Self.set(&sharedMaxAge, number ?? 0)
      }
    case 9:
      if named("min-fresh") { Self.set(&minFresh, number ?? Self.longest) }
      if named("max-stale"), let stale = value == nil ? Self.longest : number { Self.set(&maxStale, stale) }
    case 14:
      if named("only-if-cached") { flags.insert(.onlyIfCached) }
      if named("stale-if-error"), let number { Self.set(&staleIfError, number) }
    case 15:
      if named("must-revalidate") { flags.formUnion(value == nil ? [.mustRevalidate, .permitsSharing] : .mustRevalidate) }
      if named("must-understand") { flags.insert(.mustUnderstand) }
    case 16: if named("proxy-revalidate") { flags.insert(.proxyRevalidate) }
    case 22: if named("stale-while-revalidate"), let number { Self.set(&staleWhileRevalidate, number) }
    default: break
    }
  }

  private static func isQuotedWell(_ text: UnsafeRawBufferPointer, value: Int?) -> Bool {
    let quote = UInt8(ascii: "\"")
    guard let first = text.firstIndex(of: quote) else { return true }
    guard var index = value, text[index...].prefix(while: isBlank).endIndex == first else { return false }
    index = first + 1
    while index < text.count, text[index] != quote { index += text[index] == UInt8(ascii: "\\") ? 2 : 1 }
    return index == text.count - 1
  }

  private static func set(_ directive: inout Int64?, _ value: Int64) { if directive == nil { directive = value } }

  /// delta-seconds, as a token or as a quoted string; nil: neither.
  static func seconds(_ text: UnsafeRawBufferPointer) -> Int64? {
    guard text.count >= 2, text[0] == UInt8(ascii: "\""), text[text.count - 1] == UInt8(ascii: "\"") else {
      return number(text)
    }
    return number(UnsafeRawBufferPointer(rebasing: text[1..<(text.count - 1)]))
  }

  /// Only digits, capped.
  static func number(_ text: UnsafeRawBufferPointer) -> Int64? {
    guard !text.isEmpty else { return nil }
    var value: Int64 = 0
    for byte in text {
      guard byte &- 0x30 <= 9 else { return nil }
      value = min(value * 10 + Int64(byte &- 0x30), longest)
    }
    return value
  }
}

@inline(__always)
func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
/// tchar of RFC 9110 section 5.6.2.
func isTokenByte(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
  case UInt8(ascii: "!"), UInt8(ascii: "#")...UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"),
    UInt8(ascii: "."), UInt8(ascii: "^")...UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
    true
  default: false
  }
}
@inline(__always)
func lowerCase(_ byte: UInt8) -> UInt8 { byte &- 0x41 < 26 ? byte | 0x20 : byte }
