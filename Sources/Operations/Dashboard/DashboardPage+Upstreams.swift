import Settings

extension DashboardPage {
  private struct Heading {
    let title: StaticString
    let column: PageQuery.Column
    /// What it says, in a few words more.
    let help: StaticString
    var isNumber = true
  }

  private static let headings = [
    Heading(title: "Upstream", column: .name, help: "entry, origin and way out", isNumber: false),
    Heading(title: "Req/s", column: .rate, help: "requests a second, now"),
    Heading(title: "2xx", column: .good, help: "answers"),
    Heading(title: "3xx", column: .redirects, help: "redirects and unchanged"),
    Heading(title: "4xx", column: .refused, help: "refusals"),
    Heading(title: "5xx", column: .failed, help: "failures"),
    Heading(title: "p50", column: .p50, help: "half of the requests ended within this time"),
    Heading(title: "p99", column: .p99, help: "99 % of the requests ended within this time"),
    Heading(title: "Retries", column: .retries, help: "requests that were sent again, since the start"),
    Heading(title: "401s saved", column: .saved, help: "refused tokens of which apps never heard, since the start"),
    Heading(title: "Connections", column: .connections, help: "in use and idle"),
    Heading(title: "Hits", column: .hits, help: "answers from the cache, since the start"),
    Heading(title: "Trust", column: .trust, help: "the origin's identity, and its policy", isNumber: false),
    Heading(title: "Certificate ends", column: .certificate, help: "of the origin", isNumber: false),
  ]

  func upstreams(_ html: inout HTML) {
    let rows = chosen
    let shown = query.showsAll ? rows : Array(rows.prefix(Self.longestTable))
    html.markup("<section aria-labelledby=\"upstreams\"><div class=\"tools\"><h2 id=\"upstreams\">Upstreams</h2><span>")
    span(.minutes, "5 minutes", &html)
    html.markup(" · ")
    span(.hours, "6 hours", &html)
    html.markup("</span><form id=\"filter\" role=\"search\" action=\"/\"><label for=\"q\">Filter</label>")
    html.markup("<input id=\"q\" name=\"q\" type=\"search\" placeholder=\"name, origin or credential\"")
    html.attribute("value", query.filter)
    html.markup(">")
    // The rest of what the reader has chosen.
    if let column = query.column { hidden("sort", (query.descends ? "-" : "") + column.rawValue, &html) }
    if query.span != .minutes { hidden("span", query.span.rawValue, &html) }
    if query.showsAll { hidden("all", "1", &html) }
    html.markup("<noscript><button>Filter</button></noscript></form></div>")
    open("Upstreams", &html)
    html.markup("<thead><tr>")
    for heading in Self.headings { self.heading(heading, &html) }
    html.markup("</tr></thead><tbody>")
    for (index, upstream) in shown { row(index, upstream, &html) }
    if rows.isEmpty { html.markup("<tr><td colspan=\"14\" class=\"soft\">No upstream matches.</td></tr>") }
    close(&html)
    more(shown.count, of: rows.count, "#upstreams", &html)
    html.markup("</section>")
  }

  private func span(_ span: TrafficHistory.Span, _ title: StaticString, _ html: inout HTML) {
    html.markup("<a")
    html.attribute("href", query.with(span).text, limit: .max)
    if query.span == span { html.markup(" aria-current=\"true\"") }
    html.markup(">")
    html.markup(title)
    html.markup("</a>")
  }

  private func hidden(_ name: StaticString, _ value: String, _ html: inout HTML) {
    html.markup("<input type=\"hidden\" name=\"")
    html.markup(name)
    html.markup("\"")
    html.attribute("value", value)
    html.markup(">")
  }

  private func heading(_ heading: Heading, _ html: inout HTML) {
    html.markup(heading.isNumber ? "<th scope=\"col\" class=\"n\"" : "<th scope=\"col\"")
    if query.column == heading.column { html.attribute("aria-sort", query.descends ? "descending" : "ascending") }
    html.markup(" title=\"")
    html.markup(heading.help)
    html.markup("\">")
    link(query.sorted(by: heading.column), "#upstreams", &html)
    html.markup(heading.title)
    if query.column == heading.column { html.markup(query.descends ? " ↓" : " ↑") }
    html.markup("</a></th>")
  }

  // MARK: Rows

  /// What the reader wants to see, with each one's place in the configuration. What is no entry only if it has had requests.
  private var chosen: [(Int, StatusReport.Upstream)] {
    var rows = report.upstreams.enumerated().filter { index, upstream in
      (upstream.settings != nil || !upstream.codes.isEmpty) && (query.filter.isEmpty || matches(upstream))
    }.map { ($0.offset, $0.element) }
    guard let column = query.column else {
      // Entries first.
      return rows.filter { $0.1.settings != nil } + rows.filter { $0.1.settings == nil }
    }
    if column == .name || column == .trust {
      rows.sort { (text($0.1, column), $0.0) < (text($1.1, column), $1.0) }
    } else {
      let keys = Dictionary(uniqueKeysWithValues: rows.map { ($0.0, key($0.1, column)) })
      rows.sort { (keys[$0.0] ?? 0, $0.0) < (keys[$1.0] ?? 0, $1.0) }
    }
    return query.descends ? rows.reversed() : rows
  }

  private func matches(_ upstream: StatusReport.Upstream) -> Bool {
    let wanted = query.filter.lowercased()
    let texts =
      [upstream.name, upstream.settings?.credential ?? "", upstream.judgement.word]
      + (upstream.settings?.origins.map(report.shown) ?? [])
    return texts.contains { $0.lowercased().contains(wanted) }
  }

  private func text(_ upstream: StatusReport.Upstream, _ column: PageQuery.Column) -> String {
    guard column == .trust else { return upstream.name }
    // Descending, those that need somebody come first.
    return switch upstream.judgement {
    case .refused(_, let reason, _): "3 \(reason)"
    case .clear: "2"
    case .none: "1"
    case .trusted: "0"
    }
  }

  private func key(_ upstream: StatusReport.Upstream, _ column: PageQuery.Column) -> Double {
    let window = upstream.window(query.span)
    return switch column {
    case .rate: window.rate
    case .good: Double(window[.good])
    case .redirects: Double(window[.redirect])
    case .refused: Double(window[.clientError])
    case .failed: Double(window[.serverError])
    case .p50: window.percentile(0.5) ?? -1
    case .p99: window.percentile(0.99) ?? -1
    case .retries: Double(upstream.retries)
    case .saved: Double(upstream.saved)
    case .connections: Double((upstream.pool?.active ?? 0) + (upstream.pool?.idle ?? 0))
    case .hits: upstream.hitRatio ?? -1
    case .certificate: upstream.pool?.certificateExpiry.map(Double.init) ?? .infinity
    case .name, .trust: 0
    }
  }

  private func row(_ index: Int, _ upstream: StatusReport.Upstream, _ html: inout HTML) {
    let window = upstream.window(query.span)
    html.markup("<tr id=\"u")
    html.number(index)
    html.markup("\">")
    rowHead(upstream.settings == nil ? (index == LoopCounters.tunnel ? "tunnels" : "no entry") : upstream.name, &html)
    if let settings = upstream.settings { origin(settings, upstream, &html) }
    html.markup("</th><td class=\"n\">")
    if window.requests > 0 { Chart.line(report.traffic.course(query.span, of: upstream.name).requests, to: &html) }
    html.text(Figure.rate(window.rate))
    html.markup("</td>")
    for (kind, tone) in [
      (TrafficCounts.Class.good, Tone.plain), (.redirect, .plain), (.clientError, .warning), (.serverError, .bad),
    ] {
      number(Figure.count(window[kind]), tone: tone, isZero: window[kind] == 0, &html)
    }
    for share in [0.5, 0.99] {
      let time = window.percentile(share)
      number(Figure.duration(time), isZero: time == nil, &html)
    }
    number(Figure.count(upstream.retries), isZero: upstream.retries == 0, &html)
    number(Figure.count(upstream.saved), isZero: upstream.saved == 0, &html)
    connections(upstream, &html)
    number(upstream.hitRatio.map(Figure.percent) ?? "–", isZero: upstream.hitRatio == nil, &html)
    judgement(upstream, &html)
    html.markup("<td>")
    if let expiry = upstream.pool?.certificateExpiry { end(expiry, &html) }
    html.markup("</td></tr>")
  }

  private func origin(_ settings: UpstreamSettings, _ upstream: StatusReport.Upstream, _ html: inout HTML) {
    html.markup("<small>")
    for (index, origin) in settings.origins.prefix(3).enumerated() {
      html.markup(index == 0 ? "→ " : ", else ")
      html.name(report.shown(origin), limit: 80)
    }
    if upstream.ways != ["direct"] { html.text(" via \(upstream.ways.joined(separator: ", else "))") }
    let down = upstream.origins.filter { !$0.isUp }
    if !down.isEmpty {
      html.markup("; <span class=\"warn\">down: ")
      html.name(down.map(\.origin).joined(separator: ", "))
      html.markup("</span>")
    }
    html.markup("</small>")
  }

  private func connections(_ upstream: StatusReport.Upstream, _ html: inout HTML) {
    guard let pool = upstream.pool else { return number("–", isZero: true, &html) }
    html.markup("<td class=\"n\">")
    if let owner = upstream.sharesWith {
      html.markup("<span class=\"zero\">shared</span><small>with ")
      html.name(owner)
      return html.markup("</small></td>")
    }
    html.text("\(pool.active) + \(pool.idle)")
    let versions = upstream.protocols.map { $0.name == "h2" ? "HTTP/2" : "HTTP/1.1" }
    html.markup("<small>")
    html.text(versions.isEmpty ? "HTTP/1.1" : versions.joined(separator: ", "))
    html.markup("</small></td>")
  }

  private func judgement(_ upstream: StatusReport.Upstream, _ html: inout HTML) {
    html.markup("<td>")
    defer { html.markup("</td>") }
    guard upstream.settings != nil else { return }
    switch upstream.judgement {
    case .none: state("not connected yet", .plain, &html)
    case .clear: state("no TLS", .plain, &html)
    case .trusted: state("trusted", .good, &html)
    case .refused(_, let reason, _): state("refused: \(reason)", .bad, &html)
    }
    guard upstream.judgement != .clear else { return }
    html.markup("<small>policy ")
    html.name(upstream.trust)
    html.markup("</small>")
  }
}
