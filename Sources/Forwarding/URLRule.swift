import HTTPWire

/// Rewrites URLs below some places to URLs below another.
struct URLRule {
  let places: [URLPlace]
  /// `scheme://host[:port]`.
  let to: [UInt8]
  /// Below both; nil: paths stay.
  let paths: PathExchange?

  init(from places: [URLPlace], to: [UInt8], paths: PathExchange?) {
    self.places = places
    self.to = to
    self.paths = paths
  }

  /// nil if the URL is not below one of the places.
  func replaced(_ url: UnsafeRawBufferPointer) -> [UInt8]? {
    guard url.first == URLMark.slash else { return replaced(url, hasScheme: true) }
    // Both kinds are the origin's own, and the app would take them for those of the match.
    if url.count > 1, url[1] == URLMark.slash { return replaced(url, hasScheme: false) }
    guard let path = paths?.returned(url[...]) else { return nil }
    return Self.namesHost(path) ? to + path : path
  }

  /// - Parameter hasScheme: false: the reference begins with `//`.
  private func replaced(_ url: UnsafeRawBufferPointer, hasScheme: Bool) -> [UInt8]? {
    for place in places {
      guard let rest = place.rest(of: url, hasScheme: hasScheme) else { continue }
      let to = hasScheme ? to : Array(to.drop { $0 != URLMark.slash })
      guard let paths else { return to + Array(rest) }
      if let path = paths.returned(rest) { return to + path }
    }
    return nil
  }

  /// Whether a client would take a path for the authority of another host: it begins with two slashes, also backslashes, and browsers skip
  /// tabs.
  private static func namesHost(_ path: [UInt8]) -> Bool {
    let next = path.dropFirst().first { $0 != 9 }
    return next == URLMark.slash || next == UInt8(ascii: "\\")
  }

  /// `Link: <url>; rel=next, <url>; rel=last` (RFC 8288 section 3).
  func replacedLinks(_ value: UnsafeRawBufferPointer) -> [UInt8]? { Self.replacingLinks(value, by: replaced) }

  /// - Parameter replaced: returns nil for a URL that stays.
  /// - Returns: nil if all stay.
  static func replacingLinks(
    _ value: UnsafeRawBufferPointer, by replaced: (UnsafeRawBufferPointer) -> [UInt8]?
  ) -> [UInt8]? {
    var result: [UInt8] = []
    var copied = 0
    var references = LinkReferences(value)
    while let place = references.next() {
      guard let replacement = replaced(UnsafeRawBufferPointer(rebasing: value[place])) else { continue }
      result += value[copied..<place.lowerBound]
      result += replacement
      copied = place.upperBound
    }
    return copied == 0 ? nil : result + Array(value[copied...])
  }
}
