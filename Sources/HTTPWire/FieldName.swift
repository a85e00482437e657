/// The field names that the proxy acts on, so that later passes compare a byte instead of text.
public enum FieldName: UInt8, Sendable, Hashable, CaseIterable {
  case other
  case accept, acceptEncoding, acceptRanges, age, allow, altSvc, authorization, cacheControl, cacheStatus, connection,
    contentEncoding
  case contentLength, contentLocation, contentRange, contentType, cookie, date, etag, expect, expires, forwarded, host,
    http2Settings
  case ifMatch, ifModifiedSince, ifNoneMatch, ifRange, ifUnmodifiedSince, keepAlive, lastModified, link, location, maxForwards
  case pragma, proxyAuthenticate, proxyAuthenticationInfo
  case proxyAuthorization, proxyConnection, proxyStatus, range, retryAfter, server, setCookie, te, trailer, transferEncoding
  case upgrade, userAgent, vary, via, wwwAuthenticate, xForwardedFor, xForwardedHost, xForwardedProto

  /// As in the registry; empty for `other`.
  public var text: StaticString {
    switch self {
    case .other: ""
    case .accept: "Accept"
    case .acceptEncoding: "Accept-Encoding"
    case .acceptRanges: "Accept-Ranges"
    case .age: "Age"
    case .allow: "Allow"
    case .altSvc: "Alt-Svc"
    case .authorization: "Authorization"
    case .cacheControl: "Cache-Control"
    case .cacheStatus: "Cache-Status"
    case .connection: "Connection"
    case .contentEncoding: "Content-Encoding"
    case .contentLength: "Content-Length"
    case .contentLocation: "Content-Location"
    case .contentRange: "Content-Range"
    case .contentType: "Content-Type"
    case .cookie: "Cookie"
    case .date: "Date"
    case .etag: "ETag"
    case .expect: "Expect"
    case .expires: "Expires"
    case .forwarded: "Forwarded"
    case .host: "Host"
    case .http2Settings: "HTTP2-Settings"
    case .ifMatch: "If-Match"
    case .ifModifiedSince: "If-Modified-Since"
    case .ifNoneMatch: "If-None-Match"
    case .ifRange: "If-Range"
    case .ifUnmodifiedSince: "If-Unmodified-Since"
    case .keepAlive: "Keep-Alive"
    case .lastModified: "Last-Modified"
    case .link: "Link"
    case .location: "Location"
    case .maxForwards: "Max-Forwards"
    case .pragma: "Pragma"
    case .proxyAuthenticate: "Proxy-Authenticate"
    case .proxyAuthenticationInfo: "Proxy-Authentication-Info"
    case .proxyAuthorization: "Proxy-Authorization"
    case .proxyConnection: "Proxy-Connection"
    case .proxyStatus: "Proxy-Status"
    case .range: "Range"
    case .retryAfter: "Retry-After"
    case .server: "Server"
    case .setCookie: "Set-Cookie"
    case .te: "TE"
    case .trailer: "Trailer"
    case .transferEncoding: "Transfer-Encoding"
    case .upgrade: "Upgrade"
    case .userAgent: "User-Agent"
    case .vary: "Vary"
    case .via: "Via"
    case .wwwAuthenticate: "WWW-Authenticate"
    case .xForwardedFor: "X-Forwarded-For"
    case .xForwardedHost: "X-Forwarded-Host"
    case .xForwardedProto: "X-Forwarded-Proto"
    }
  }

  /// The known name for these token characters, ignoring case.
  public init(_ name: UnsafeRawBufferPointer) {
    guard let base = name.baseAddress else {
      self = .other
      return
    }
    self.init(base.assumingMemoryBound(to: UInt8.self), name.count)
  }

  /// By length, then by one or two whole words. Setting bit 5 folds case, and turns no other token character into a letter or a
  /// hyphen, so equal words mean equal names.
  @inline(__always)
  init(_ name: UnsafePointer<UInt8>, _ count: Int) {
    switch count {
    case 2...3: self = FieldName.shortest(name, count)
    case 4...7:
      let fold: UInt32 = 0x2020_2020
      self = FieldName.short(count, load32(name) | fold, load32(name + count - 4) | fold)
    case 8...16:
      let fold: UInt64 = 0x2020_2020_2020_2020
      self = FieldName.medium(count, load64(name) | fold, load64(name + count - 8) | fold)
    case 17...25: self = FieldName.long(name, count)
    default: self = .other
    }
  }

  private static func shortest(_ name: UnsafePointer<UInt8>, _ count: Int) -> FieldName {
    let first = name[0] | 0x20
    let second = name[1] | 0x20
    if count == 2 { return first == UInt8(ascii: "t") && second == UInt8(ascii: "e") ? .te : .other }
    let third = name[2] | 0x20
    if first == UInt8(ascii: "v"), second == UInt8(ascii: "i"), third == UInt8(ascii: "a") { return .via }
    if first == UInt8(ascii: "a"), second == UInt8(ascii: "g"), third == UInt8(ascii: "e") { return .age }
    return .other
  }

  @inline(__always)
  private static func short(_ count: Int, _ head: UInt32, _ tail: UInt32) -> FieldName {
    @inline(__always)
    func equals(_ text: StaticString) -> Bool {
      head == word32(text) && tail == word32(text, at: text.utf8CodeUnitCount - 4)
    }
    switch count {
    case 4:
      if equals("host") { return .host }
      if equals("etag") { return .etag }
      if equals("date") { return .date }
      if equals("vary") { return .vary }
      if equals("link") { return .link }
    case 5:
      if equals("range") { return .range }
      if equals("allow") { return .allow }
    case 6:
      if equals("accept") { return .accept }
      if equals("cookie") { return .cookie }
      if equals("server") { return .server }
      if equals("expect") { return .expect }
      if equals("pragma") { return .pragma }
    case 7:
      if equals("expires") { return .expires }
      if equals("alt-svc") { return .altSvc }
      if equals("upgrade") { return .upgrade }
      if equals("trailer") { return .trailer }
    default: break
    }
    return .other
  }

  @inline(__always)
  private static func medium(_ count: Int, _ head: UInt64, _ tail: UInt64) -> FieldName {
    @inline(__always)
    func equals(_ text: StaticString) -> Bool {
      head == word64(text) && tail == word64(text, at: text.utf8CodeUnitCount - 8)
    }
    switch count {
    case 8:
      if equals("location") { return .location }
      if equals("if-match") { return .ifMatch }
      if equals("if-range") { return .ifRange }
    case 9:
      if equals("forwarded") { return .forwarded }
    case 10:
      if equals("connection") { return .connection }
      if equals("user-agent") { return .userAgent }
      if equals("keep-alive") { return .keepAlive }
      if equals("set-cookie") { return .setCookie }
    case 11:
      if equals("retry-after") { return .retryAfter }
    case 12:
      if equals("content-type") { return .contentType }
      if equals("proxy-status") { return .proxyStatus }
      if equals("max-forwards") { return .maxForwards }
      if equals("cache-status") { return .cacheStatus }
    case 13:
      if equals("cache-control") { return .cacheControl }
      if equals("authorization") { return .authorization }
      if equals("last-modified") { return .lastModified }
      if equals("content-range") { return .contentRange }
      if equals("if-none-match") { return .ifNoneMatch }
      if equals("accept-ranges") { return .acceptRanges }
    case 14:
      if equals("content-length") { return .contentLength }
      if equals("http2-settings") { return .http2Settings }
    case 15:
      if equals("accept-encoding") { return .acceptEncoding }
      if equals("x-forwarded-for") { return .xForwardedFor }
    case 16:
      if equals("content-encoding") { return .contentEncoding }
      if equals("proxy-connection") { return .proxyConnection }
      if equals("content-location") { return .contentLocation }
      if equals("www-authenticate") { return .wwwAuthenticate }
      if equals("x-forwarded-host") { return .xForwardedHost }
    default: break
    }
    return .other
  }

  private static func long(_ name: UnsafePointer<UInt8>, _ count: Int) -> FieldName {
    let candidate: FieldName
    switch (count, name[0] | 0x20) {
    case (17, UInt8(ascii: "i")): candidate = .ifModifiedSince
    case (17, UInt8(ascii: "t")): candidate = .transferEncoding
    case (17, UInt8(ascii: "x")): candidate = .xForwardedProto
    case (18, UInt8(ascii: "p")): candidate = .proxyAuthenticate
    case (19, UInt8(ascii: "i")): candidate = .ifUnmodifiedSince
    case (19, UInt8(ascii: "p")): candidate = .proxyAuthorization
    case (25, UInt8(ascii: "p")): candidate = .proxyAuthenticationInfo
    default: return .other
    }
    return equalsIgnoringCase(UnsafeRawBufferPointer(start: name, count: count), candidate.text) ? candidate : .other
  }
}
