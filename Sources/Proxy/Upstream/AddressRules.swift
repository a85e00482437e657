import EventIO
import Settings

extension Worker {
  /// The addresses that may be connected to: not those of `forbidden_addresses`, never our own listeners. Judged on the
  /// address that will really be used, whatever name or spelling led to it.
  func permitted(_ addresses: [Address]) -> [Address] {
    addresses.filter { address in
      guard let bytes = address.bytes else { return false }
      return !snapshot.settings.forbiddenAddresses.isForbidden(bytes) && !isOwnListener(address)
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
}
