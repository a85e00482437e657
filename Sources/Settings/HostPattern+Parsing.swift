import Routing

extension HostPattern {
  /// Reads `host`, `host:port`, `*.example.com`, `*.example.com:443`, and `*` or `*:443` for every host.
  public init(parsing text: String) throws(HostError) {
    let (written, port) = try HostName.split(text)
    if port == 0 { throw HostError("has port 0") }
    if written == "*" {
      self.init(host: "", isWildcard: true, port: port)
      return
    }
    let isWildcard = written.hasPrefix("*.")
    let host = isWildcard ? String(written.dropFirst(2)) : written
    guard !host.utf8.contains(UInt8(ascii: "*")) else { throw HostError("may have one '*', as its whole first label") }
    let normalized = try HostName.normalized(host)
    guard !isWildcard || IPAddress.parse(normalized) == nil else { throw HostError("has a '*' before an address") }
    self.init(host: normalized, isWildcard: isWildcard, port: port)
  }
}
