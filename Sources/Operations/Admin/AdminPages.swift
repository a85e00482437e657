import Dispatch
import Proxy
import Settings
import SmallHTTP

/// The pages of the admin listener.
struct AdminPages {
  let settings: AdminSettings
  let service: Service

  /// For scrapers and probes: few small requests, one per connection.
  static var limits: HTTPServer.Limits {
    var limits = HTTPServer.Limits()
    limits.head = 8 << 10
    limits.body = 8 << 10
    limits.patience = 10_000
    limits.persists = false
    // Probes get a place, however many connections say nothing.
    limits.evictsIdle = true
    return limits
  }

  /// - Parameter reply: called once, on any thread.
  func answer(_ request: ServedRequest, _ reply: @escaping HTTPServer.Reply) {
    let page = settings.expose.first { $0.path == request.path }
    if let page, page.isForBrowsers, !HostCheck(settings.hosts).admits(request["host"]) {
      return reply(
        .text(421, "This listener is not \(Self.shown(request["host"])): use its address, or list the name in admin.hosts.\n"))
    }
    if page == .purge { return PurgePage(service: service).answer(request, reply) }
    guard request.method == "GET" || request.method == "HEAD" else {
      return reply(.methodNotAllowed("GET, HEAD"))
    }
    let query = request.target.dropFirst(request.path.count).dropFirst()
    switch page {
    case .healthz?: reply(.text(200, "ok\n"))
    case .readyz?:
      let wantsCredentials = query.split(separator: "&").contains { $0 == "credentials" || $0 == "credentials=1" }
      readiness(wantsCredentials: wantsCredentials, reply)
    case .metrics?: service.gather { reply(.document(MetricsText.contentType, Array($0.text().utf8))) }
    case .status?: report { reply(.document("application/json", $0.json())) }
    case .dashboard?:
      let query = PageQuery(String(query))
      report { reply(.page(DashboardPage($0, query).html())) }
    case .purge?, nil:
      let pages = settings.expose.map(\.path).sorted().joined(separator: " ")
      reply(.text(404, "No such page, or admin.expose does not list it. Pages: \(pages)\n"))
    }
  }

  /// The loops have requests to serve: what takes long is written elsewhere.
  private func report(_ write: @escaping @Sendable (StatusReport) -> Void) {
    let showsPaths = if case .unix = settings.endpoint { true } else { false }
    service.report(showsPaths: showsPaths, on: Self.writers, write)
  }

  private static let writers = DispatchQueue(label: "status pages")

  /// Of a stranger.
  private static func shown(_ host: String?) -> String { VisibleText.cut(VisibleText.of(host ?? ""), to: 100) }

  private func readiness(wantsCredentials: Bool, _ reply: @escaping HTTPServer.Reply) {
    if let reason = service.lifecycle.notReady { return reply(.text(503, "not ready: \(reason)\n")) }
    guard wantsCredentials else { return reply(.text(200, "ready\n")) }
    service.gather { figures in
      let dead = figures.credentials.filter { $0.phase == .needsOperator }
      if dead.isEmpty { return reply(.text(200, "ready\n")) }
      let lines = dead.map { credential in
        let what = credential.login?.isNeeded == true ? "" : "needs an operator: "
        return "credential \(credential.name) \(what)\(credential.reason ?? "")\n"
      }
      reply(.text(503, "not ready\n" + lines.joined()))
    }
  }
}

extension ServedAnswer {
  private static let uncached = [
    (name: "Cache-Control", value: "no-store"), (name: "X-Content-Type-Options", value: "nosniff"),
    (name: "Cross-Origin-Resource-Policy", value: "same-origin"),
  ]

  static func text(_ status: Int, _ body: String) -> ServedAnswer { ServedAnswer(status, text: body, fields: uncached) }

  static func document(_ type: String, _ body: [UInt8]) -> ServedAnswer {
    ServedAnswer(200, type: type, fields: uncached, body: body)
  }

  /// The dashboard: nothing of it may be loaded from elsewhere, or shown inside of another page.
  static func page(_ html: [UInt8]) -> ServedAnswer {
    let fields = [
      ("Content-Security-Policy", DashboardPage.securityPolicy), ("X-Frame-Options", "DENY"),
      ("Referrer-Policy", "no-referrer"),
      ("Cross-Origin-Opener-Policy", "same-origin"),
    ]
    return ServedAnswer(200, type: "text/html; charset=utf-8", fields: uncached + fields, body: html)
  }

  /// - Parameter allowed: as in Allow.
  static func methodNotAllowed(_ allowed: String) -> ServedAnswer {
    let names = allowed.replacing(", ", with: " and ")
    return ServedAnswer(
      405, text: "only \(names) \(allowed == names ? "is" : "are") allowed\n", fields: uncached + [("Allow", allowed)])
  }
}

extension AdminSettings.Page {
  var path: String {
    switch self {
    case .dashboard: "/"
    case .purge: PurgePage.path
    case .healthz, .readyz, .metrics, .status: "/\(rawValue)"
    }
  }

  /// A page of the web that had its name lead here would read something, or change it.
  var isForBrowsers: Bool {
    switch self {
    case .dashboard, .status, .purge: true
    // Probes and scrapers name the target as they like.
    case .healthz, .readyz, .metrics: false
    }
  }
}
