import EventIO
import Settings

extension Upstreams {
  /// The addresses that may be connected to: not those of `forbidden_addresses`, never our own listeners. Judged on the
  /// address that will really be used, whatever name or spelling led to it.
  func permitted(_ addresses: [Address]) -> [Address] {
    addresses.filter { address in
      guard let bytes = address.bytes else { return false }
      return !rules.forbiddenAddresses.isForbidden(bytes) && !isOwnListener(address)
    }
  }

  /// Whether connecting there would reach this very process.
  func isOwnListener(_ address: Address) -> Bool {
    ownAddresses.contains { own in
      guard own.port == address.port, let ours = own.words, let theirs = address.words else { return false }
      if ours == theirs { return true }
      // Bound to all addresses: reached by any local one; loopback is the one that is certain.
      let isAny = ours.high == 0 && (ours.low == 0 || ours.low == 0xffff_0000_0000)
      return isAny && address.isLoopbackOrUnix
    }
  }

  /// Whether a connection that was made has led to this very process: one bound to all addresses is reached by each of the machine's
  /// own, and then both ends have the same.
  func isOwnListener(connected descriptor: Int32, to address: Address) -> Bool {
    let isOpenEverywhere = ownAddresses.contains { own in
      guard own.port == address.port, let words = own.words else { return false }
      return words.high == 0 && (words.low == 0 || words.low == 0xffff_0000_0000)
    }
    guard isOpenEverywhere, let near = Socket.local(of: descriptor)?.words, let far = address.words else { return false }
    return near == far
  }
}
