import CSystem
import Proxy
import Settings

extension AdminServer {
  /// Makes the page; `deliver` is called once, from any thread.
  func page(_ target: String, _ deliver: @escaping @Sendable (AdminAnswer) -> Void) {
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let name = parts.first.map { $0.drop { $0 == "/" } } ?? ""
    guard let page = AdminSettings.Page(rawValue: String(name)), settings.expose.contains(page) else {
      let pages = settings.expose.map { "/\($0.rawValue)" }.sorted().joined(separator: " ")
      return deliver(AdminAnswer(404, "There is no such page, or it is not exposed (admin.expose). There are: \(pages)\n"))
    }
    let wantsCredentials =
      parts.count > 1 && parts[1].split(separator: "&").contains { $0 == "credentials" || $0 == "credentials=1" }
    switch page {
    case .healthz: deliver(AdminAnswer(200, "ok\n"))
    case .readyz:
      let lifecycle = service.lifecycle
      if let reason = lifecycle.notReady { return deliver(AdminAnswer(503, "not ready: \(reason)\n")) }
      guard wantsCredentials else { return deliver(AdminAnswer(200, "ready\n")) }
      service.gather { figures in
        let dead = figures.credentials.filter { $0.phase == .needsOperator }
        if dead.isEmpty { return deliver(AdminAnswer(200, "ready\n")) }
        let lines = dead.map { "credential \($0.name) needs an operator: \($0.reason ?? "")\n" }
        deliver(AdminAnswer(503, "not ready\n" + lines.joined()))
      }
    case .metrics: service.gather { deliver(AdminAnswer(200, $0.text(), contentType: MetricsText.contentType)) }
    case .status: service.gather { deliver(AdminAnswer(200, $0.json(), contentType: "application/json")) }
    }
  }
}

extension LifecycleReport {
  /// nil = ready: listeners are up and no shutdown has begun.
  var notReady: String? {
    switch phase {
    case .serving: nil
    case .starting: "starting"
    case .stopping, .draining: "shutting down"
    }
  }
}

extension Figures {
  /// The same as the metrics, and more, for people and scripts.
  func json() -> String {
    var json = JSONText()
    json.object {
      $0.add("version", version)
      $0.add("phase", lifecycle.phase.rawValue)
      $0.add("ready", lifecycle.notReady == nil)
      $0.add("started", lifecycle.started)
      $0.add("now", Int(csys_wall_clock() / 1_000_000_000))
      $0.add("addresses", lifecycle.addresses)
      $0.object("config") {
        $0.add("generation", lifecycle.generation)
        $0.add("last_reload_successful", lifecycle.lastReloadSucceeded)
        $0.add("last_reload_errors", lifecycle.lastReloadErrors)
        for result in LifecycleReport.ReloadResult.allCases {
          $0.add("reloads_\(result.rawValue)", Int(lifecycle.reloads[result, default: 0]))
        }
      }
      $0.add("client_connections", connections)
      $0.add("tunnels", counters.tunnels)
      $0.array("upstreams", counters.upstreams) { json, upstream in
        json.add("name", upstream.name)
        json.object("requests") { json in
          for (code, count) in upstream.codes.entries.sorted(by: { $0.label < $1.label }) { json.add("\(code)", Int(count)) }
        }
        if let pool = pools.first(where: { $0.upstream == upstream.name }) {
          json.add("connections_idle", pool.idle)
          json.add("connections_active", pool.active)
          json.add("connections_connecting", pool.connecting)
          if let expiry = pool.certificateExpiry { json.add("certificate_expiry", Int(expiry)) }
        }
        json.add("connection_reuses", Int(upstream.reuses))
      }
      $0.array("credentials", credentials) { json, credential in
        json.add("name", credential.name)
        json.add("state", credential.phase.rawValue)
        json.add("version", Int(clamping: credential.version))
        json.add("waiting_requests", credential.waiting)
        if let expiry = credential.expiry { json.add("expiry", Int(expiry)) }
        if let reason = credential.reason { json.add("reason", reason) }
      }
      $0.array("pins", lifecycle.pinExpiries) { json, pin in
        json.add("trust", pin.name)
        json.add("expiry", Int(pin.expiry))
      }
    }
    return json.text + "\n"
  }
}
