/// The request target, parsed once (RFC 9112 section 3.2). Only its authority decides anything.
public struct RequestTarget: Sendable, Hashable {
  public enum Form: UInt8, Sendable, Hashable { case origin, absolute, authority, asterisk }
  public var form: Form
  /// Whether an absolute target's scheme is `https`.
  public var isHTTPS = false
  public var hostKind = Authority.HostKind.name
  /// Without brackets and trailing dot, case as received; empty in origin-form and asterisk-form.
  public var host = ByteSlice.empty
  /// nil if the target has none.
  public var port: UInt16?
  /// `port`, or the scheme's own.
  public var effectivePort: UInt16 { port ?? (isHTTPS ? 443 : 80) }
  /// `host[:port]` as received.
  public var authority = ByteSlice.empty
  /// The target for an origin, unless the path is empty: `http://host?q` gives `?q`, which must be written as `/?q`
  /// (`ByteWriter.append(originFormOf:)` does).
  public var pathAndQuery = ByteSlice.empty
  /// Without `?` and query.
  public var path = ByteSlice.empty

  /// - Throws: `targetForm`, `scheme`, `userinfo`, `fragment`, `hostName`, `hostAddress`, `port`.
  /// - Parameter host: what `checkHost` returned: the same authority needs no second parsing.
  public init(
    of request: borrowing RequestHead, host: Authority? = nil, in head: UnsafeRawBufferPointer
  ) throws(HeadError) {
    try self.init(request.target, method: request.method, host: host, in: head)
  }

  public init(
    _ target: ByteSlice, method: Method, host: Authority? = nil, in head: UnsafeRawBufferPointer
  ) throws(HeadError) {
    let bytes = target.bytes(in: head)
    guard let first = bytes.first else { throw .targetForm }
    if firstIndex(of: ASCII.hash, in: bytes) != nil { throw .fragment }
    if method == .connect {
      form = .authority
      let authority = try Authority(target, in: head)
      // RFC 9110 section 9.3.6: there is no default port.
      guard authority.port != nil else { throw .port }
      take(authority)
      return
    }
    if first == ASCII.slash {
      form = .origin
      take(path: target, in: bytes)
      return
    }
    if first == ASCII.star, bytes.count == 1 {
      guard method == .options else { throw .targetForm }
      form = .asterisk
      return
    }
    form = .absolute
    let schemeLength: Int
    if bytes.count > 7, equalsIgnoringCase(UnsafeRawBufferPointer(rebasing: bytes[..<7]), "http://") {
      schemeLength = 7
    } else if bytes.count > 8, equalsIgnoringCase(UnsafeRawBufferPointer(rebasing: bytes[..<8]), "https://") {
      schemeLength = 8
      isHTTPS = true
    } else {
      throw hasScheme(bytes) ? .scheme : .targetForm
    }
    var end = schemeLength
    while end < bytes.count, bytes[end] != ASCII.slash, bytes[end] != ASCII.question { end += 1 }
    let authority = ByteSlice(start: target.start + schemeLength, count: end - schemeLength)
    if let host, equalBytes(host.text.bytes(in: head), authority.bytes(in: head)) {
      take(host.moved(to: authority))
    } else {
      take(try Authority(authority, in: head))
    }
    take(
      path: ByteSlice(start: target.start + end, count: bytes.count - end),
      in: UnsafeRawBufferPointer(rebasing: bytes[end...]))
  }

  private mutating func take(_ authority: Authority) {
    hostKind = authority.kind
    host = authority.host
    port = authority.port
    self.authority = authority.text
  }

  private mutating func take(path whole: ByteSlice, in bytes: UnsafeRawBufferPointer) {
    pathAndQuery = whole
    path = ByteSlice(start: whole.start, count: firstIndex(of: ASCII.question, in: bytes) ?? bytes.count)
  }
}

/// Whether the target begins with `scheme:` (RFC 3986 section 3.1).
private func hasScheme(_ bytes: UnsafeRawBufferPointer) -> Bool {
  guard ASCII.isLetter(bytes[0]), let colon = bytes.firstIndex(of: ASCII.colon) else { return false }
  return bytes[..<colon].allSatisfy {
    ASCII.isLetter($0) || ASCII.isDigit($0) || $0 == ASCII.hyphen || $0 == ASCII.dot || $0 == UInt8(ascii: "+")
  }
}

extension RequestHead {
  /// RFC 9112 section 3.2: one well-formed Host field in HTTP/1.1, at most one in HTTP/1.0. Its value decides nothing.
  /// - Returns: its value; nil: there is none.
  @discardableResult
  public func checkHost(in bytes: UnsafeRawBufferPointer) throws(HeadError) -> Authority? {
    guard contains(.host) else {
      if minorVersion == 0 { return nil }
      throw .hostMissing
    }
    var host: ByteSlice?
    for index in fields.indices where fields[index].id == .host {
      guard host == nil else { throw .hostRepeated }
      host = fields[index].value
    }
    guard let host, let authority = try? Authority(host, in: bytes) else { throw .hostMalformed }
    return authority
  }
}
