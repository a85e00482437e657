/// Why a text is not a duration, size or number, as the end of a sentence: `needs a unit: 250ms, 30s, 5m or 1h`.
public struct UnitError: Error, Sendable, Hashable, CustomStringConvertible {
  public var description: String
  public init(_ description: String) { self.description = description }
}

public enum Units {
  /// A year. A longer duration is a mistake, and timers do not support it.
  public static let longestDuration = 366 * 24 * 3_600_000
  /// 1 TiB.
  public static let largestSize = 1 << 40

  /// Milliseconds each.
  public static let ofDurations: [(name: String, factor: Int)] = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000)]
  /// A unit of `longDuration` only.
  public static let day = (name: "d", factor: 24 * 3_600_000)
  /// Bytes each.
  public static let ofSizes: [(name: String, factor: Int)] = [
    ("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("kB", 1000), ("KB", 1000),
    ("MB", 1_000_000), ("GB", 1_000_000_000),
  ]

  /// `250ms`, `30s`, `5m`, `1h` in milliseconds.
  public static func duration(_ text: String) throws(UnitError) -> Int {
    try duration(text, ofDurations, "250ms, 30s, 5m", "1h")
  }

  /// `30m`, `12h`, `90d` in milliseconds: the units of `duration`, and days.
  public static func longDuration(_ text: String) throws(UnitError) -> Int {
    try duration(text, ofDurations + [day], "30s, 5m, 12h", "90d")
  }

  private static func duration(
    _ text: String, _ units: [(name: String, factor: Int)], _ examples: String, _ last: String
  ) throws(UnitError) -> Int {
    let (count, unit) = try split(text, wanted: "a duration such as \(examples) or \(last)")
    guard !unit.isEmpty else { throw UnitError("needs a unit: \(examples) or \(last)") }
    guard let factor = units.first(where: { $0.name == unit })?.factor else {
      throw UnitError("has an unknown unit; there are \(examples) and \(last)")
    }
    return try product(count, factor, limit: longestDuration, named: "longer than a year")
  }

  /// `512B`, `64KiB`, `10MiB`, `1MB` in bytes.
  public static func size(_ text: String) throws(UnitError) -> Int {
    let (count, unit) = try split(text, wanted: "a size such as 512B, 64KiB, 10MiB or 1MB")
    guard !unit.isEmpty else { throw UnitError("needs a unit: 512B, 64KiB, 10MiB or 1MB") }
    guard let factor = ofSizes.first(where: { $0.name == unit })?.factor else {
      throw UnitError("has an unknown unit; there are 512B, 64KiB, 10MiB, 1GiB, 1kB, 1MB and 1GB")
    }
    return try product(count, factor, limit: largestSize, named: "larger than 1024GiB")
  }

  /// `1MiB` for 1048576: the largest binary unit that divides it.
  public static func text(size: Int) -> String {
    for (shift, unit) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] where size != 0 && size % (1 << shift) == 0 {
      return "\(size >> shift)\(unit)"
    }
    return "\(size)B"
  }

  /// `250ms`, `30s`, `5m`, `1h`: in the largest unit that divides it.
  public static func text(duration milliseconds: Int) -> String {
    if milliseconds == 0 { return "0s" }
    let (unit, factor) = ofDurations.last { milliseconds % $0.factor == 0 } ?? ofDurations[0]
    return "\(milliseconds / factor)\(unit)"
  }

  /// Decimal digits and nothing else.
  public static func integer(_ text: String) throws(UnitError) -> Int {
    let (count, unit) = try split(text, wanted: "a whole number")
    guard unit.isEmpty else { throw UnitError("must be a whole number without a unit") }
    return count
  }

  private static func split(_ text: String, wanted: String) throws(UnitError) -> (Int, String) {
    let digits = text.utf8.prefix { (0x30...0x39).contains($0) }
    guard !digits.isEmpty else { throw UnitError("must be \(wanted)") }
    guard let count = Int(String(digits) ?? "") else { throw UnitError("is too large") }
    return (count, String(text.utf8.dropFirst(digits.count)) ?? "")
  }

  private static func product(_ count: Int, _ factor: Int, limit: Int, named: String) throws(UnitError) -> Int {
    let (value, overflow) = count.multipliedReportingOverflow(by: factor)
    guard !overflow && value <= limit else { throw UnitError("is \(named)") }
    return value
  }
}
