/// A version of HTTP by its name in ALPN (RFC 7301, RFC 9113 section 3.1).
public enum ApplicationProtocol: String, Sendable, Hashable, CaseIterable {
  case http1 = "http/1.1"
  case http2 = "h2"
}

/// What one connection offers its server by ALPN, or accepts from its client.
public enum ALPNOffer: Sendable, Hashable {
  case http1
  /// Nothing else: a server without it ends the handshake, or chooses nothing.
  case http2
  /// HTTP/2 preferred.
  case http2AndHTTP1

  /// In order of preference.
  public var protocols: [ApplicationProtocol] {
    switch self {
    case .http1: [.http1]
    case .http2: [.http2]
    case .http2AndHTTP1: [.http2, .http1]
    }
  }

  public var includesHTTP2: Bool { self != .http1 }

  /// Made once, as there are many connections.
  var wireFormat: [UInt8] {
    switch self {
    case .http1: Self.http1Bytes
    case .http2: Self.http2Bytes
    case .http2AndHTTP1: Self.bothBytes
    }
  }

  private static let http1Bytes = ALPNNames.wireFormat([ApplicationProtocol.http1.rawValue])
  private static let http2Bytes = ALPNNames.wireFormat([ApplicationProtocol.http2.rawValue])
  private static let bothBytes = ALPNNames.wireFormat([ApplicationProtocol.http2.rawValue, ApplicationProtocol.http1.rawValue])
}

/// Lists of protocol names as they are on the wire: each name follows its length (RFC 7301 section 3.1).
enum ALPNNames {
  static func wireFormat(_ names: [String]) -> [UInt8] {
    names.flatMap { [UInt8(clamping: $0.utf8.count)] + Array($0.utf8.prefix(255)) }
  }

  /// Whether a name of `list` is among these.
  static func list(_ list: [UInt8], hasOneOf names: [[UInt8]]) -> Bool {
    var index = 0
    while index < list.count {
      let end = index + 1 + Int(list[index])
      if names.contains(where: { $0.elementsEqual(list[(index + 1)..<end]) }) { return true }
      index = end
    }
    return false
  }
}
