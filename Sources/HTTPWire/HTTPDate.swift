/// HTTP-date (RFC 9110 section 5.6.7), as seconds of Unix time.

private let dayNames: StaticString = "SunMonTueWedThuFriSat"
private let monthNames: StaticString = "JanFebMarAprMayJunJulAugSepOctNovDec"

/// Reads the three forms: IMF-fixdate, RFC 850's and asctime's. Does not compare the day's name with the date.
/// - Parameter now: Unix time, for the century of RFC 850's two-digit years: more than 50 years ahead means the past.
/// - Returns: nil for anything else.
public func parseHTTPDate(_ text: UnsafeRawBufferPointer, now: Int64) -> Int64? {
  // The only form that is still sent: its comma is found at once.
  if text.count == 29, text[3] == ASCII.comma, text[0] != ASCII.comma, text[1] != ASCII.comma, text[2] != ASCII.comma {
    return fixdate(text)
  }
  var reader = DateReader(text: text)
  guard let comma = text.firstIndex(of: ASCII.comma) else { return reader.asctime() }
  return comma == 3 ? nil : reader.rfc850(after: comma, now: now)
}

/// Whether `ByteWriter.append(httpDate:)` writes the same text again.
/// - Parameter time: what `parseHTTPDate` has read from it.
public func isFixdate(_ text: UnsafeRawBufferPointer, of time: Int64) -> Bool {
  guard text.count == 29, text[3] == ASCII.comma, text[23] != ASCII.zero + 6 else { return false }
  let day = dayNames.utf8Start + weekday(days: time.dividedFloor(by: 86_400)) * 3
  return text[0] == day[0] && text[1] == day[1] && text[2] == day[2]
}

/// - Parameter text: 29 bytes. All parts are where they always are.
private func fixdate(_ text: UnsafeRawBufferPointer) -> Int64? {
  guard let base = text.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return nil }
  /// nil: these two bytes are no digits.
  @inline(__always)
  func number(at index: Int) -> Int? {
    let (tens, ones) = (base[index] &- ASCII.zero, base[index &+ 1] &- ASCII.zero)
    return tens <= 9 && ones <= 9 ? Int(tens) &* 10 &+ Int(ones) : nil
  }
  guard base[4] == ASCII.space, let day = number(at: 5), let month = month(load32(base + 7)), base[11] == ASCII.space,
    let century = number(at: 12), let year = number(at: 14), base[16] == ASCII.space,
    let hour = number(at: 17), base[19] == ASCII.colon, let minute = number(at: 20), base[22] == ASCII.colon,
    let second = number(at: 23), load32(base + 25) == word32(" GMT"), hour < 24, minute < 60, second <= leapSecond
  else { return nil }
  return unixTime(century * 100 + year, month, day, hour * 3600 + minute * 60 + second)
}

/// - Parameter word: a space and the month's name.
@inline(__always)
private func month(_ word: UInt32) -> Int? {
  switch word {
  case word32(" Jan"): 1
  case word32(" Feb"): 2
  case word32(" Mar"): 3
  case word32(" Apr"): 4
  case word32(" May"): 5
  case word32(" Jun"): 6
  case word32(" Jul"): 7
  case word32(" Aug"): 8
  case word32(" Sep"): 9
  case word32(" Oct"): 10
  case word32(" Nov"): 11
  case word32(" Dec"): 12
  default: nil
  }
}

private let leapSecond = 60

private struct DateReader {
  let text: UnsafeRawBufferPointer
  var index = 0

  mutating func rfc850(after comma: Int, now: Int64) -> Int64? {
    index = comma
    guard text.count == comma + 24, literal(", "), let day = number(2), literal("-"), let month = month(), literal("-"),
      let short = number(2), literal(" "), let seconds = time(), literal(" GMT")
    else { return nil }
    let thisYear = civilDate(days: now.dividedFloor(by: 86_400)).year
    var year = thisYear - thisYear % 100 + short
    if year > thisYear + 50 { year -= 100 }
    return unixTime(year, month, day, seconds)
  }

  mutating func asctime() -> Int64? {
    index = 3
    guard text.count == 24, literal(" "), let month = month(), literal(" ") else { return nil }
    if text[index] == ASCII.space { index += 1 }
    guard let day = number(text[8] == ASCII.space ? 1 : 2), literal(" "), let seconds = time(), literal(" "),
      let year = number(4)
    else { return nil }
    return unixTime(year, month, day, seconds)
  }

  @inline(__always)
  private mutating func literal(_ expected: StaticString) -> Bool {
    let count = expected.utf8CodeUnitCount
    guard index + count <= text.count else { return false }
    for offset in 0..<count where text[index + offset] != expected.utf8Start[offset] { return false }
    index += count
    return true
  }

  @inline(__always)
  private mutating func number(_ digits: Int) -> Int? {
    guard index + digits <= text.count else { return nil }
    var value = 0
    for offset in 0..<digits {
      guard ASCII.isDigit(text[index + offset]) else { return nil }
      value = value * 10 + Int(text[index + offset] - ASCII.zero)
    }
    index += digits
    return value
  }

  @inline(__always)
  private mutating func month() -> Int? {
    guard index + 3 <= text.count else { return nil }
    let (first, second, third) = (text[index], text[index + 1], text[index + 2])
    for month in 0..<12 {
      let name = monthNames.utf8Start + month * 3
      if third == name[2], second == name[1], first == name[0] {
        index += 3
        return month + 1
      }
    }
    return nil
  }

  @inline(__always)
  private mutating func time() -> Int? {
    guard let hour = number(2), hour < 24, literal(":"), let minute = number(2), minute < 60, literal(":"),
      let second = number(2), second <= leapSecond
    else { return nil }
    return hour * 3600 + minute * 60 + second
  }

}

/// - Parameter seconds: of the day.
private func unixTime(_ year: Int, _ month: Int, _ day: Int, _ seconds: Int) -> Int64? {
  let lengths: StaticString = "\u{1f}\u{1d}\u{1f}\u{1e}\u{1f}\u{1e}\u{1f}\u{1f}\u{1e}\u{1f}\u{1e}\u{1f}"
  guard 1...Int(lengths.utf8Start[month - 1]) ~= day else { return nil }
  if day == 29, month == 2, year % 4 != 0 || year % 100 == 0 && year % 400 != 0 { return nil }
  return daysSinceEpoch(year, month, day) * 86_400 + Int64(seconds)
}

/// Days from 1970-01-01 in the proleptic Gregorian calendar. Years begin in March, so that the leap day is the last.
/// - Parameter year: from 0.
private func daysSinceEpoch(_ year: Int, _ month: Int, _ day: Int) -> Int64 {
  // An era more, as the first months of year 0 are of the year before: without a sign to divide is cheaper.
  let year = UInt(year + (month <= 2 ? 399 : 400))
  let (era, yearOfEra) = (year / 400, year % 400)
  let dayOfYear = (153 * UInt(month + (month > 2 ? -3 : 9)) + 2) / 5 + UInt(day - 1)
  let days = era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
  return Int64(days) - 719_468 - 146_097
}

/// From Sunday.
private func weekday(days: Int64) -> Int { Int((days % 7 + 11) % 7) }

private func civilDate(days: Int64) -> (year: Int, month: Int, day: Int) {
  let shifted = days + 719_468
  let era = shifted.dividedFloor(by: 146_097)
  let dayOfEra = shifted - era * 146_097
  let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
  let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
  let shiftedMonth = (5 * dayOfYear + 2) / 153
  let month = Int(shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9)
  let day = Int(dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
  return (Int(yearOfEra + era * 400) + (month <= 2 ? 1 : 0), month, day)
}

extension Int64 {
  fileprivate func dividedFloor(by divisor: Int64) -> Int64 {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? quotient - 1 : quotient
  }
}

extension ByteWriter {
  /// IMF-fixdate: 29 bytes.
  /// - Parameter unixTime: seconds; years 0 to 9999.
  public mutating func append(httpDate unixTime: Int64) {
    let days = unixTime.dividedFloor(by: 86_400)
    let seconds = Int(unixTime - days * 86_400)
    let date = civilDate(days: days)
    append(dayNames, from: weekday(days: days) * 3, count: 3)
    append(", ")
    append(twoDigits: date.day)
    append(byte: ASCII.space)
    append(monthNames, from: (date.month - 1) * 3, count: 3)
    append(byte: ASCII.space)
    append(twoDigits: date.year / 100)
    append(twoDigits: date.year % 100)
    append(byte: ASCII.space)
    append(twoDigits: seconds / 3600)
    append(byte: ASCII.colon)
    append(twoDigits: seconds / 60 % 60)
    append(byte: ASCII.colon)
    append(twoDigits: seconds % 60)
    append(" GMT")
  }

  /// `20150830T123600Z` (ISO 8601, basic form): 16 bytes.
  /// - Parameter unixTime: seconds; years 0 to 9999.
  public mutating func append(basicTime unixTime: Int64) {
    let days = unixTime.dividedFloor(by: 86_400)
    let seconds = Int(unixTime - days * 86_400)
    let date = civilDate(days: days)
    for number in [date.year / 100, date.year % 100, date.month, date.day] { append(twoDigits: number) }
    append(byte: UInt8(ascii: "T"))
    for number in [seconds / 3600, seconds / 60 % 60, seconds % 60] { append(twoDigits: number) }
    append(byte: UInt8(ascii: "Z"))
  }

  /// `2026-11-22T08:40:11.123Z` (RFC 3339): 24 bytes.
  /// - Parameter milliseconds: since 1970; years 0 to 9999.
  public mutating func append(internetTime milliseconds: Int64) {
    let unixTime = milliseconds.dividedFloor(by: 1000)
    let days = unixTime.dividedFloor(by: 86_400)
    let seconds = Int(unixTime - days * 86_400)
    let date = civilDate(days: days)
    let thousandths = Int(milliseconds - unixTime * 1000)
    append(twoDigits: date.year / 100)
    append(twoDigits: date.year % 100)
    append(byte: ASCII.hyphen)
    append(twoDigits: date.month)
    append(byte: ASCII.hyphen)
    append(twoDigits: date.day)
    append("T")
    append(twoDigits: seconds / 3600)
    append(byte: ASCII.colon)
    append(twoDigits: seconds / 60 % 60)
    append(byte: ASCII.colon)
    append(twoDigits: seconds % 60)
    append(byte: ASCII.dot)
    append(byte: ASCII.zero + UInt8(truncatingIfNeeded: thousandths / 100))
    append(twoDigits: thousandths % 100)
    append("Z")
  }

  private mutating func append(_ text: StaticString, from offset: Int, count: Int) {
    append(UnsafeRawBufferPointer(start: text.utf8Start + offset, count: count))
  }

  private mutating func append(twoDigits number: Int) {
    append(byte: ASCII.zero + UInt8(truncatingIfNeeded: number / 10 % 10))
    append(byte: ASCII.zero + UInt8(truncatingIfNeeded: number % 10))
  }
}
