internal import CSystem
internal import HTTPWire

/// Why a text is not a host, as the end of a sentence.
public struct HostError: Error, Sendable, Hashable, CustomStringConvertible {
  public var description: String
  public init(_ description: String) { self.description = description }
}

/// Normalises hosts for comparison in routing.
public enum HostName {
  /// Lower-case, without one trailing dot; IPv6 literals without brackets, in canonical text (RFC 5952). IDNA A-labels stay as
  /// they are. Names in other scripts are an error, as requests carry A-labels.
  public static func normalized(_ text: String) throws(HostError) -> String {
    guard !text.isEmpty else { throw HostError("has no host") }
    guard let (kind, host) = try? Authority.host(text) else { throw problem(of: text) }
    guard kind == .ipv6 else { return host }
    guard let bytes = IPAddress.parse(host) else { throw problem(of: text) }
    return IPAddress.text(v6: bytes)
  }

  /// Why the grammar refuses it.
  private static func problem(of text: String) -> HostError {
    if text.utf8.first == UInt8(ascii: "[") { return HostError("has an invalid IPv6 address") }
    guard text.utf8.allSatisfy({ $0 < 0x80 }) else {
      return HostError("has a non-ASCII host; write it with xn-- labels")
    }
    let host = text.utf8.last == UInt8(ascii: ".") ? text.dropLast() : text[...]
    let labels = host.split(separator: ".", omittingEmptySubsequences: false)
    // RFC 1035 section 2.3.4.
    guard host.utf8.count <= 253, labels.allSatisfy({ !$0.isEmpty && $0.utf8.count <= 63 }) else {
      return HostError("has a host with an empty or too long label")
    }
    guard host.allSatisfy({ $0.isLetter || $0.isNumber || "-_.".contains($0) }) else {
      return HostError("has a host with characters that hosts cannot have")
    }
    return HostError("has a host that is neither a name nor an IPv4 address of four decimal numbers")
  }

  /// Splits `host`, `host:port`, `[v6]`, `[v6]:port`. Does not check the host.
  public static func split(_ text: String) throws(HostError) -> (host: String, port: UInt16?) {
    let bytes = Array(text.utf8)
    guard !bytes.isEmpty else { return (text, nil) }
    guard let colon = bytes.withUnsafeBytes({ Authority.hostEnd(of: $0) }) else {
      throw HostError("has an invalid IPv6 address")
    }
    if colon == bytes.count { return (text, nil) }
    guard bytes[colon] == UInt8(ascii: ":") else { throw HostError("has text after ']'") }
    guard bytes[0] == UInt8(ascii: "[") || !bytes[(colon + 1)...].contains(UInt8(ascii: ":")) else {
      throw HostError("has more than one ':'; an IPv6 address goes in brackets: [::1]:3128")
    }
    let digits = bytes[(colon + 1)...]
    guard !digits.isEmpty, digits.count <= 5, digits.allSatisfy({ (0x30...0x39).contains($0) }),
      let port = UInt16(String(decoding: digits, as: UTF8.self))
    else { throw HostError("has a port that is not a number from 0 to 65535") }
    return (String(decoding: bytes[..<colon], as: UTF8.self), port)
  }
}

/// IPv4 and IPv6 literals over one form of 16 bytes, IPv4 mapped into ::ffff:0:0/96.
public enum IPAddress {
  /// Strict: four decimal numbers, or IPv6 without brackets and zone.
  public static func parse(_ text: String) -> [UInt8]? {
    guard text.utf8.count < 64, !text.utf8.contains(0) else { return nil }
    var v4 = [UInt8](repeating: 0, count: 4)
    if inet_pton(AF_INET, text, &v4) == 1 { return mapped(v4) }
    var v6 = [UInt8](repeating: 0, count: 16)
    return inet_pton(AF_INET6, text, &v6) == 1 ? v6 : nil
  }

  public static func mapped(_ v4: [UInt8]) -> [UInt8] {
    precondition(v4.count == 4)
    return [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff] + v4
  }

  public static func isMappedIPv4(_ address: [UInt8]) -> Bool { address[..<12] == mapped([0, 0, 0, 0])[..<12] }

  /// IPv4 as four numbers where the address is mapped, else IPv6.
  public static func text(_ address: [UInt8]) -> String {
    isMappedIPv4(address) ? address[12...].map(String.init).joined(separator: ".") : text(v6: address)
  }

  /// Canonical (RFC 5952), without brackets.
  public static func text(v6 address: [UInt8]) -> String {
    var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    guard inet_ntop(AF_INET6, address, &buffer, socklen_t(buffer.count)) != nil else { return "" }
    return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// 127.0.0.0/8 and ::1.
  public static func isLoopback(_ address: [UInt8]) -> Bool {
    isMappedIPv4(address) ? address[12] == 127 : address == [UInt8](repeating: 0, count: 15) + [1]
  }
}
