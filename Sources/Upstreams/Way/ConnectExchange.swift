import Forwarding
import HTTPWire

/// CONNECT to a parent as values: the request's bytes, and what its answer means (RFC 9110 section 9.3.6).
struct ConnectExchange: ~Copyable {
  enum Reading {
    case incomplete
    /// A tunnel. The bytes from `used` on are its first ones.
    case open(used: Int)
    case refused(ParentFailure.Reason, status: Int?)
  }

  /// Bytes that all heads of the answer together may have.
  private let limit: Int
  /// The request had a credential.
  private let hasLogin: Bool
  private var head = ResponseHead()
  /// Where the head that is being read begins: interim ones came before it.
  private var start = 0

  init(limit: Int, hasLogin: Bool) {
    self.limit = limit
    self.hasLogin = hasLogin
  }

  /// Carries what the parent needs, and nothing of the app's or the entry's.
  /// - Parameter authority: `host:port`, IPv6 in brackets.
  static func request(
    _ authority: [UInt8], by name: ProxyName, login: ParentLogin?, connectLines: [UInt8]
  ) -> [UInt8] {
    var bytes = Array("CONNECT ".utf8) + authority + Array(" HTTP/1.1\r\nHost: ".utf8) + authority + Array("\r\n".utf8)
    bytes += Array("Via: 1.1 ".utf8) + name.bytes + Array("\r\n".utf8)
    if let login { bytes += login.line }
    return bytes + connectLines + Array("\r\n".utf8)
  }

  /// - Parameter bytes: all that has come so far.
  mutating func read(_ bytes: UnsafeRawBufferPointer) -> Reading {
    while true {
      let rest = UnsafeRawBufferPointer(rebasing: bytes[start...])
      switch head.parse(rest, limit: limit - start) {
      case .incomplete: return .incomplete
      case .invalid(.headTooLarge), .invalid(.tooManyFields):
        return .refused(.badAnswer("the head of its answer is too large"), status: nil)
      case .invalid: return .refused(.badAnswer("its answer is no HTTP"), status: nil)
      case .complete:
        guard head.isInterim else { return meaning(rest) }
        start += head.length
        head.reset()
      }
    }
  }

  private func meaning(_ bytes: UnsafeRawBufferPointer) -> Reading {
    let status = head.status
    switch status {
    // Content-Length and Transfer-Encoding in it mean nothing.
    case 200..<300: return .open(used: start + head.length)
    case 407: return .refused(.loginRefused(asked: head.proxySchemes(in: bytes)), status: status)
    // tinyproxy refuses a wrong password with 401. Nobody but the parent can have answered.
    case 401 where hasLogin: return .refused(.loginRefused(asked: head.proxySchemes(in: bytes)), status: status)
    case 400..<500: return .refused(.refused, status: status)
    case 508: return .refused(.loop, status: status)
    case 504: return .refused(.unreachable(.timeout), status: status)
    case 500..<600: return .refused(.unreachable(.unavailable), status: status)
    default: return .refused(.badAnswer("it answered \(status) to CONNECT"), status: status)
    }
  }
}

extension ParentLogin {
  /// The whole field line.
  public var line: [UInt8] { Array("Proxy-Authorization: ".utf8) + value + Array("\r\n".utf8) }
}

extension ResponseHead {
  /// The names of the schemes in Proxy-Authenticate, for messages.
  func proxySchemes(in bytes: UnsafeRawBufferPointer) -> String {
    var names: [String] = []
    for field in fields where fieldNameEquals(field.name.bytes(in: bytes), Array("proxy-authenticate".utf8)) {
      let value = field.value.bytes(in: bytes)
      let name = String(decoding: value.prefix { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: ",") }.prefix(32), as: UTF8.self)
      if !name.isEmpty, !names.contains(name), names.count < 8 { names.append(name) }
    }
    return names.joined(separator: ", ")
  }
}
