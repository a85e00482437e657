import HTTPWire

/// A scheme and authority, below which URLs are.
struct URLPlace {
  /// `scheme://host`, in lower case.
  private let host: [UInt8]
  /// `:port`; empty for the scheme's default port.
  private let port: [UInt8]
  /// `:port` that URLs may contain although it is the scheme's default.
  private let defaultPort: [UInt8]

  init(_ authority: OriginAuthority) {
    host = Array((authority.isTLS ? "https://" : "http://").utf8) + authority.hostText
    port = authority.hasDefaultPort ? [] : Array(":\(authority.port)".utf8)
    defaultPort = authority.hasDefaultPort ? Array(":\(authority.port)".utf8) : []
  }

  /// What follows the authority in a URL; nil: the URL is below another place. The host's case does not count, nor a dot behind it, nor an
  /// empty port or the default one (RFC 3986 section 6.2).
  /// - Parameter hasScheme: false: the URL begins with `//` (RFC 3986 section 4.2).
  func rest(of url: UnsafeRawBufferPointer, hasScheme: Bool) -> Slice<UnsafeRawBufferPointer>? {
    let host = hasScheme ? host[...] : host.drop { $0 != URLMark.slash }
    guard url.count >= host.count,
      host.withUnsafeBytes({ equalsIgnoringCase(UnsafeRawBufferPointer(rebasing: url[..<host.count]), $0) })
    else { return nil }
    var rest = url[host.count...]
    if rest.first == URLMark.dot { rest = rest.dropFirst() }
    if !port.isEmpty {
      guard rest.starts(with: port) else { return nil }
      rest = rest.dropFirst(port.count)
    } else if !defaultPort.isEmpty, rest.starts(with: defaultPort) {
      rest = rest.dropFirst(defaultPort.count)
    } else if rest.first == URLMark.colon {
      rest = rest.dropFirst()
    }
    // `https://api.example.com.evil` and `https://api.example.com:444` are other places.
    if let next = rest.first, next != URLMark.slash, next != URLMark.question, next != UInt8(ascii: "#") { return nil }
    return rest
  }
}
