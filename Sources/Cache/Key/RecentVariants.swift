import HTTPWire

/// The digests of what told requests apart lately. Most apps send one Accept for ever, and its digest costs as much as the rest of a
/// look-up. Confined to a loop, which owns it.
public final class RecentVariants {
  private static let count = 16
  /// Bytes of the longest message that is kept. Only fields of negotiation are kept in the clear: see `VariantReader`.
  static let limit = 256

  private struct Entry {
    var message: [UInt8] = []
    var digest = CacheDigest.none
  }

  private var entries: [Entry]

  public init() { entries = [Entry](repeating: Entry(), count: Self.count) }

  func digest(of message: UnsafeRawBufferPointer) -> CacheDigest {
    let place = Self.place(of: message)
    if entries[place].message.withUnsafeBytes({ equalBytes($0, message) }) { return entries[place].digest }
    let digest = CacheDigest(of: message)
    entries[place] = Entry(message: Array(message), digest: digest)
    return digest
  }

  /// Of similar messages, some place: two that share one only cost digests.
  private static func place(of message: UnsafeRawBufferPointer) -> Int {
    guard message.count >= 8 else { return 0 }
    let last = message.loadUnaligned(fromByteOffset: message.count - 8, as: UInt64.self)
    return Int(truncatingIfNeeded: ((last &+ UInt64(message.count)) &* 0x9e37_79b9_7f4a_7c15) >> 60)
  }
}
