/// What a reader of the dashboard wants to see of it: its query. The server sorts and filters. So both work without JavaScript, and
/// the page stays small.
struct PageQuery: Sendable, Hashable {
  /// A column of the upstreams' table by which it can be sorted.
  enum Column: String, Sendable, CaseIterable {
    case name, rate, good, redirects, refused, failed, p50, p99, retries, saved, connections, hits, trust, certificate

    /// What a reader wants to see first.
    var descendsFirst: Bool { self != .name && self != .certificate }
  }

  /// Part of names and origins.
  var filter = ""
  /// nil: as in the configuration.
  var column: Column?
  var descends = false
  var span = TrafficHistory.Span.minutes
  /// All rows of the long tables.
  var showsAll = false

  static let longestFilter = 100

  init() {}

  /// - Parameter text: behind the `?`; what is unknown or malformed is left out.
  init(_ text: String) {
    for pair in text.split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let value = parts.count > 1 ? Self.decoded(parts[1]) : ""
      switch parts[0] {
      case "q": filter = String(String.UnicodeScalarView(value.unicodeScalars.prefix(Self.longestFilter)))
      case "sort":
        descends = value.hasPrefix("-")
        column = Column(rawValue: descends ? String(value.dropFirst()) : value)
      case "span": span = TrafficHistory.Span(rawValue: value) ?? .minutes
      case "all": showsAll = true
      default: break
      }
    }
  }

  /// The query, with `?`.
  var text: String {
    var pairs: [String] = []
    if !filter.isEmpty { pairs.append("q=\(Self.encoded(filter))") }
    if let column { pairs.append("sort=\(descends ? "-" : "")\(column.rawValue)") }
    if span != .minutes { pairs.append("span=\(span.rawValue)") }
    if showsAll { pairs.append("all=1") }
    return "?" + pairs.joined(separator: "&")
  }

  func sorted(by column: Column) -> PageQuery {
    var query = self
    query.descends = self.column == column ? !descends : column.descendsFirst
    query.column = column
    return query
  }

  func with(_ span: TrafficHistory.Span) -> PageQuery {
    var query = self
    query.span = span
    return query
  }

  func showing(all: Bool) -> PageQuery {
    var query = self
    query.showsAll = all
    return query
  }

  // MARK: application/x-www-form-urlencoded

  private static func decoded(_ text: Substring) -> String {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      let digits = rest.prefix(2).compactMap {
        Unicode.Scalar($0).properties.isASCIIHexDigit ? Character(Unicode.Scalar($0)) : nil
      }
      if byte == UInt8(ascii: "%"), digits.count == 2, let value = UInt8(String(digits), radix: 16) {
        bytes.append(value)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func encoded(_ text: String) -> String {
    var result = ""
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
        UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
        result.unicodeScalars.append(Unicode.Scalar(byte))
      default: result += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
      }
    }
    return result
  }
}
