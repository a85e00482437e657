/// Peers of a listener that send a PROXY header before anything else: `listen[].proxy_protocol`.
public struct ProxyProtocolPeers: Sendable, Hashable {
  public var ranges: [AddressRange]
  /// The peers of a unix socket, too.
  public var includesUnix: Bool
  public init(ranges: [AddressRange] = [], includesUnix: Bool = false) {
    self.ranges = ranges
    self.includesUnix = includesUnix
  }

  /// - Parameter address: 16 bytes, IPv4 mapped; nil: it came over a unix socket.
  public func contains(_ address: [UInt8]?) -> Bool {
    guard let address else { return includesUnix }
    return ranges.contains { $0.contains(address) }
  }
}

extension ProxyProtocolPeers: CustomStringConvertible {
  public var description: String { (ranges.map { "\($0)" } + (includesUnix ? ["unix"] : [])).joined(separator: ", ") }
}

extension AddressRange {
  private static let loopback = [
    AddressRange(network: IPAddress.mapped([127, 0, 0, 0]), prefixLength: 104),
    AddressRange(network: [UInt8](repeating: 0, count: 15) + [1], prefixLength: 128),
  ]

  /// Whether it has addresses of this machine alone.
  public var includesLoopback: Bool { Self.loopback.contains { contains($0.network) || $0.contains(network) } }
}
