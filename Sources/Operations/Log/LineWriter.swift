import CSystem
import EventIO
import JSON

/// Builds one log line as bytes, JSON or text. Escapes strings; numbers and constant words need no escaping.
struct LineWriter {
  let isJSON: Bool
  private(set) var bytes: [UInt8]
  private var isFirst = true

  /// - Parameter bytes: a buffer to append to, which nobody else holds: otherwise each line copies it.
  init(json: Bool, appendingTo bytes: consuming [UInt8] = []) {
    isJSON = json
    self.bytes = bytes
    if json { self.bytes.append(UInt8(ascii: "{")) }
  }

  mutating func add(_ key: StaticString, _ value: String) {
    begin(key)
    var value = value
    value.withUTF8 { text in
      if isJSON {
        JSONString.append(text, to: &bytes)
      } else if text.isEmpty || text.contains(where: { $0 <= 32 || $0 == 34 || $0 == 61 || $0 >= 127 }) {
        JSONString.append(text, to: &bytes)
      } else {
        bytes.append(contentsOf: text)
      }
    }
  }
  mutating func add(_ key: StaticString, _ value: Int64) {
    begin(key)
    append(decimal: value)
  }
  mutating func add(_ key: StaticString, _ value: Int) { add(key, Int64(value)) }
  mutating func add(_ key: StaticString, _ value: Bool) {
    begin(key)
    append(value ? "true" : "false")
  }
  /// Nanoseconds, as milliseconds with three decimals.
  mutating func add(_ key: StaticString, nanoseconds: Int64) {
    begin(key)
    let micros = max(nanoseconds, 0) / 1_000
    append(decimal: micros / 1_000)
    bytes.append(UInt8(ascii: "."))
    let rest = micros % 1_000
    bytes.append(48 + UInt8(rest / 100))
    bytes.append(48 + UInt8(rest / 10 % 10))
    bytes.append(48 + UInt8(rest % 10))
  }
  mutating func add(_ key: StaticString, _ values: [String]) {
    begin(key)
    append(list: values)
  }
  mutating func add(_ key: StaticString, _ time: Timestamp) {
    begin(key)
    quote()
    bytes.append(contentsOf: time.text)
    quote()
  }
  /// IPv4, which most are, without a string in between.
  mutating func add(_ key: StaticString, _ address: Address) {
    guard case .ip(v6: false, _, let low, let port, _) = address.kind else { return add(key, address.description) }
    begin(key)
    quote()
    for shift in stride(from: 24, through: 0, by: -8) {
      append(decimal: Int64(low >> shift & 255))
      bytes.append(UInt8(ascii: shift > 0 ? "." : ":"))
    }
    append(decimal: Int64(port))
    quote()
  }

  private mutating func append(list values: [String]) {
    append("[")
    for (index, value) in values.enumerated() {
      if index > 0 { append(",") }
      var value = value
      value.withUTF8 { JSONString.append($0, to: &bytes) }
    }
    append("]")
  }

  /// For keys that come from log metadata.
  mutating func add(dynamic key: String, _ value: String) {
    begin(dynamic: key)
    var value = value
    value.withUTF8 { JSONString.append($0, to: &bytes) }
  }
  mutating func add(dynamic key: String, _ values: [String]) {
    begin(dynamic: key)
    append(list: values)
  }

  mutating func finish() -> [UInt8] {
    append(isJSON ? "}\n" : "\n")
    return bytes
  }

  private mutating func begin(_ key: StaticString) {
    if !isFirst { bytes.append(isJSON ? UInt8(ascii: ",") : UInt8(ascii: " ")) }
    isFirst = false
    if isJSON {
      bytes.append(34)
      append(key)
      append("\":")
    } else {
      append(key)
      bytes.append(UInt8(ascii: "="))
    }
  }

  private mutating func begin(dynamic key: String) {
    if !isFirst { bytes.append(isJSON ? UInt8(ascii: ",") : UInt8(ascii: " ")) }
    isFirst = false
    var key = key
    key.withUTF8 { key in
      if isJSON { JSONString.append(key, to: &bytes) } else { bytes.append(contentsOf: key) }
    }
    bytes.append(isJSON ? UInt8(ascii: ":") : UInt8(ascii: "="))
  }

  /// Around what is a string in JSON and needs no escaping.
  private mutating func quote() { if isJSON { bytes.append(UInt8(ascii: "\"")) } }

  private mutating func append(_ text: StaticString) {
    bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  private mutating func append(decimal value: Int64) {
    if value < 0 { bytes.append(UInt8(ascii: "-")) }
    // UInt64.max has 20 digits.
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
      var rest = value.magnitude
      var first = digits.count
      repeat {
        first -= 1
        digits[first] = 48 + UInt8(rest % 10)
        rest /= 10
      } while rest > 0
      bytes.append(contentsOf: UnsafeBufferPointer(rebasing: digits[first...]))
    }
  }
}

/// A time as in RFC 3339, UTC, with milliseconds.
struct Timestamp {
  fileprivate(set) var text: [UInt8]
}

/// Makes timestamps. Keeps the part that changes once a second.
struct TimestampClock {
  private var second: Int64 = -1
  private var last = Timestamp(text: [])

  mutating func at(nanosecondsSince1970 time: Int64) -> Timestamp {
    let second = time / 1_000_000_000
    if second != self.second {
      self.second = second
      var clock = time_t(second)
      var parts = tm()
      gmtime_r(&clock, &parts)
      func two(_ value: Int32) -> String { value < 10 ? "0\(value)" : "\(value)" }
      let day = "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))"
      last.text = Array("\(day)T\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)).000Z".utf8)
    }
    let milliseconds = time / 1_000_000 % 1_000
    let digits = last.text.count - 4
    last.text[digits] = 48 + UInt8(milliseconds / 100)
    last.text[digits + 1] = 48 + UInt8(milliseconds / 10 % 10)
    last.text[digits + 2] = 48 + UInt8(milliseconds % 10)
    return last
  }
}
