extension DashboardPage {
  func trouble(_ html: inout HTML) {
    html.markup("<section aria-labelledby=\"trouble\"><h2 id=\"trouble\">Recent trouble</h2>")
    defer { html.markup("</section>") }
    let all = report.trouble
    if all.isEmpty {
      return html.markup("<p class=\"empty\">No request was answered by the proxy itself, failed or was cut.</p>")
    }
    html.markup("<h3>By cause</h3>")
    open("Trouble by cause", &html)
    head(["Upstream", "Requests", "Status", "Error", "Last", "Its details"], numbers: [1, 2], &html)
    let groups = TroubleGroup.of(all)
    for group in groups.prefix(query.showsAll ? .max : Self.shortTable) {
      html.markup("<tr>")
      rowHead(group.cause.upstream ?? "no entry", &html)
      html.markup("</th>")
      number("\(group.count)", &html)
      status(group.last, &html)
      error(group.last, &html)
      cell(ago(group.last.time), &html)
      details(group.last, &html)
      html.markup("</tr>")
    }
    close(&html)
    html.markup("<h3>The last ones</h3>")
    let shown = all.prefix(query.showsAll ? .max : Self.shortTable)
    open("The last requests with trouble", &html)
    head(["Request", "Time (UTC)", "Client", "Upstream", "Status", "Error", "Details"], numbers: [4], &html)
    for trouble in shown { row(trouble, &html) }
    close(&html)
    more(shown.count, of: all.count, "#trouble", &html)
  }

  private func row(_ trouble: Trouble, _ html: inout HTML) {
    html.markup("<tr>")
    let path = report.showsPaths ? trouble.path : trouble.shortPath
    rowHead("\(trouble.method) \(trouble.authority)\(path)", &html)
    html.markup("</th>")
    html.markup("<td title=\"")
    html.text(ago(trouble.time))
    html.markup("\">")
    html.text(Figure.clock(trouble.time))
    html.markup("</td><td>")
    html.name(trouble.client ?? "anonymous")
    html.markup("<small>")
    html.name(trouble.peer)
    html.markup("</small></td><td>")
    html.name(trouble.upstream ?? "no entry")
    html.markup("</td>")
    status(trouble, &html)
    error(trouble, &html)
    details(trouble, &html)
    html.markup("</tr>")
  }

  private func status(_ trouble: Trouble, _ html: inout HTML) {
    number(trouble.status == 0 ? "–" : "\(trouble.status)", tone: trouble.status >= 500 ? .bad : .plain, &html)
  }

  /// Who refused: the reader wants to know that first.
  private func error(_ trouble: Trouble, _ html: inout HTML) {
    html.markup("<td>")
    html.name(trouble.error ?? (trouble.isOwnAnswer ? "answered" : "answered so"))
    html.markup(trouble.isOwnAnswer ? "<small>by the proxy</small></td>" : "<small>by the origin</small></td>")
  }

  private func details(_ trouble: Trouble, _ html: inout HTML) {
    html.markup("<td class=\"wrap\">")
    if let details = trouble.details { html.name(details, limit: 300) }
    html.markup("</td>")
  }
}
