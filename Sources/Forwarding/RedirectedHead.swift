import HTTPWire

/// The head of an app's request, as if the app itself had asked for what a redirect leads to.
public struct RedirectedHead: Sendable {
  public var method: String
  /// As an app asks for it.
  public var url: HTTPURL
  /// The next request has no content.
  public var dropsContent: Bool
  /// The body leaves with its length, which leaves no place for trailers.
  public var dropsTrailer: Bool
  /// nil: the entry serves it that the app asked, and so does the host.
  public var departure: Departure?

  /// What another entry or host gets to know.
  public struct Departure: Sendable {
    /// Besides Authorization and Cookie, the fields that it must not get.
    public var withheld: [[UInt8]]
    /// The target's own URL is https.
    public var isHTTPS: Bool
    /// Scheme and authority that the app asked; nil: another host or entry than that has led to the target.
    public var origin: String?

    public init(withheld: [[UInt8]], isHTTPS: Bool, origin: String?) {
      self.withheld = withheld
      self.isHTTPS = isHTTPS
      self.origin = origin
    }
  }

  public init(method: String, url: HTTPURL, dropsContent: Bool, dropsTrailer: Bool, departure: Departure?) {
    self.method = method
    self.url = url
    self.dropsContent = dropsContent
    self.dropsTrailer = dropsTrailer
    self.departure = departure
  }

  private static let contentPrefix = Array("content-".utf8)
  /// RFC 9110 section 15.4, and RFC 9530: fields that describe content without saying so in their name.
  private static let ofContent = ["transfer-encoding", "trailer", "expect", "digest", "repr-digest", "last-modified"].map {
    Array($0.utf8)
  }
  /// What an app sends for the origin that it asks.
  public static let ofOneEntry = ["authorization", "cookie", "cookie2"].map { Array($0.utf8) }

  private static let ifRange = Array("if-range".utf8)
  private static let preconditions =
    ["if-match", "if-none-match", "if-modified-since", "if-unmodified-since"].map { Array($0.utf8) } + [ifRange]

  private static let referer = Array("referer".utf8)
  private static let origin = Array("origin".utf8)
  /// Trailers that another entry or host does not get, whatever it gets as fields.
  public static let withheldTrailers = ofOneEntry + [referer, origin]

  /// - Parameters:
  ///   - head: the app's, whole; without the fields that are dropped in it.
  ///   - bytes: that it was parsed from.
  public func text(of head: borrowing RequestHead, in bytes: UnsafeRawBufferPointer) -> [UInt8] {
    let target = url.text
    let start = target.index(target.startIndex, offsetBy: url.isHTTPS ? 8 : 7)
    let authority = target[start...].prefix { $0 != "/" }
    var text = Array("\(method) \(target) HTTP/1.\(head.minorVersion)\r\nHost: \(authority)\r\n".utf8)
    for field in head.fields where !field.dropped && goesOn(field, bytes) && !isAboutAnother(field, head, bytes) {
      let (name, value) = (field.name.bytes(in: bytes), field.value.bytes(in: bytes))
      var known: [UInt8]?
      if let departure {
        if fieldNameEquals(name, Self.referer) {
          guard let referrer = departure.referrer(value) else { continue }
          known = referrer
        } else if fieldNameEquals(name, Self.origin) {
          known = departure.origin(value)
        }
      }
      text += name
      text += [UInt8(ascii: ":"), UInt8(ascii: " ")]
      if let known { text += known } else { text += value }
      text += [13, 10]
    }
    return text + [13, 10]
  }

  /// Preconditions are about what the app asked for before. Another resource can have the same validator, and a 304 would be wrong; if it
  /// has another one, a 412 would speak of a change that was made. What they guard in a request that changes something stays.
  private func isAboutAnother(_ field: Field, _ head: borrowing RequestHead, _ bytes: UnsafeRawBufferPointer) -> Bool {
    guard method == "GET" || method == "HEAD" else { return false }
    let name = field.name.bytes(in: bytes)
    if Self.preconditions.contains(where: { fieldNameEquals(name, $0) }) { return true }
    // Without its condition it would ask for a part of something else.
    return field.id == .range && head.fields.contains { fieldNameEquals($0.name.bytes(in: bytes), Self.ifRange) }
  }

  private func goesOn(_ field: Field, _ bytes: UnsafeRawBufferPointer) -> Bool {
    // Who asks is known.
    if field.id == .host || field.id == .proxyAuthorization { return false }
    if dropsTrailer, field.id == .trailer { return false }
    let name = field.name.bytes(in: bytes)
    if dropsContent {
      if name.count >= Self.contentPrefix.count,
        fieldNameEquals(UnsafeRawBufferPointer(rebasing: name[..<Self.contentPrefix.count]), Self.contentPrefix)
      {
        return false
      }
      if Self.ofContent.contains(where: { fieldNameEquals(name, $0) }) { return false }
    }
    guard let withheld = departure?.withheld else { return true }
    // It would name trailers that do not go on.
    if field.id == .trailer { return false }
    return !(Self.ofOneEntry + withheld).contains { fieldNameEquals(name, $0) }
  }
}

/// As browsers do, since an app that followed the redirect itself would be one of them or have its own mind.
extension RedirectedHead.Departure {
  /// Where the app came from, without its path (Referrer Policy section 3.5, `strict-origin-when-cross-origin`); nil: nothing is said.
  fileprivate func referrer(_ value: UnsafeRawBufferPointer) -> [UInt8]? {
    guard let page = Self.url(value), isHTTPS || !page.isHTTPS else { return nil }
    return Array((page.origin + "/").utf8)
  }

  /// `null` unless it is the origin that has led to the target (Fetch section 4.4, a tainted origin); nil: it goes on.
  fileprivate func origin(_ value: UnsafeRawBufferPointer) -> [UInt8]? {
    if let page = Self.url(value), page.pathAndQuery.isEmpty, page.origin == origin { return nil }
    return Array("null".utf8)
  }

  private static func url(_ value: UnsafeRawBufferPointer) -> HTTPURL? {
    let text = value[..<(value.firstIndex(of: UInt8(ascii: "#")) ?? value.count)]
    return try? HTTPURL(String(decoding: text, as: UTF8.self))
  }
}
