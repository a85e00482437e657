extension AddressRange {
  /// The blocks that `default` means in `forbidden_addresses`.
  public static let defaults: [AddressRange] = [
    v4(127, 0, 0, 0, 8),  // loopback, RFC 1122 section 3.2.1.3
    v4(0, 0, 0, 0, 8),  // unspecified, and "this network" around it, same section
    v4(169, 254, 0, 0, 16),  // link-local, RFC 3927; the metadata service of most clouds is in it
    v4(224, 0, 0, 0, 4),  // multicast, RFC 1112
    v4(255, 255, 255, 255, 32),  // limited broadcast, RFC 919
    v4(100, 100, 100, 200, 32),  // metadata, Alibaba Cloud
    v4(168, 63, 129, 16, 32),  // metadata, Azure
    v6([0, 0, 0, 0, 0, 0, 0, 1], 128),  // loopback, RFC 4291 section 2.5.3
    v6([0, 0, 0, 0, 0, 0, 0, 0], 128),  // unspecified, RFC 4291 section 2.5.2
    v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10),  // link-local, RFC 4291 section 2.5.6
    v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8),  // multicast, RFC 4291 section 2.7
    v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254], 128),  // metadata, AWS
    v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23], 128),  // keys of containers, AWS
    v6([0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254], 128),  // metadata, Google Cloud
  ]

  private static func v4(_ a: UInt8, _ b: UInt8, _ c: UInt8, _ d: UInt8, _ prefix: Int) -> AddressRange {
    AddressRange(network: IPAddress.mapped([a, b, c, d]), prefixLength: 96 + prefix)
  }

  private static func v6(_ groups: [UInt16], _ prefix: Int) -> AddressRange {
    AddressRange(network: groups.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xff)] }, prefixLength: prefix)
  }
}
