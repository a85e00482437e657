import HTTPWire

/// An origin's authority in messages.
public struct OriginAuthority: Sendable, Hashable {
  public let isTLS: Bool
  /// The port is the scheme's default, and omitted.
  let hasDefaultPort: Bool
  /// `Host: ...\r\n` for the origin.
  public let hostLine: [UInt8]

  /// - Parameter host: lower-case; IPv6 without brackets.
  public init(isTLS: Bool, host: String, port: UInt16) {
    self.isTLS = isTLS
    let standard: UInt16 = isTLS ? 443 : 80
    hasDefaultPort = port == standard
    hostLine = Array("Host: \(Authority.text(host: host, port: port, defaultPort: standard))\r\n".utf8)
  }

  /// Without port; an IPv6 address without brackets.
  public var host: String {
    var text = text
    if text.last != UInt8(ascii: "]"), let colon = text.lastIndex(of: UInt8(ascii: ":")) { text = text[..<colon] }
    if text.first == UInt8(ascii: "[") { text = text.dropFirst().dropLast() }
    return String(decoding: text, as: UTF8.self)
  }

  /// `host[:port]`.
  public var text: ArraySlice<UInt8> { hostLine[6..<hostLine.count - 2] }
}
