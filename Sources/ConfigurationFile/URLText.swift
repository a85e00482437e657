import Settings

/// An absolute http or https URL as far as the configuration needs to know it. Errors never show the URL: people write
/// passwords into them.
struct URLText {
  var isHTTPS: Bool
  /// As routing compares hosts: lower-case, IPv6 without brackets.
  var host: String
  var port: UInt16
  /// Path and query as written, "" where there is none.
  var target: String

  init(parsing text: String) throws(HostError) {
    let lower = text.lowercased()
    let scheme: String
    if lower.hasPrefix("https://") {
      scheme = "https://"
    } else if lower.hasPrefix("http://") {
      scheme = "http://"
    } else {
      throw HostError("must start with https:// or http://")
    }
    guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
      throw HostError("holds a space, a control or a non-ASCII character")
    }
    let rest = text.dropFirst(scheme.count)
    let end = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
    let authority = String(rest[..<end])
    guard !authority.contains("@") else { throw HostError("must not hold a user or password") }
    guard !rest.contains("#") else { throw HostError("must not have a fragment") }
    let (host, port) = try HostName.split(authority)
    if port == 0 { throw HostError("has port 0") }
    isHTTPS = scheme == "https://"
    self.host = try HostName.normalized(host)
    self.port = port ?? (isHTTPS ? 443 : 80)
    target = String(rest[end...])
  }

  var isLoopback: Bool {
    if let address = IPAddress.parse(host) { return IPAddress.isLoopback(address) }
    return host == "localhost"
  }
}
