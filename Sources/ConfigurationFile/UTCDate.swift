/// Days and times in UTC, for the expiry of pins and certificates.
enum UTCDate {
  /// `2027-06-01`, the end of that day in UTC, or `2027-06-01T12:00:00Z`; seconds since 1970.
  static func parse(_ text: String) -> Int64? {
    let bytes = Array(text.utf8)
    guard bytes.count == 10 || bytes.count == 20 else { return nil }
    func number(_ range: Range<Int>) -> Int? {
      guard bytes[range].allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
      return bytes[range].reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }
    guard bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"), let year = number(0..<4), let month = number(5..<7),
      let day = number(8..<10), year >= 1970, (1...12).contains(month), (1...days(in: month, of: year)).contains(day)
    else { return nil }
    let midnight = Int64(daysSince1970(year, month, day)) * 86_400
    if bytes.count == 10 { return midnight + 86_400 }
    guard bytes[10] == UInt8(ascii: "T"), bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"),
      bytes[19] == UInt8(ascii: "Z"), let hour = number(11..<13), let minute = number(14..<16), let second = number(17..<19),
      hour < 24, minute < 60, second < 60
    else { return nil }
    return midnight + Int64(hour * 3600 + minute * 60 + second)
  }

  private static func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

  private static func days(in month: Int, of year: Int) -> Int {
    [31, isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
  }

  private static func daysSince1970(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let before = year - 1
    let leaps = (before / 4 - before / 100 + before / 400) - (1969 / 4 - 1969 / 100 + 1969 / 400)
    return (year - 1970) * 365 + leaps + (1..<month).reduce(0) { $0 + days(in: $1, of: year) } + day - 1
  }

  /// The day, as `2027-06-01`.
  static func text(_ seconds: Int64) -> String {
    // ASN.1's times end with the year 9999; later ones show as its last day.
    var days = Int(min(max(seconds, 0), 253_402_300_799) / 86_400)
    var year = 1970
    while days >= (isLeap(year) ? 366 : 365) {
      days -= isLeap(year) ? 366 : 365
      year += 1
    }
    var month = 1
    while days >= self.days(in: month, of: year) {
      days -= self.days(in: month, of: year)
      month += 1
    }
    return "\(year)-\(month < 10 ? "0" : "")\(month)-\(days < 9 ? "0" : "")\(days + 1)"
  }
}
