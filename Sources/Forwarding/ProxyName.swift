import HTTPWire

/// The proxy's name in Via and Proxy-Status.
public final class ProxyName: Sendable {
  /// ASCII, a token.
  public let bytes: [UInt8]
  /// `Via: 1.1 <name>\r\n`.
  let viaLine: [UInt8]
  /// The same for a message received in HTTP/1.0.
  let oldViaLine: [UInt8]
  /// The same for a message received in HTTP/2.
  let newViaLine: [UInt8]

  /// - Parameter text: a token (RFC 9110 section 5.6.2).
  public init(_ text: String) {
    bytes = Array(text.utf8)
    viaLine = Array("Via: 1.1 \(text)\r\n".utf8)
    oldViaLine = Array("Via: 1.0 \(text)\r\n".utf8)
    newViaLine = Array("Via: 2 \(text)\r\n".utf8)
  }
}
