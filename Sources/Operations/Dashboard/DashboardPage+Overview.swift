import Proxy

extension DashboardPage {
  // MARK: What needs somebody

  /// Says in one place what an operator has to look at; nothing of it is said by colour alone.
  func attention(_ html: inout HTML) {
    html.markup("<section aria-label=\"What needs you\" id=\"attention\">")
    let before = html.bytes.count
    reload(&html)
    for credential in report.figures.credentials { attention(to: credential, &html) }
    var refused = 0
    for upstream in report.upstreams {
      guard case .refused(let evaluator, let reason, let ago) = upstream.judgement else { continue }
      refused += 1
      if refused > 5 { continue }
      note(.bad, "Not trusted", &html)
      html.name(upstream.name)
      html.text(
        ": \(reason), by \(evaluator), \(VisibleText.span(ago)) ago. A connection that is refused gets no request and no credential."
      )
      html.markup("</span></div>")
    }
    if refused > 5 {
      note(.bad, "Not trusted", &html)
      html.text("\(refused - 5) more origins: see Upstreams.")
      html.markup("</span></div>")
    }
    let down = report.figures.health.origins.filter { !$0.isUp }.map(\.origin)
    list(.warning, "Down", down, "Requests go to the next origin of the list.", &html)
    let parents = report.figures.health.parents.filter { !$0.isUp }.map(\.name)
    list(.warning, "Parent proxy down", parents, "Its last use failed.", &html)
    let ending = report.certificates.filter { $0.expiry - report.now < StatusReport.soon }
    list(.warning, "Certificates end", ending.map { "\($0.name) \(ago($0.expiry))" }, "", &html)
    let pins = report.figures.lifecycle.pinExpiries.filter { $0.expiry - report.now < StatusReport.soon }
    list(.warning, "Pins end", pins.map { "\($0.name) \(ago($0.expiry))" }, "Then the policy no longer compares keys.", &html)
    if html.bytes.count == before { html.markup("<p class=\"empty\">Nothing needs you.</p>") }
    html.markup("</section>")
  }

  private func note(_ tone: Tone, _ title: StaticString, _ html: inout HTML) {
    html.markup("<div class=\"note ")
    html.markup(tone.name)
    html.markup("\"><b>")
    html.markup(title)
    html.markup("</b><span>")
  }

  private func list(_ tone: Tone, _ title: StaticString, _ names: [String], _ rest: String, _ html: inout HTML) {
    guard !names.isEmpty else { return }
    note(tone, title, &html)
    for (index, name) in names.prefix(5).enumerated() {
      if index > 0 { html.markup(", ") }
      html.name(name)
    }
    html.text(names.count > 5 ? " and \(names.count - 5) more. \(rest)" : ". \(rest)")
    html.markup("</span></div>")
  }

  private func reload(_ html: inout HTML) {
    let lifecycle = report.figures.lifecycle
    if let reason = lifecycle.notReady {
      note(.bad, "Not ready", &html)
      html.text(reason)
      html.markup("</span></div>")
    }
    guard !lifecycle.lastReloadSucceeded else { return }
    note(.bad, "The last reload failed", &html)
    html.text("\(lifecycle.lastReload.map(ago) ?? ""). The configuration before it stays in use.")
    html.markup("</span><pre>")
    for (index, error) in lifecycle.lastReloadErrors.prefix(10).enumerated() {
      if index > 0 { html.markup("\n") }
      html.text(error, limit: 300)
    }
    if lifecycle.lastReloadErrors.count > 10 {
      html.text("\n… and \(lifecycle.lastReloadErrors.count - 10) more: authproxy check")
    }
    html.markup("</pre></div>")
  }

  private func attention(to credential: CredentialReport, _ html: inout HTML) {
    let words = CredentialWords(credential, now: report.now)
    guard words.tone == .bad || words.tone == .warning else { return }
    note(words.tone, words.tone == .bad ? "Credential" : "Credential, for now", &html)
    html.name(credential.name)
    html.text(": \(words.state).", limit: 300)
    if let reason = credential.reason ?? credential.attempts.error, credential.login?.isNeeded != true {
      html.text(" \(reason).", limit: 300)
    }
    if let advice = words.advice {
      html.markup(" ")
      html.text(advice)
    }
    html.markup("</span></div>")
  }

  // MARK: Figures

  func overview(_ html: inout HTML) {
    let (minutes, hours) = (report.total(.minutes), report.total(.hours))
    html.markup("<section aria-label=\"Overview\" id=\"overview\"><dl class=\"cards\">")
    card("Requests a second", Figure.rate(minutes.rate), "\(Figure.count(minutes.requests)) in 5 min", &html)
    let failures = minutes[.serverError]
    let share = minutes.requests > 0 ? Figure.percent(Double(failures) / Double(minutes.requests)) : "0 %"
    card(
      "Answers 5xx", share, "\(Figure.count(failures)) in 5 min, \(Figure.count(hours[.serverError])) in 6 h",
      tone: failures > 0 ? .bad : .plain, &html)
    card(
      "Median time", Figure.duration(minutes.percentile(0.5)),
      "99 % within \(Figure.duration(minutes.percentile(0.99)))", &html)
    let tunnels = report.figures.counters.tunnels
    card("App connections", "\(report.figures.connections)", tunnels == 1 ? "1 tunnel" : "\(tunnels) tunnels", &html)
    let pools = report.figures.pools
    card(
      "Origin connections", "\(pools.reduce(0) { $0 + $1.active + $1.idle + $1.connecting })",
      "\(pools.reduce(0) { $0 + $1.active }) in use", &html)
    let cache = report.figures.cache
    if cache.objects > 0 {
      card("Stored answers", "\(cache.objects)", "\(Figure.bytes(cache.bytes)) of \(Figure.bytes(cache.limit))", &html)
    }
    load(&html)
    html.markup("</dl><div class=\"charts\">")
    chart(.minutes, "the last 5 minutes", "5 minutes ago", &html)
    chart(.hours, "the last 6 hours", "6 hours ago", &html)
    html.markup("</div></section>")
  }

  private func card(_ title: StaticString, _ value: String, _ rest: String, tone: Tone = .plain, _ html: inout HTML) {
    html.markup("<div class=\"card\"><dt>")
    html.markup(title)
    html.markup("</dt><dd class=\"")
    html.markup(tone.name)
    html.markup("\">")
    html.text(value)
    html.markup("<small>")
    html.text(rest)
    html.markup("</small></dd></div>")
  }

  private func load(_ html: inout HTML) {
    html.markup("<div class=\"card\"><dt>Load of loops</dt><dd>")
    html.text(Figure.percent(report.load.max() ?? 0))
    html.markup("<small>")
    for (index, share) in report.load.prefix(16).enumerated() {
      Chart.share(
        share, tone: share > 0.9 ? .bad : share > 0.7 ? .warning : .plain,
        label: "loop \(index): \(Figure.percent(share)) of a processor", to: &html)
    }
    html.markup("</small></dd></div>")
  }

  private func chart(_ span: TrafficHistory.Span, _ name: String, _ start: StaticString, _ html: inout HTML) {
    let course = report.traffic.course(span)
    let total = course.requests.reduce(0, +)
    let most = Figure.rate(Double(course.requests.max() ?? 0) / Double(course.slot))
    html.markup("<figure class=\"card\"><figcaption><b>")
    html.text("Requests, \(name)")
    html.markup("</b><span class=\"soft\">")
    html.text("at most \(most)/s")
    html.markup("</span></figcaption>")
    Chart.bars(
      course, label: "Requests in \(name): \(total), at most \(most) a second; \(course.failures.reduce(0, +)) ended in 5xx",
      to: &html)
    html.markup("<div class=\"axis\" aria-hidden=\"true\"><span>")
    html.markup(start)
    html.markup("</span><span>now</span></div></figure>")
  }
}
