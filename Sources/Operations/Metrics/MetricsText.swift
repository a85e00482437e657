/// Prometheus' text format, version 0.0.4.
struct MetricsText {
  enum Kind: String { case counter, gauge, histogram }
  static let contentType = "text/plain; version=0.0.4; charset=utf-8"

  private(set) var text = ""
  private var name = ""

  /// Begins a metric; the following samples belong to it. Names and units follow prometheus.io/docs/practices/naming.
  mutating func family(_ name: String, _ kind: Kind, _ help: String) {
    self.name = name
    text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
  }

  mutating func sample(_ labels: [(String, String)], _ value: UInt64) { line(name, labels, "\(value)") }
  mutating func sample(_ labels: [(String, String)], _ value: Int) { line(name, labels, "\(value)") }
  mutating func sample(_ labels: [(String, String)], _ value: Bool) { line(name, labels, value ? "1" : "0") }
  mutating func sample(_ value: UInt64) { sample([], value) }
  mutating func sample(_ value: Int) { sample([], value) }
  mutating func sample(_ value: Bool) { sample([], value) }
  /// Takes nanoseconds, writes seconds.
  mutating func sample(_ labels: [(String, String)] = [], nanoseconds: Int64) { line(name, labels, Self.seconds(nanoseconds)) }

  mutating func sample(_ labels: [(String, String)], _ histogram: Histogram) {
    var total: UInt64 = 0
    for (index, bound) in Histogram.labels.enumerated() {
      if index < histogram.counts.count { total += histogram.counts[index] }
      line("\(name)_bucket", labels + [("le", bound)], "\(total)")
    }
    line("\(name)_sum", labels, Self.seconds(histogram.sum))
    line("\(name)_count", labels, "\(total)")
  }

  private mutating func line(_ name: String, _ labels: [(String, String)], _ value: String) {
    text += name
    if !labels.isEmpty {
      text += "{" + labels.map { "\($0)=\"\(Self.escaped($1))\"" }.joined(separator: ",") + "}"
    }
    text += " \(value)\n"
  }

  private static func seconds(_ nanoseconds: Int64) -> String {
    let micros = nanoseconds / 1_000
    var fraction = "\(micros % 1_000_000)"
    fraction = String(repeating: "0", count: 6 - fraction.count) + fraction
    return "\(micros / 1_000_000).\(fraction)"
  }

  private static func escaped(_ value: String) -> String {
    guard value.utf8.contains(where: { $0 == 34 || $0 == 92 || $0 == 10 }) else { return value }
    var result = ""
    for character in value.unicodeScalars {
      switch character {
      case "\\": result += "\\\\"
      case "\"": result += "\\\""
      case "\n": result += "\\n"
      default: result.unicodeScalars.append(character)
      }
    }
    return result
  }
}
