/// What counters grew by in each of the last slots of time. Several series of the same width, one after another.
struct SlotRing: Sendable {
  let slots: Int
  /// Seconds of a slot.
  let length: Int64
  /// Counters of a series.
  let width: Int
  /// By slot, then by counter, as `Rough`.
  private var past: [UInt16]
  /// The counters when the present slot began.
  private var base: [UInt32]
  /// Number of the present slot: monotonic seconds by `length`.
  private var present: Int64

  /// - Parameters:
  ///   - slots: with the present one.
  ///   - base: the counters of all series, as they are now.
  ///   - seconds: of the monotonic clock.
  init(slots: Int, length: Int64, width: Int, base: [UInt32] = [], at seconds: Int64) {
    self.slots = slots
    self.length = length
    self.width = width
    self.base = base
    past = [UInt16](repeating: 0, count: (slots - 1) * base.count)
    present = seconds / length
  }

  /// Bytes.
  var size: Int { past.capacity * MemoryLayout<UInt16>.stride + base.capacity * MemoryLayout<UInt32>.stride }

  /// Goes on to the slot of that time.
  /// - Parameters:
  ///   - totals: the counters that belong to the present slot and those before it. They may have wrapped around.
  ///   - seconds: of the monotonic clock.
  mutating func advance(after totals: [UInt32], to seconds: Int64) {
    let next = seconds / length
    guard next > present else { return }
    let kept = max(next - Int64(slots - 1), 0)
    for slot in max(present, kept)..<next {
      let start = place(slot)
      for index in base.indices { past[start + index] = slot == present ? Rough.encode(totals[index] &- base[index]) : 0 }
    }
    base = totals
    present = next
  }

  private func place(_ slot: Int64) -> Int { Int(slot % Int64(slots - 1)) * base.count }

  /// Adds the counts of these counters to those of each slot, from the oldest to the present one.
  /// - Parameter sums: one for each slot.
  func add(_ counters: some Sequence<Int>, of series: Range<Int>, totals: [UInt32], to sums: inout [UInt64]) {
    let first = present - Int64(slots - 1)
    for index in series.lazy.flatMap({ series in counters.lazy.map { series * width + $0 } }) {
      for slot in max(first, 0)..<present { sums[Int(slot - first)] += UInt64(Rough.decode(past[place(slot) + index])) }
      sums[slots - 1] += UInt64(totals[index] &- base[index])
    }
  }

  /// The sum over all slots, of each counter of each series.
  func sums(totals: [UInt32]) -> [UInt64] {
    var sums = base.indices.map { UInt64(totals[$0] &- base[$0]) }
    for slot in 0..<(slots - 1) {
      let start = slot * base.count
      for index in base.indices where past[start + index] != 0 { sums[index] += UInt64(Rough.decode(past[start + index])) }
    }
    return sums
  }

  /// The counters of the last whole slot and of the present one, of each series.
  func latest(totals: [UInt32]) -> [UInt64] {
    let start = present > 0 ? place(present - 1) : 0
    return base.indices.map { UInt64(totals[$0] &- base[$0]) + UInt64(Rough.decode(past[start + $0])) }
  }

  /// The same past for other series.
  /// - Parameter former: for each series its index before; nil: it has no past, and its counters begin at 0.
  mutating func rearrange(_ former: [Int?]) {
    let (old, count) = (self, former.count)
    past = [UInt16](repeating: 0, count: (slots - 1) * width * count)
    base = [UInt32](repeating: 0, count: width * count)
    for (series, before) in former.enumerated() {
      guard let before else { continue }
      for counter in 0..<width {
        let (new, former) = (series * width + counter, before * width + counter)
        base[new] = old.base[former]
        for slot in 0..<(slots - 1) { past[slot * base.count + new] = old.past[slot * old.base.count + former] }
      }
    }
  }
}

/// A count in two bytes: exact below 2,048, then truncated to 11 significant bits, which is at most 0.1 % less.
enum Rough {
  private static let mantissa: UInt32 = 11

  static func encode(_ count: UInt32) -> UInt16 {
    let bits = UInt32(UInt32.bitWidth - count.leadingZeroBitCount)
    let exponent = bits > mantissa ? bits - mantissa : 0
    return UInt16(exponent << mantissa | count >> exponent)
  }

  static func decode(_ rough: UInt16) -> UInt32 {
    (UInt32(rough) & (1 << mantissa - 1)) << (UInt32(rough) >> mantissa)
  }
}
