/// An absolute http or https URL from other text than a head: a configuration, a discovery document, a command line. Parsed
/// like a request's target, so that a URL means the same everywhere.
public struct HTTPURL: Sendable, Hashable {
  public var isHTTPS: Bool
  public var hostKind: Authority.HostKind
  /// Lower case, without the brackets of an IPv6 literal and without a trailing dot.
  public var host: String
  /// nil if absent or empty.
  public var port: UInt16?
  /// `host[:port]` in lower case, otherwise as written.
  public var authority: String
  /// Path and query as written, or "".
  public var pathAndQuery: String

  public var effectivePort: UInt16 { port ?? (isHTTPS ? 443 : 80) }

  /// - Throws: `targetCharacter`, `targetForm` (not absolute), `scheme`, `userinfo`, `fragment`, `hostName`, `hostAddress`,
  ///   `port`.
  public init(_ text: String) throws(HeadError) {
    // RFC 3986 section 2: a URL is ASCII without spaces and controls.
    guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else { throw .targetCharacter }
    self = try withHead(of: text) { (whole, bytes) throws(HeadError) in
      let target = try RequestTarget(whole, method: .get, in: bytes)
      guard target.form == .absolute else { throw .targetForm }
      func text(_ slice: ByteSlice) -> String { String(decoding: slice.bytes(in: bytes), as: UTF8.self) }
      return HTTPURL(
        isHTTPS: target.isHTTPS, hostKind: target.hostKind, host: text(target.host).lowercased(), port: target.port,
        authority: text(target.authority).lowercased(), pathAndQuery: text(target.pathAndQuery))
    }
  }

  private init(
    isHTTPS: Bool, hostKind: Authority.HostKind, host: String, port: UInt16?, authority: String, pathAndQuery: String
  ) {
    self.isHTTPS = isHTTPS
    self.hostKind = hostKind
    self.host = host
    self.port = port
    self.authority = authority
    self.pathAndQuery = pathAndQuery
  }

  /// From the text only: names other than `localhost` are not resolved.
  public var isLoopback: Bool {
    switch hostKind {
    case .name: host == "localhost"
    case .ipv4: host.hasPrefix("127.")
    case .ipv6: host == "::1"
    }
  }
}

extension Authority {
  /// Parses a host that stands alone; an IPv6 literal has brackets.
  /// - Returns: lower-case, without brackets and trailing dot.
  /// - Throws: `userinfo`, `hostName`, `hostAddress`.
  public static func host(_ text: String) throws(HeadError) -> (kind: HostKind, host: String) {
    try withHead(of: text) { (whole, bytes) throws(HeadError) in
      let authority = try Authority(whole, in: bytes)
      guard hostEnd(of: bytes) == bytes.count else { throw .hostName }
      return (authority.kind, String(decoding: authority.host.bytes(in: bytes), as: UTF8.self).lowercased())
    }
  }
}

/// Parses text with the functions for a head's bytes.
private func withHead<Value>(
  of text: String, _ body: (ByteSlice, UnsafeRawBufferPointer) throws(HeadError) -> Value
) throws(HeadError) -> Value {
  let result = Array(text.utf8).withUnsafeBytes { bytes -> Result<Value, HeadError> in
    do throws(HeadError) { return .success(try body(ByteSlice(start: 0, count: bytes.count), bytes)) } catch {
      return .failure(error)
    }
  }
  return try result.get()
}
