import CSystem

/// A socket address: IPv4, IPv6 or unix.
public struct Address: Sendable, Hashable, CustomStringConvertible {
  public enum Kind: Sendable, Hashable {
    /// 16 bytes in network order; IPv4 in its IPv4-mapped form.
    case ip(v6: Bool, high: UInt64, low: UInt64, port: UInt16, scope: UInt32)
    case unix(path: String)
  }
  public var kind: Kind

  public init(unixPath: String) { kind = .unix(path: unixPath) }

  /// The 16 bytes as two words, as `words` gives them; in the IPv4-mapped form the address is IPv4.
  public init(high: UInt64, low: UInt64, port: UInt16) {
    kind = .ip(v6: high != 0 || low >> 32 != 0xffff, high: high, low: low, port: port, scope: 0)
  }

  /// A literal IPv4 (strict dotted quad) or IPv6 address; nil for anything else.
  public init?(literal: String, port: UInt16) {
    var v4 = in_addr()
    var v6 = in6_addr()
    if inet_pton(AF_INET, literal, &v4) == 1 {
      kind = .ip(v6: false, high: 0, low: 0xffff_0000_0000 | UInt64(UInt32(bigEndian: v4.s_addr)), port: port, scope: 0)
    } else if inet_pton(AF_INET6, literal, &v6) == 1 {
      let (high, low) = Self.words(v6)
      kind = .ip(v6: true, high: high, low: low, port: port, scope: 0)
    } else {
      return nil
    }
  }

  /// An IPv6 literal, or IPv4 in any form that inet_aton(3) takes: `0x7f.1`, `2130706433`; nil for anything else. Port 0.
  public init?(anySpelling literal: String) {
    var v4 = in_addr()
    if let address = Address(literal: literal, port: 0) {
      self = address
    } else if inet_aton(literal, &v4) != 0 {
      kind = .ip(v6: false, high: 0, low: 0xffff_0000_0000 | UInt64(UInt32(bigEndian: v4.s_addr)), port: 0, scope: 0)
    } else {
      return nil
    }
  }

  /// nil for any other family.
  public init?(_ storage: UnsafePointer<sockaddr>?) {
    guard let storage else { return nil }
    switch Int32(storage.pointee.sa_family) {
    case AF_INET:
      let v4 = UnsafeRawPointer(storage).loadUnaligned(as: sockaddr_in.self)
      kind = .ip(
        v6: false, high: 0, low: 0xffff_0000_0000 | UInt64(UInt32(bigEndian: v4.sin_addr.s_addr)),
        port: UInt16(bigEndian: v4.sin_port), scope: 0)
    case AF_INET6:
      let v6 = UnsafeRawPointer(storage).loadUnaligned(as: sockaddr_in6.self)
      let (high, low) = Self.words(v6.sin6_addr)
      kind = .ip(v6: true, high: high, low: low, port: UInt16(bigEndian: v6.sin6_port), scope: v6.sin6_scope_id)
    case AF_UNIX:
      kind = .unix(path: "")
    default: return nil
    }
  }

  init?(_ storage: sockaddr_storage) {
    let address = withUnsafeBytes(of: storage) { Address($0.baseAddress?.assumingMemoryBound(to: sockaddr.self)) }
    guard let address else { return nil }
    self = address
  }

  private static func words(_ v6: in6_addr) -> (UInt64, UInt64) {
    withUnsafeBytes(of: v6) {
      (
        UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)),
        UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
      )
    }
  }

  public var family: Int32 {
    switch kind {
    case .ip(let v6, _, _, _, _): v6 ? AF_INET6 : AF_INET
    case .unix: AF_UNIX
    }
  }

  public var port: UInt16 {
    get { if case .ip(_, _, _, let port, _) = kind { port } else { 0 } }
    set {
      if case .ip(let v6, let high, let low, _, let scope) = kind {
        kind = .ip(v6: v6, high: high, low: low, port: newValue, scope: scope)
      }
    }
  }

  /// The 16 bytes as two words, IPv4 mapped; nil for a unix address.
  public var words: (high: UInt64, low: UInt64)? {
    if case .ip(_, let high, let low, _, _) = kind { (high, low) } else { nil }
  }

  /// The 16 bytes in network order, IPv4 mapped; nil for a unix address.
  public var bytes: [UInt8]? {
    words.map { words in
      (0..<16).map { UInt8(truncatingIfNeeded: ($0 < 8 ? words.high : words.low) >> UInt64(56 - 8 * ($0 & 7))) }
    }
  }

  /// 4 or 16 bytes in network order; nil for a unix address.
  public var octets: [UInt8]? {
    guard case .ip(let isV6, _, _, _, _) = kind, let bytes else { return nil }
    return isV6 ? bytes : Array(bytes[12...])
  }

  /// - Parameter bytes: 16, IPv4 mapped.
  public init?(mapped bytes: [UInt8], port: UInt16 = 0) {
    guard bytes.count == 16 else { return nil }
    let words = [0, 8].map { start in bytes[start..<(start + 8)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) } }
    let isV4 = words[0] == 0 && words[1] >> 32 == 0xffff
    kind = .ip(v6: !isV4, high: words[0], low: words[1], port: port, scope: 0)
  }

  public var isLoopbackOrUnix: Bool { isUnix || isLoopback }
  var isLoopback: Bool {
    guard case .ip(_, let high, let low, _, _) = kind else { return false }
    return high == 0 && (low == 1 || low >> 24 == 0xffff7f)
  }

  /// Calls `body` with the address in the kernel's form; nil if a unix path is too long.
  func withSockaddr<R>(_ body: (UnsafePointer<sockaddr_storage>, socklen_t) -> R) -> R? {
    var storage = sockaddr_storage()
    switch kind {
    case .ip(false, _, let low, let port, _):
      var v4 = sockaddr_in()
      v4.sin_family = sa_family_t(AF_INET)
      v4.sin_port = port.bigEndian
      v4.sin_addr.s_addr = UInt32(truncatingIfNeeded: low).bigEndian
      withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: v4, as: sockaddr_in.self) }
      return body(&storage, socklen_t(MemoryLayout<sockaddr_in>.size))
    case .ip(true, let high, let low, let port, let scope):
      var v6 = sockaddr_in6()
      v6.sin6_family = sa_family_t(AF_INET6)
      v6.sin6_port = port.bigEndian
      v6.sin6_scope_id = scope
      withUnsafeMutableBytes(of: &v6.sin6_addr) {
        $0.storeBytes(of: high.bigEndian, as: UInt64.self)
        $0.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
      }
      withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: v6, as: sockaddr_in6.self) }
      return body(&storage, socklen_t(MemoryLayout<sockaddr_in6>.size))
    case .unix(let path):
      var unix = sockaddr_un()
      let bytes = Array(path.utf8)
      guard bytes.count < MemoryLayout.size(ofValue: unix.sun_path) else { return nil }
      unix.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &unix.sun_path) { $0.copyBytes(from: bytes) }
      withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: unix, as: sockaddr_un.self) }
      return body(&storage, socklen_t(MemoryLayout<sockaddr_un>.size))
    }
  }

  /// The address without its port, IPv6 without brackets.
  public var host: String {
    switch kind {
    case .unix(let path): return path
    case .ip(false, _, let low, _, _):
      return "\(low >> 24 & 255).\(low >> 16 & 255).\(low >> 8 & 255).\(low & 255)"
    case .ip(true, let high, let low, _, _):
      var bytes = (high.bigEndian, low.bigEndian)
      var text = [CChar](repeating: 0, count: 64)
      guard inet_ntop(AF_INET6, &bytes, &text, 64) != nil else { return "?" }
      return text.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    }
  }

  /// `127.0.0.1:80`, `[::1]:80`, `unix:/path`.
  public var description: String {
    switch kind {
    case .unix(let path): "unix:\(path)"
    case .ip(let v6, _, _, let port, _): v6 ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
  }
}

extension Address {
  public var isUnix: Bool { if case .unix = kind { true } else { false } }
}
