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

  /// - Parameter host: lower-case, without a trailing dot and brackets.
  public func matches(host bytes: UnsafeRawBufferPointer, port: UInt16) -> Bool {
    if let wanted = self.port, wanted != port { return false }
    return HostPattern.matches(bytes, host: host, isWildcard: isWildcard)
  }

  public func matches(host: String, port: UInt16) -> Bool {
    var host = host
    return host.withUTF8 { matches(host: UnsafeRawBufferPointer($0), port: port) }
  }

  /// The label boundary is part of the comparison: `*.example.com` is neither `example.com` nor `badexample.com`.
  static func matches(_ bytes: UnsafeRawBufferPointer, host: String, isWildcard: Bool) -> Bool {
    let pattern = host.utf8
    guard isWildcard else { return bytes.elementsEqual(pattern) }
    if pattern.isEmpty { return !bytes.isEmpty }
    let head = bytes.count - pattern.count
    guard head >= 2, bytes[head - 1] == UInt8(ascii: ".") else { return false }
    return bytes[head...].elementsEqual(pattern)
  }

  /// True where some host and port fit both.
  public func overlaps(_ other: HostPattern) -> Bool {
    if let port, let theirs = other.port, port != theirs { return false }
    switch (isWildcard, other.isWildcard) {
    case (false, false): return host == other.host
    case (true, false): return matches(host: other.host, port: port ?? 0)
    case (false, true): return other.matches(host: host, port: other.port ?? 0)
    case (true, true):
      return host == other.host || host.isEmpty || other.host.isEmpty || host.hasSuffix("." + other.host)
        || other.host.hasSuffix("." + host)
    }
  }
}

extension UpstreamSettings.Match {
  /// Host alone; port and path are the route's business.
  /// - Parameter host: lower-case, without a trailing dot and brackets.
  public func matches(host bytes: UnsafeRawBufferPointer) -> Bool {
    HostPattern.matches(bytes, host: host, isWildcard: isWildcard)
  }
}
