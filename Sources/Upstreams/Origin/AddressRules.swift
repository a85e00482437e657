import EventIO
import Settings

extension Upstreams {
  /// The addresses that the proxy may connect to: none in `forbidden_addresses`, and none of its own listeners. The rule
  /// applies to the resolved address, so no name or spelling bypasses it.
  func permitted(_ addresses: [Address]) -> [Address] {
    addresses.filter { address in
      guard let bytes = address.bytes else { return false }
      return !rules.forbiddenAddresses.isForbidden(bytes) && !isOwnListener(address)
    }
  }

  /// Those of `addresses` that a parent may be asked for.
  func permitted(_ addresses: [Address], port: UInt16) -> [Address] {
    permitted(
      addresses.map { address in
        var address = address
        address.port = port
        return address
      })
  }

  /// Whether a host that somebody else will resolve may not be asked for: an address in any spelling, or this machine's own name
  /// (RFC 6761 section 6.3). What else the name leads to is not known here.
  func isForbidden(unresolved host: String, port: UInt16) -> Bool {
    var name = host[...]
    if name.hasSuffix(".") { name = name.dropLast() }
    if name == "localhost" || name.hasSuffix(".localhost") { return true }
    guard let address = Address(anySpelling: String(name)) else { return false }
    return permitted([address], port: port).isEmpty
  }

  /// Whether a connection to `address` would reach this process.
  func isOwnListener(_ address: Address) -> Bool {
    ownAddresses.contains { own in
      guard own.port == address.port, let ours = own.words, let theirs = address.words else { return false }
      // The kernel connects to this machine instead of to `0.0.0.0` or `::`.
      if ours == theirs || Self.isAny(theirs) { return true }
      // A listener bound to all addresses is reachable at every local address. The kernel is asked each time: addresses come and go, and
      // the near end of a connection says nothing, as `bind` or the address' subnet chooses it.
      return Self.isAny(ours) && (address.isLoopbackOrUnix || Socket.isLocal(address))
    }
  }

  private static func isAny(_ words: (high: UInt64, low: UInt64)) -> Bool {
    words.high == 0 && (words.low == 0 || words.low == 0xffff_0000_0000)
  }

  /// Whether an established connection reached this process. If a listener is bound to all addresses, a connection to one of
  /// the machine's own addresses usually has the same address at both ends. This finds addresses that the machine got meanwhile.
  func isOwnListener(connected descriptor: Int32, to address: Address) -> Bool {
    let isOpenEverywhere = ownAddresses.contains { own in
      guard own.port == address.port, let words = own.words else { return false }
      return Self.isAny(words)
    }
    guard isOpenEverywhere, let near = Socket.local(of: descriptor)?.words, let far = address.words else { return false }
    return near == far
  }
}
