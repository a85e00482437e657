/// `host`, `host:port`, `*.example.com`, `*.example.com:443`; the star means one or more whole labels.
public struct HostPattern: Sendable, Hashable {
  /// Lower-case, without trailing dot and star: `example.com` for `*.example.com`. Empty with a star: every host.
  public var host: String
  public var isWildcard: Bool
  /// nil = any port.
  public var port: UInt16?
  public init(host: String, isWildcard: Bool, port: UInt16?) {
    self.host = host
    self.isWildcard = isWildcard
    self.port = port
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

  /// The comparison includes the label boundary: `*.example.com` matches neither `example.com` nor `badexample.com`.
  static func matches(_ bytes: UnsafeRawBufferPointer, host: String, isWildcard: Bool) -> Bool {
    let pattern = host.utf8
    guard isWildcard else { return bytes.elementsEqual(pattern) }
    if pattern.isEmpty { return !bytes.isEmpty }
    let head = bytes.count - pattern.count
    guard head >= 2, bytes[head - 1] == UInt8(ascii: ".") else { return false }
    return bytes[head...].elementsEqual(pattern)
  }

  /// Whether some host and port match both.
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
