import COpenSSL

/// What of a ClientHello is looked at before a certificate is chosen for it.
public struct ClientHello: Sendable, Hashable {
  /// Server name indication (RFC 6066 section 3), as the client wrote it; nil: it sent none.
  public let serverName: String?
  /// ALPN (RFC 7301), in the client's order; nil: it sent none.
  public let protocols: [[UInt8]]?

  init(serverName: String?, protocols: [[UInt8]]?) {
    self.serverName = serverName
    self.protocols = protocols
  }

  /// Inside the callback for the hello of this SSL. Nil where an extension is malformed.
  init?(of ssl: OpaquePointer) {
    let named = Self.extension(ssl, UInt32(TLSEXT_TYPE_server_name))
    let offered = Self.extension(ssl, UInt32(TLSEXT_TYPE_application_layer_protocol_negotiation))
    var name: String?
    if let named {
      guard let read = Self.serverName(named) else { return nil }
      name = read
    }
    var protocols: [[UInt8]]?
    if let offered {
      guard let read = Self.protocols(offered) else { return nil }
      protocols = read
    }
    self.init(serverName: name, protocols: protocols)
  }

  private static func `extension`(_ ssl: OpaquePointer, _ type: UInt32) -> UnsafeRawBufferPointer? {
    var start: UnsafePointer<UInt8>?
    var count = 0
    guard SSL_client_hello_get0_ext(ssl, type, &start, &count) == 1 else { return nil }
    return UnsafeRawBufferPointer(start: start, count: count)
  }

  /// A list with one host name. No other kind of name was ever defined, and two of one kind are forbidden.
  static func serverName(_ bytes: UnsafeRawBufferPointer) -> String? {
    guard bytes.count >= 5, number(bytes, 0) == bytes.count - 2, bytes[2] == 0, number(bytes, 3) == bytes.count - 5 else {
      return nil
    }
    let name = bytes[5...]
    guard (1...255).contains(name.count), name.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
    return String(decoding: name, as: UTF8.self)
  }

  /// A list of names that are not empty; it has one at least.
  static func protocols(_ bytes: UnsafeRawBufferPointer) -> [[UInt8]]? {
    guard bytes.count >= 2, number(bytes, 0) == bytes.count - 2 else { return nil }
    var result: [[UInt8]] = []
    var index = 2
    while index < bytes.count {
      let end = index + 1 + Int(bytes[index])
      guard end > index + 1, end <= bytes.count else { return nil }
      result.append(Array(bytes[(index + 1)..<end]))
      index = end
    }
    return result.isEmpty ? nil : result
  }

  private static func number(_ bytes: UnsafeRawBufferPointer, _ index: Int) -> Int {
    Int(bytes[index]) << 8 | Int(bytes[index + 1])
  }
}
