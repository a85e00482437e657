extension HTTPURL {
  /// The URL that a reference means which was found at this one (RFC 3986 section 5.2), as in Location (RFC 9110 section 10.2.2).
  /// Without its fragment, which is not for servers. The path of the result is not empty, and has no dot segments.
  /// - Throws: as `init`; `targetCharacter` also for a backslash, which some readers take for a slash.
  public func resolving(_ reference: UnsafeRawBufferPointer) throws(HeadError) -> HTTPURL {
    let text = reference[..<(reference.firstIndex(of: ASCII.hash) ?? reference.count)]
    guard !text.contains(ASCII.backslash) else { throw .targetCharacter }
    let written = String(decoding: text, as: UTF8.self)
    var url: HTTPURL
    if Self.hasScheme(text) {
      url = try HTTPURL(written)
    } else if text.starts(with: [ASCII.slash, ASCII.slash]) {
      url = try HTTPURL((isHTTPS ? "https:" : "http:") + written)
    } else {
      url = try HTTPURL((isHTTPS ? "https://" : "http://") + authority + merged(text, written))
    }
    let query = url.pathAndQuery.firstIndex(of: "?") ?? url.pathAndQuery.endIndex
    url.pathAndQuery = Self.withoutDotSegments(url.pathAndQuery[..<query]) + url.pathAndQuery[query...]
    return url
  }

  /// The reference begins at the path of this URL, not at its root or with another host.
  public static func isRelativeToPath(_ reference: UnsafeRawBufferPointer) -> Bool {
    reference.first != ASCII.slash && !hasScheme(reference[...])
  }

  public func isSameHost(_ other: HTTPURL) -> Bool { host == other.host && effectivePort == other.effectivePort }

  /// `https://host[:port]/path?query`.
  public var text: String { origin + (pathAndQuery.first == "/" ? "" : "/") + pathAndQuery }

  /// `https://host[:port]`, without the scheme's own port (RFC 6454 section 6.2).
  public var origin: String { Self.origin(isHTTPS: isHTTPS, host: host, port: effectivePort) }

  /// - Parameter host: as in `HTTPURL.host`.
  public static func origin(isHTTPS: Bool, host: String, port: UInt16) -> String {
    (isHTTPS ? "https://" : "http://") + Authority.text(host: host, port: port, defaultPort: isHTTPS ? 443 : 80)
  }

  /// RFC 3986 section 3.1.
  private static func hasScheme(_ text: Slice<UnsafeRawBufferPointer>) -> Bool {
    guard let first = text.first, ASCII.isLetter(first), let end = text.firstIndex(where: { ":/?".utf8.contains($0) }) else {
      return false
    }
    return text[end] == ASCII.colon
  }

  /// Path and query of a reference without an authority.
  private func merged(_ text: Slice<UnsafeRawBufferPointer>, _ written: String) -> String {
    if text.first == ASCII.slash { return written }
    if text.isEmpty { return pathAndQuery }
    let path = pathAndQuery[..<(pathAndQuery.firstIndex(of: "?") ?? pathAndQuery.endIndex)]
    if text.first == ASCII.question { return path + written }
    return (path.lastIndex(of: "/").map { path[...$0] } ?? "/") + written
  }

  /// RFC 3986 section 5.2.4.
  private static func withoutDotSegments(_ path: Substring) -> String {
    var kept: [Substring] = []
    var endsOpen = false
    for segment in path.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
      endsOpen = segment == "." || segment == ".."
      if segment == ".." { _ = kept.popLast() } else if segment != "." { kept.append(segment) }
    }
    return "/" + kept.joined(separator: "/") + (endsOpen && !kept.isEmpty ? "/" : "")
  }
}
