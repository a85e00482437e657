import Proxy

extension DashboardPage {
  func credentials(_ html: inout HTML) {
    let all = report.figures.credentials
    let shown = query.showsAll ? all : Array(all.prefix(Self.longestTable))
    html.markup("<section aria-labelledby=\"credentials\"><h2 id=\"credentials\">Credentials</h2>")
    defer { html.markup("</section>") }
    if all.isEmpty { return html.markup("<p class=\"empty\">The configuration has no credentials.</p>") }
    if let store = report.figures.store { self.store(store, &html) }
    open("Credentials", &html)
    head(
      [
        "Credential", "State", "Expires", "Last refresh", "Next refresh", "Refreshes", "Failed", "Waiting requests",
        "Last error, and what to do",
      ],
      numbers: [5, 6, 7], &html)
    for (index, credential) in shown.enumerated() { row(index, credential, &html) }
    close(&html)
    more(shown.count, of: all.count, "#credentials", &html)
  }

  /// The store that a fleet shares.
  private func store(_ store: StoreReport, _ html: inout HTML) {
    html.markup("<p>Tokens are shared through ")
    html.name(store.address)
    html.markup(": ")
    switch store.isUp {
    case true?: state("reachable", .good, &html)
    case false?: state("unreachable", .bad, &html)
    case nil: state("connecting", .warning, &html)
    }
    html.text(" for \(VisibleText.span(max(report.now - store.since, 0)))")
    if let reason = store.reason { html.text(": \(reason)", limit: 300) }
    html.markup("</p>")
  }

  private func row(_ index: Int, _ credential: CredentialReport, _ html: inout HTML) {
    let words = CredentialWords(credential, now: report.now)
    html.markup("<tr id=\"c")
    html.number(index)
    html.markup("\">")
    rowHead(credential.name, &html)
    html.markup("<small>")
    html.text(report.settings.credentials[credential.name]?.kind.word ?? "of a parent proxy")
    html.markup("</small></th><td class=\"words\">")
    state(words.state, words.tone, &html)
    if let subjects = credential.subjects { small("\(subjects.count) users", &html) }
    if let login = credential.login, let time = login.time { small("logged in \(ago(time))", &html) }
    html.markup("</td>")
    expiry(credential, &html)
    cell(credential.attempts.succeeded.map(ago) ?? "", &html)
    cell(next(credential), &html)
    let good = (credential.attempts.counts[.success] ?? 0) + (credential.subjects?.exchanges[.success] ?? 0)
    let bad =
      credential.attempts.counts.reduce(UInt64(0)) { $1.key == .success ? $0 : $0 + $1.value }
      + (credential.subjects?.exchanges.reduce(UInt64(0)) { $1.key == .success ? $0 : $0 + $1.value } ?? 0)
    number(Figure.count(good), isZero: good == 0, &html)
    number(Figure.count(bad), tone: .warning, isZero: bad == 0, &html)
    number("\(credential.waiting)", tone: .warning, isZero: credential.waiting == 0, &html)
    html.markup("<td class=\"wrap\">")
    if let error = credential.reason ?? credential.attempts.error, credential.login?.isNeeded != true {
      html.text(error, limit: 300)
      if let time = credential.attempts.failed { html.text(" (\(ago(time)))") }
    }
    if let advice = words.advice {
      html.markup("<small>")
      html.text(advice)
      html.markup("</small>")
    }
    html.markup("</td></tr>")
  }

  private func small(_ text: String, _ html: inout HTML) {
    html.markup("<small>")
    html.text(text)
    html.markup("</small>")
  }

  private func expiry(_ credential: CredentialReport, _ html: inout HTML) {
    html.markup("<td>")
    defer { html.markup("</td>") }
    guard let expiry = credential.expiry else {
      return html.markup(credential.phase == .ready ? "<span class=\"zero\">never</span>" : "")
    }
    let left = max(expiry - report.now, 0)
    // Of its lifetime, or of an hour if nobody knows when it began.
    let lifetime = max(credential.attempts.succeeded.map { expiry - $0 } ?? 3_600, 1)
    let share = Double(left) / Double(lifetime)
    Chart.share(
      share, tone: share < 0.1 ? .bad : share < 0.25 ? .warning : .plain,
      label: "\(Figure.percent(share)) of its lifetime left", to: &html)
    html.text(ago(expiry))
  }

  private func next(_ credential: CredentialReport) -> String {
    if let next = credential.attempts.next, credential.attempts.failingSince != nil {
      return next > report.now ? ago(next) : "now"
    }
    guard let due = credential.attempts.due else { return "" }
    return due > report.now ? ago(due) : "with the next request"
  }

  // MARK: Trust

  func trust(_ html: inout HTML) {
    html.markup("<section aria-labelledby=\"trust\"><h2 id=\"trust\">Trust</h2><div class=\"two\"><div>")
    policies(&html)
    certificates(&html)
    html.markup("</div><div>")
    answers(&html)
    html.markup("</div></div></section>")
  }

  private func policies(_ html: inout HTML) {
    html.markup("<h3>Policies</h3>")
    open("Trust policies", &html)
    head(["Policy", "Demands", "Upstreams", "Pins end"], numbers: [2], &html)
    var users: [String: Int] = [:]
    for upstream in report.upstreams where upstream.settings?.origin.scheme == .https { users[upstream.trust, default: 0] += 1 }
    var names = report.settings.trust.keys.sorted()
    if report.settings.trust["default"] == nil { names.append("system") }
    let pins = Dictionary(report.figures.lifecycle.pinExpiries.map { ($0.name, $0.expiry) }, uniquingKeysWith: min)
    for name in names.prefix(query.showsAll ? .max : Self.shortTable) {
      html.markup("<tr>")
      rowHead(name, &html)
      html.markup("</th><td class=\"wrap\">")
      html.text(
        report.settings.trust[name].map { $0.words.joined(separator: "; ") } ?? "valid chain and host, by the system's roots",
        limit: 300)
      html.markup("</td>")
      number("\(users[name] ?? 0)", isZero: users[name] == nil, &html)
      html.markup("<td>")
      if let expiry = pins[name] { end(expiry, &html) }
      html.markup("</td></tr>")
    }
    close(&html)
    more(min(names.count, query.showsAll ? .max : Self.shortTable), of: names.count, "#trust", &html)
  }

  private func certificates(_ html: inout HTML) {
    let all = report.certificates
    guard !all.isEmpty else { return }
    html.markup("<h3>Certificates, the first to end first</h3>")
    open("Certificates", &html)
    head(["Whose", "Of", "Ends"], &html)
    let shown = all.prefix(query.showsAll ? .max : Self.shortTable)
    for certificate in shown {
      html.markup("<tr>")
      rowHead(certificate.name, &html)
      html.markup("</th>")
      cell(certificate.kind, &html)
      html.markup("<td>")
      end(certificate.expiry, &html)
      html.markup("</td></tr>")
    }
    close(&html)
    more(shown.count, of: all.count, "#trust", &html)
  }

  private func answers(_ html: inout HTML) {
    html.markup("<h3>Revocation answers</h3>")
    let all = report.revocation
    if all.isEmpty { return html.markup("<p class=\"empty\">None was needed yet.</p>") }
    open("Revocation answers", &html)
    head(["Certificate", "Answer", "Age", "Valid until", "Asked"], &html)
    let shown = all.prefix(query.showsAll ? .max : Self.shortTable)
    for answer in shown {
      html.markup("<tr>")
      rowHead(answer.subject, &html)
      html.markup("</th><td>")
      switch answer.state {
      case .good: state("good", .good, &html)
      case .list: state("list", .good, &html)
      case .revoked: state("revoked", .bad, &html)
      case .stale: state("stale", .warning, &html)
      case .unknown: state("unknown", .warning, &html)
      }
      if let retry = answer.retry { small("asked again \(ago(retry))", &html) }
      html.markup("</td>")
      cell(answer.fetched.map { VisibleText.span(report.now - $0) } ?? "", &html)
      cell(answer.expires.map(ago) ?? "", &html)
      html.markup("<td>")
      html.name(answer.responder)
      html.text(" (\(answer.source.rawValue.uppercased()))")
      html.markup("</td></tr>")
    }
    close(&html)
    more(shown.count, of: all.count, "#trust", &html)
  }
}
