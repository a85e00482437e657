/// Which hosts one item of `routes` or `no_proxy` means.
public struct WayPattern: Sendable, Hashable {
  public enum Hosts: Sendable, Hashable {
    case all
    /// One host: a name, lower-case without a trailing dot.
    case name(String)
    /// The names below this one; it itself is not among them.
    case below(String)
    /// A name and all below it.
    case domain(String)
    /// Literal addresses whose first bits are these: 16 bytes, IPv4 mapped, host bits zero; 0...128 bits. Never names: the proxy
    /// does not resolve a name to compare it.
    case block(network: [UInt8], prefixLength: Int)
  }
  public var hosts: Hosts
  /// nil: any port.
  public var port: UInt16?
  public init(_ hosts: Hosts, port: UInt16? = nil) {
    self.hosts = hosts
    self.port = port
  }

  /// - Parameters:
  ///   - host: lower-case, without a trailing dot and brackets.
  ///   - address: of a host that is a literal address: 16 bytes, IPv4 mapped.
  public func matches(host: String, address: [UInt8]?, port: UInt16) -> Bool {
    if let wanted = self.port, wanted != port { return false }
    switch hosts {
    case .all: return true
    case .name(let name): return host == name
    case .below(let name): return isBelow(name, host)
    case .domain(let name): return host == name || isBelow(name, host)
    case .block(let network, let length): return address.map { isInside($0, network, length) } ?? false
    }
  }

  /// At a label's boundary: `badexample.com` is not below `example.com`.
  private func isBelow(_ name: String, _ host: String) -> Bool {
    let (name, host) = (name.utf8, host.utf8)
    guard host.count >= name.count + 2, host.suffix(name.count).elementsEqual(name) else { return false }
    return host.dropLast(name.count).last == UInt8(ascii: ".")
  }

  private func isInside(_ address: [UInt8], _ network: [UInt8], _ length: Int) -> Bool {
    guard address.count == 16, network.count == 16 else { return false }
    let whole = length / 8
    guard address[..<whole] == network[..<whole] else { return false }
    let rest = length % 8
    return rest == 0 || (address[whole] ^ network[whole]) >> UInt8(8 - rest) == 0
  }
}
