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
    var text = hostText
    if text.first == UInt8(ascii: "[") { text = text.dropFirst().dropLast() }
    return String(decoding: text, as: UTF8.self)
  }

  var port: UInt16 {
    let digits = text.dropFirst(hostText.count + 1)
    return UInt16(String(decoding: digits, as: UTF8.self)) ?? (isTLS ? 443 : 80)
  }

  /// An IPv6 address has brackets.
  var hostText: ArraySlice<UInt8> {
    guard text.last != UInt8(ascii: "]"), let colon = text.lastIndex(of: URLMark.colon) else { return text }
    return text[..<colon]
  }

  /// Where its Host line is in a head that `OutboundRequest.write` wrote for it; nil: the head keeps the app's Host.
  public func hostLine(in head: UnsafeRawBufferPointer) -> Range<Int>? {
    // It is the first one behind the request line.
    guard let end = head.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
    let line = (end + 1)..<min(end + 1 + hostLine.count, head.count)
    return head[line].elementsEqual(hostLine) ? line : nil
  }

  /// `https://host[:port]`.
  public var url: String { (isTLS ? "https://" : "http://") + String(decoding: text, as: UTF8.self) }

  /// `host[:port]`.
  public var text: ArraySlice<UInt8> { hostLine[6..<hostLine.count - 2] }
}
