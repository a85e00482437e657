import HTTPWire

/// Rewrites URLs below one place to URLs below another.
struct URLRule {
  /// `scheme://host[:port]` in lower case, without the scheme's default port.
  var from: [UInt8]
  /// `:port` if `from` omits it, as URLs may still contain it.
  var defaultPort: [UInt8]
  var to: [UInt8]
  /// Below both; nil: paths stay.
  var paths: PathExchange?

  /// nil if the URL is not below `from`.
  func replaced(_ url: UnsafeRawBufferPointer) -> [UInt8]? {
    if let paths, url.first == UInt8(ascii: "/") { return replaced(reference: url, paths) }
    return replaced(url, from: from, to: to)
  }

  /// RFC 3986 section 4.2: with an authority (`//`) or without one. Both are the origin's own, and the app would take them for those of
  /// the match.
  private func replaced(reference: UnsafeRawBufferPointer, _ paths: PathExchange) -> [UInt8]? {
    guard reference.count > 1, reference[1] == UInt8(ascii: "/") else { return paths.returned(reference[...]) }
    func withoutScheme(_ place: [UInt8]) -> [UInt8] { Array(place.drop { $0 != UInt8(ascii: "/") }) }
    return replaced(reference, from: withoutScheme(from), to: withoutScheme(to))
  }

  private func replaced(_ url: UnsafeRawBufferPointer, from: [UInt8], to: [UInt8]) -> [UInt8]? {
    guard url.count >= from.count, equalsIgnoringCase(UnsafeRawBufferPointer(rebasing: url[..<from.count]), from) else {
      return nil
    }
    var rest = url[from.count...]
    if !defaultPort.isEmpty, rest.starts(with: defaultPort) { rest = rest.dropFirst(defaultPort.count) }
    // `https://api.example.com.evil` and `https://api.example.com:444` are other places.
    if let next = rest.first, next != UInt8(ascii: "/"), next != UInt8(ascii: "?"), next != UInt8(ascii: "#") { return nil }
    guard let paths else { return to + Array(rest) }
    return paths.returned(rest).map { to + $0 }
  }

  /// `Link: <url>; rel=next, <url>; rel=last` (RFC 8288 section 3).
  func replacedLinks(_ value: UnsafeRawBufferPointer) -> [UInt8]? { Self.replacingLinks(value, by: replaced) }

  /// - Parameter replaced: returns nil for a URL that stays.
  /// - Returns: nil if all stay.
  static func replacingLinks(
    _ value: UnsafeRawBufferPointer, by replaced: (UnsafeRawBufferPointer) -> [UInt8]?
  ) -> [UInt8]? {
    var result: [UInt8] = []
    var hasChanged = false
    var index = 0
    while index < value.count {
      let byte = value[index]
      result.append(byte)
      index += 1
      guard byte == UInt8(ascii: "<"), let end = value[index...].firstIndex(of: UInt8(ascii: ">")) else { continue }
      let url = UnsafeRawBufferPointer(rebasing: value[index..<end])
      if let replacement = replaced(url) {
        result += replacement
        hasChanged = true
      } else {
        result += Array(url)
      }
      index = end
    }
    return hasChanged ? result : nil
  }
}
