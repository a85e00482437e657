import Settings
import WayOut

/// The URL of a parent proxy, from the file or from a variable. Errors never show it, as it may contain a password.
struct ParentURL: Hashable {
  var scheme: Hop.Scheme
  /// Lower-case, without brackets.
  var host: String
  /// nil: not written.
  var port: UInt16?
  /// As written, before the `@`.
  var userinfo: String?
  /// Begins with `/`, `?` or `#`, and is more than a `/`.
  var hasTarget: Bool

  static let schemes: [Hop.Scheme] = [.http, .https, .socks5, .socks5h]

  /// - Parameter scheme: of a text without one; nil: it is required.
  init(parsing text: String, scheme standard: Hop.Scheme? = nil) throws(HostError) {
    guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
      throw HostError("contains a space, a control or a non-ASCII character")
    }
    var rest = text[...]
    var written: Hop.Scheme?
    if let end = text.firstRange(of: "://") {
      written = Self.schemes.first { $0.rawValue == text[..<end.lowerBound].lowercased() }
      rest = text[end.upperBound...]
    } else {
      written = standard
    }
    guard let scheme = written else {
      throw HostError("must start with \(listed(Self.schemes.map { $0.rawValue + "://" }, "or"))")
    }
    self.scheme = scheme
    let authority = rest.prefix { !"/?#".contains($0) }
    let target = rest[authority.endIndex...]
    hasTarget = !target.isEmpty && target != "/"
    let at = authority.lastIndex(of: "@")
    userinfo = at.map { String(authority[..<$0]) }
    let (host, port) = try HostName.split(String(at.map { authority[authority.index(after: $0)...] } ?? authority))
    if port == 0 { throw HostError("has port 0") }
    self.host = try HostName.normalized(host)
    self.port = port
  }

  var isLoopback: Bool { host == "localhost" || IPAddress.parse(host).map(IPAddress.isLoopback) == true }
}
