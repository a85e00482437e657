import Crypto

/// `/`: a report as one page of HTML. It is complete without JavaScript, loads nothing but itself, and changes nothing.
struct DashboardPage {
  let report: StatusReport
  let query: PageQuery

  /// Rows of a table before a link to all of them.
  static let longestTable = 50
  /// Rows of what is seldom read.
  static let shortTable = 25

  init(_ report: StatusReport, _ query: PageQuery) {
    self.report = report
    self.query = query
  }

  /// Only the page's own style and script run, and only the page itself is asked.
  static let securityPolicy =
    "default-src 'none'; style-src '\(hash(style))'; script-src '\(hash(script))'; connect-src 'self'; img-src data:; "
    + "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

  private static func hash(_ literal: StaticString) -> String {
    let digest = SHA256.digest(literal.withUTF8Buffer { Array($0) })
    return "sha256-" + String(decoding: Base64.encode(digest), as: UTF8.self)
  }

  func html() -> [UInt8] {
    var html = HTML()
    html.markup(
      """
      <!doctype html><html lang="en"><head><meta charset="utf-8">\
      <meta name="viewport" content="width=device-width,initial-scale=1">\
      <noscript><meta http-equiv="refresh" content="5"></noscript><link rel="icon" href="data:,"><title>
      """)
    html.text(settingsName)
    html.markup(report.figures.lifecycle.notReady == nil ? ": ready" : ": not ready")
    html.markup("</title><style>")
    html.markup(Self.style)
    html.markup("</style></head><body><a class=\"skip\" href=\"#main\">Skip to the figures</a>")
    header(&html)
    html.markup("<div id=\"note\" role=\"status\"></div><main id=\"main\">")
    attention(&html)
    overview(&html)
    upstreams(&html)
    credentials(&html)
    trust(&html)
    trouble(&html)
    html.markup(
      "</main><footer>This page only shows: nothing on it changes the proxy. <a href=\"/status\">The same as JSON</a>")
    html.markup("</footer><script>")
    html.markup(Self.script)
    html.markup("</script></body></html>\n")
    return html.bytes
  }

  private var settingsName: String { report.settings.name }

  private func header(_ html: inout HTML) {
    let lifecycle = report.figures.lifecycle
    html.markup("<header id=\"top\"><h1>")
    html.name(settingsName)
    html.markup("<small>")
    html.text(report.figures.version == "" ? "" : "authproxy \(report.figures.version)")
    html.markup("</small></h1>")
    if let reason = lifecycle.notReady {
      html.markup("<p class=\"pill bad\">not ready: ")
      html.text(reason)
    } else {
      html.markup("<p class=\"pill good\">ready")
    }
    html.markup("</p><p>up ")
    html.text(VisibleText.span(report.now - Int64(lifecycle.started)))
    html.markup("</p><p>configuration ")
    html.number(lifecycle.generation)
    if let reload = lifecycle.lastReload {
      html.markup(lifecycle.lastReloadSucceeded ? ", read " : ", the last reload failed ")
      html.text(ago(reload))
    }
    html.markup(
      """
      </p><nav aria-label="Sections"><a href="#upstreams">Upstreams</a><a href="#credentials">Credentials</a>\
      <a href="#trust">Trust</a><a href="#trouble">Trouble</a></nav></header>
      """)
  }

  // MARK: Parts that sections share

  /// `12 s ago`, `now`, `in 3 m`.
  func ago(_ time: Int64) -> String { time == report.now ? "now" : VisibleText.distance(time, from: report.now) }

  /// Opens a table that scrolls by itself on a narrow screen, by the keyboard, too.
  func open(_ label: String, _ html: inout HTML) {
    html.markup("<div class=\"wide\" role=\"region\" tabindex=\"0\"")
    html.attribute("aria-label", label)
    html.markup("><table>")
  }

  func head(_ columns: [StaticString], numbers: Set<Int> = [], _ html: inout HTML) {
    html.markup("<thead><tr>")
    for (index, column) in columns.enumerated() {
      html.markup(numbers.contains(index) ? "<th scope=\"col\" class=\"n\">" : "<th scope=\"col\">")
      html.markup(column)
      html.markup("</th>")
    }
    html.markup("</tr></thead><tbody>")
  }

  func close(_ html: inout HTML) { html.markup("</tbody></table></div>") }

  /// A row's name.
  func rowHead(_ name: String, _ html: inout HTML) {
    html.markup("<th scope=\"row\"")
    // What is cut is there as a whole.
    if name.unicodeScalars.count > HTML.longestText { html.attribute("title", name, limit: 300) }
    html.markup(">")
    html.name(name)
  }

  func cell(_ text: String, _ html: inout HTML) {
    html.markup("<td>")
    html.text(text)
    html.markup("</td>")
  }

  func number(_ text: String, tone: Tone = .plain, isZero: Bool = false, _ html: inout HTML) {
    html.markup("<td class=\"n ")
    html.markup(isZero ? "zero" : tone.name)
    html.markup("\">")
    html.text(text)
    html.markup("</td>")
  }

  func state(_ text: String, _ tone: Tone, _ html: inout HTML) {
    html.markup("<span class=\"dot ")
    html.markup(tone.name)
    html.markup("\">")
    html.text(text)
    html.markup("</span>")
  }

  func link(_ query: PageQuery, _ anchor: StaticString, _ html: inout HTML) {
    html.markup("<a href=\"")
    html.text(query.text, limit: .max)
    html.markup(anchor)
    html.markup("\">")
  }

  /// Below a table that shows `shown` of `count` rows.
  func more(_ shown: Int, of count: Int, _ anchor: StaticString, _ html: inout HTML) {
    guard shown < count || (query.showsAll && count > Self.shortTable) else { return }
    html.markup("<p class=\"empty\">")
    html.number(shown)
    html.markup(" of ")
    html.number(count)
    html.markup(" rows. ")
    link(query.showing(all: shown < count), anchor, &html)
    html.markup(shown < count ? "Show all" : "Show fewer")
    html.markup("</a></p>")
  }

  /// When something ends: in words, and with a tone that says how soon.
  func end(_ time: Int64, _ html: inout HTML) {
    let left = time.subtractingReportingOverflow(report.now).partialValue
    html.markup("<span class=\"")
    html.markup((left < 0 ? Tone.bad : left < StatusReport.soon ? .warning : .plain).name)
    html.markup("\">")
    html.text(left < 0 ? "ended \(ago(time))" : ago(time))
    html.markup("</span>")
  }
}
