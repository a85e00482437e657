/// Charts as inline SVG: colours come from the style sheet, and a text says the same to those who do not see them.
enum Chart {
  /// Requests in each slot as bars, with the failed ones in front.
  /// - Parameter label: the same in words.
  static func bars(_ course: TrafficHistory.Course, label: String, to html: inout HTML) {
    let height = 60
    let most = max(course.requests.max() ?? 0, 1)
    html.markup("<svg class=\"chart\" role=\"img\" preserveAspectRatio=\"none\"")
    html.attribute("viewBox", "0 0 \(course.requests.count * 10) \(height)")
    html.attribute("aria-label", label)
    html.markup(">")
    for (counts, isFailure) in [(course.requests, false), (course.failures, true)] {
      var path = ""
      for (slot, count) in counts.enumerated() where count > 0 {
        // What there is can be seen.
        let size = max(2, Int(count * UInt64(height) / most))
        path += "M\(slot * 10 + 1) \(height)v-\(size)h8v\(size)z"
      }
      if isFailure { html.markup("<path class=\"failed\"") } else { html.markup("<path class=\"all\"") }
      html.attribute("d", path, limit: .max)
      html.markup("/>")
    }
    html.markup("</svg>")
  }

  /// Requests in each slot as a line. Decoration: the figures are beside it.
  static func line(_ counts: [UInt64], to html: inout HTML) {
    guard let most = counts.max(), most > 0 else { return }
    let height: UInt64 = 16
    html.markup("<svg class=\"spark\" aria-hidden=\"true\" preserveAspectRatio=\"none\"")
    html.attribute("viewBox", "0 0 \((counts.count - 1) * 2) \(height)")
    html.markup("><path")
    let points = counts.enumerated().map { "\($0 * 2) \(height - $1 * height / most)" }
    html.attribute("d", "M" + points.joined(separator: "L"), limit: .max)
    html.markup("/></svg>")
  }

  /// A share as a bar.
  static func share(_ share: Double, tone: Tone, label: String, to html: inout HTML) {
    html.markup("<svg class=\"bar ")
    html.markup(tone.name)
    html.markup("\" role=\"img\" viewBox=\"0 0 100 6\" preserveAspectRatio=\"none\"")
    html.attribute("aria-label", label)
    html.markup("><rect class=\"rail\" width=\"100\" height=\"6\"/><rect height=\"6\"")
    html.attribute("width", "\(Int((min(max(share, 0), 1) * 100).rounded()))")
    html.markup("/></svg>")
  }
}

/// How serious something is. Words say it, too.
enum Tone {
  case plain, good, warning, bad

  /// Its class.
  var name: StaticString {
    switch self {
    case .plain: "plain"
    case .good: "good"
    case .warning: "warn"
    case .bad: "bad"
    }
  }
}
