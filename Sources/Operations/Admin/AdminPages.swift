import CSystem
import JSON
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
    return limits
  }

  /// - Parameter reply: called once, on any thread.
  func answer(_ request: ServedRequest, _ reply: @escaping HTTPServer.Reply) {
    if request.path == PurgePage.path, settings.expose.contains(.purge) {
      return PurgePage(service: service).answer(request, reply)
    }
    guard request.method == "GET" || request.method == "HEAD" else {
      return reply(.methodNotAllowed("GET, HEAD"))
    }
    let parts = request.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let name = parts.first.map { $0.drop { $0 == "/" } } ?? ""
    guard let page = AdminSettings.Page(rawValue: String(name)), settings.expose.contains(page), page != .purge else {
      let pages = settings.expose.map { $0 == .purge ? PurgePage.path : "/\($0.rawValue)" }.sorted().joined(separator: " ")
      return reply(.text(404, "No such page, or admin.expose does not list it. Pages: \(pages)\n"))
    }
    let wantsCredentials =
      parts.count > 1 && parts[1].split(separator: "&").contains { $0 == "credentials" || $0 == "credentials=1" }
    switch page {
    case .healthz, .purge: reply(.text(200, "ok\n"))
    case .readyz: readiness(wantsCredentials: wantsCredentials, reply)
    case .metrics: service.gather { reply(.document(MetricsText.contentType, Array($0.text().utf8))) }
    case .status: service.gather { reply(.document("application/json", $0.json())) }
    }
  }

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
  private static let uncached = [(name: "Cache-Control", value: "no-store")]

  static func text(_ status: Int, _ body: String) -> ServedAnswer { ServedAnswer(status, text: body, fields: uncached) }

  static func document(_ type: String, _ body: [UInt8]) -> ServedAnswer {
    ServedAnswer(200, type: type, fields: uncached, body: body)
  }

  /// - Parameter allowed: as in Allow.
  static func methodNotAllowed(_ allowed: String) -> ServedAnswer {
    let names = allowed.replacing(", ", with: " and ")
    return ServedAnswer(
      405, text: "only \(names) \(allowed == names ? "is" : "are") allowed\n", fields: uncached + [("Allow", allowed)])
  }
}

extension LifecycleReport {
  /// Why the proxy is not ready; nil = the listeners are open and no shutdown has begun.
  var notReady: String? {
    switch phase {
    case .serving: nil
    case .starting: "starting"
    case .stopping, .draining: "shutting down"
    }
  }
}

extension Figures {
  /// `/status`: the most important metrics and the configuration's state, for people and scripts.
  func json() -> [UInt8] {
    var value: JSONValue = [
      "version": .string(version),
      "phase": .string(lifecycle.phase.rawValue),
      "ready": .bool(lifecycle.notReady == nil),
      "started": .integer(lifecycle.started),
      "now": .integer(csys_wall_clock() / 1_000_000_000),
      "addresses": .array(lifecycle.addresses.map { .string($0) }),
      "config": lifecycle.configuration,
      "client_connections": .integer(connections),
      "tunnels": .integer(counters.tunnels),
      "upstreams": .array(counters.upstreams.map { json($0) }),
      "cache": cache.json,
      "credentials": .array(credentials.map(\.json)),
      "pins": .array(lifecycle.pinExpiries.map { ["trust": .string($0.name), "expiry": .integer($0.expiry)] }),
    ]
    if let store, case .object(let members) = value {
      value = .object(members + [.init(name: "token_store", value: store.json)])
    }
    return value.text + [UInt8(ascii: "\n")]
  }

  private func json(_ upstream: LoopCounters.Upstream) -> JSONValue {
    let codes = upstream.codes.entries.sorted { $0.label < $1.label }
    var members = [
      JSONValue.Member(name: "name", value: .string(upstream.name)),
      .init(name: "requests", value: .object(codes.map { .init(name: "\($0.label)", value: .integer($0.count)) })),
    ]
    if let pool = pools.first(where: { $0.upstream == upstream.name }) {
      members += [
        .init(name: "connections_idle", value: .integer(pool.idle)),
        .init(name: "connections_active", value: .integer(pool.active)),
        .init(name: "connections_connecting", value: .integer(pool.connecting)),
      ]
      if let expiry = pool.certificateExpiry { members.append(.init(name: "certificate_expiry", value: .integer(expiry))) }
    }
    members.append(.init(name: "connection_reuses", value: .integer(upstream.reuses)))
    if !upstream.cache.entries.isEmpty {
      let results = upstream.cache.entries.map { JSONValue.Member(name: $0.label.rawValue, value: .integer($0.count)) }
      members.append(.init(name: "cache", value: .object(results)))
    }
    let origins = health.origins.filter { $0.upstream == upstream.name }
    if !origins.isEmpty {
      members.append(
        .init(name: "origins", value: .array(origins.map { ["origin": .string($0.origin), "up": .bool($0.isUp)] })))
    }
    return .object(members)
  }
}

extension LifecycleReport {
  fileprivate var configuration: JSONValue {
    .object(
      [
        .init(name: "generation", value: .integer(generation)),
        .init(name: "last_reload_successful", value: .bool(lastReloadSucceeded)),
        .init(name: "last_reload_errors", value: .array(lastReloadErrors.map { .string($0) })),
      ] + ReloadResult.allCases.map { .init(name: "reloads_\($0.rawValue)", value: .integer(reloads[$0, default: 0])) })
  }
}

extension CredentialReport {
  fileprivate var json: JSONValue {
    var members = [
      JSONValue.Member(name: "name", value: .string(name)), .init(name: "state", value: .string(phase.rawValue)),
      .init(name: "version", value: .integer(version)), .init(name: "waiting_requests", value: .integer(waiting)),
    ]
    if let expiry { members.append(.init(name: "expiry", value: .integer(expiry))) }
    if let reason { members.append(.init(name: "reason", value: .string(reason))) }
    if let login { members.append(.init(name: "login", value: login.json)) }
    if let subjects { members.append(.init(name: "subjects", value: .integer(subjects.count))) }
    if let generation { members.append(.init(name: "generation", value: .integer(generation))) }
    return .object(members)
  }
}

extension StoreReport {
  fileprivate var json: JSONValue {
    var members = [JSONValue.Member(name: "address", value: .string(address))]
    if let isUp { members.append(.init(name: "up", value: .bool(isUp))) }
    if let reason { members.append(.init(name: "reason", value: .string(reason))) }
    members.append(.init(name: "since", value: .integer(since)))
    return .object(members)
  }
}

extension CredentialReport.Login {
  fileprivate var json: JSONValue {
    var members = [JSONValue.Member(name: "needed", value: .bool(isNeeded))]
    if let time { members.append(.init(name: "time", value: .integer(time))) }
    if let expiry { members.append(.init(name: "expiry", value: .integer(expiry))) }
    return .object(members)
  }
}
