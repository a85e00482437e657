import SmallHTTP

/// A page for people: plain HTML without script, style and external resource. A script can submit its form, too.
struct HTMLPage {
  private var body: String

  init(_ title: String) {
    let title = Self.escaped(title)
    body = """
      <!DOCTYPE html>
      <html lang="en"><head><meta charset="utf-8"><title>\(title)</title></head>
      <body><h1>\(title)</h1>

      """
  }

  mutating func paragraph(_ text: String) { body += "<p>\(Self.escaped(text))</p>\n" }

  /// A form whose two buttons send `decision=allow` and `decision=deny`.
  /// - Parameter fields: label, name and value; without a label, hidden.
  mutating func decision(at path: String, _ fields: [(label: String?, name: String, value: String)]) {
    body += "<form method=\"post\" action=\"\(path)\">\n"
    for field in fields {
      let attributes = "name=\"\(field.name)\" value=\"\(Self.escaped(field.value))\""
      body +=
        field.label.map { "<p><label>\($0) <input type=\"text\" \(attributes)></label></p>\n" }
        ?? "<input type=\"hidden\" \(attributes)>\n"
    }
    let buttons = [("allow", "Allow"), ("deny", "Deny")].map { "<button name=\"decision\" value=\"\($0.0)\">\($0.1)</button>" }
    body += "<p>\(buttons.joined(separator: " "))</p>\n</form>\n"
  }

  func answer(_ status: Int = 200) -> ServedAnswer {
    ServedAnswer(
      status, type: "text/html; charset=utf-8",
      fields: Self.protection + [("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")],
      body: Array((body + "</body></html>\n").utf8))
  }

  /// Also of the redirect, whose URL has a code.
  static let protection: [(name: String, value: String)] = [("Cache-Control", "no-store"), ("Referrer-Policy", "no-referrer")]

  private static func escaped(_ text: String) -> String {
    var result = ""
    for character in text.unicodeScalars {
      switch character {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&#39;"
      default: result.unicodeScalars.append(character)
      }
    }
    return result
  }
}
