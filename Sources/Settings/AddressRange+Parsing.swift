extension AddressRange {
  /// Reads `10.2.0.0/16`, `fd00::/8`, or one address. Host bits must be zero, as `10.2.3.4/16` is ambiguous.
  public init(parsing text: String) throws(HostError) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let address = IPAddress.parse(String(parts[0])) else {
      throw HostError("must be an address or a block such as 10.2.0.0/16 or fd00::/8")
    }
    let isV4 = !parts[0].utf8.contains(UInt8(ascii: ":"))
    var prefix = 128
    if parts.count == 2 {
      guard let count = UInt8(parts[1]), parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }), count <= (isV4 ? 32 : 128)
      else { throw HostError("has a prefix length that is not a number from 0 to \(isV4 ? 32 : 128)") }
      prefix = Int(count) + (isV4 ? 96 : 0)
    }
    let masked = Self.masked(address, prefix)
    guard masked == address else {
      throw HostError("has bits set beyond its prefix; the block is \(AddressRange(network: masked, prefixLength: prefix))")
    }
    self.init(network: address, prefixLength: prefix)
  }

  /// - Parameter address: 16 bytes, IPv4 mapped.
  public func contains(_ address: [UInt8]) -> Bool {
    precondition(address.count == 16)
    return Self.masked(address, prefixLength) == network
  }

  private static func masked(_ address: [UInt8], _ prefix: Int) -> [UInt8] {
    var masked = address
    for i in 0..<16 {
      let bits = max(0, min(8, prefix - i * 8))
      masked[i] &= bits == 8 ? 0xff : ~(0xff >> UInt8(bits))
    }
    return masked
  }
}

extension AddressRange: CustomStringConvertible {
  public var description: String {
    let isV4 = prefixLength >= 96 && IPAddress.isMappedIPv4(network)
    return "\(IPAddress.text(network))/\(isV4 ? prefixLength - 96 : prefixLength)"
  }
}

extension [AddressRange] {
  /// Whether one of these blocks contains the address, or the IPv4 address embedded in it.
  /// - Parameter address: 16 bytes, IPv4 mapped.
  public func isForbidden(_ address: [UInt8]) -> Bool {
    if contains(where: { $0.contains(address) }) { return true }
    guard let inner = AddressRange.embeddedIPv4(address) else { return false }
    return contains { $0.contains(inner) }
  }
}

extension AddressRange {
  /// The IPv4 address, mapped, within 64:ff9b::/96 (NAT64, RFC 6052 section 2.1) or 2002::/16 (6to4, RFC 3056 section 2).
  /// Addresses in ::ffff:0:0/96 already have the mapped form.
  static func embeddedIPv4(_ address: [UInt8]) -> [UInt8]? {
    if address[..<12] == [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0] { return IPAddress.mapped(Array(address[12...])) }
    if address[0] == 0x20 && address[1] == 0x02 { return IPAddress.mapped(Array(address[2..<6])) }
    return nil
  }
}
