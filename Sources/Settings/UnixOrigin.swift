extension UpstreamSettings.Origin {
  /// How an origin behind a unix socket is written: `unix:/run/docker.sock`.
  public static let unixPrefix = "unix:"

  /// - Parameter socket: an absolute path.
  public init(socket: String) { self.init(scheme: .unix, host: socket, port: 0) }

  /// The host that messages to it name. A path is no host: servers refuse one with a slash.
  public var messageHost: String { scheme == .unix ? "localhost" : host }
  public var messagePort: UInt16 { scheme == .unix ? 80 : port }
}

extension UpstreamSettings.Origin {
  /// As in the file, for people.
  public var shown: String {
    if scheme == .unix { return Self.unixPrefix + host }
    let name = host.isEmpty ? "<the request's own host>" : host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
    let isUsual = port == (scheme == .https ? 443 : 80)
    return "\(scheme.rawValue)://\(name)" + (isUsual ? "" : ":\(port)") + path
  }
}
