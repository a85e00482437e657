import JSON
import Proxy
import Settings
import Trust
import Upstreams

extension StatusReport {
  /// `/status`, for scripts and `authproxy status`.
  func json() -> [UInt8] {
    var value: JSONValue = [
      "version": .string(figures.version),
      "phase": .string(figures.lifecycle.phase.rawValue),
      "ready": .bool(figures.lifecycle.notReady == nil),
      "started": .integer(figures.lifecycle.started),
      "now": .integer(now),
      "addresses": .array(figures.lifecycle.addresses.map { .string($0) }),
      "config": figures.lifecycle.configuration,
      "client_connections": .integer(figures.connections),
      "tunnels": .integer(figures.counters.tunnels),
      "loops": .array(load.map { ["load": .decimal($0)] }),
      "history": .object(TrafficHistory.Span.allCases.map { .init(name: $0.rawValue, value: traffic.course($0).json) }),
      "upstreams": .array(upstreams.map { $0.json(shown) }),
      "cache": figures.cache.json,
      "credentials": .array(figures.credentials.map { json($0) }),
      "trust": .array(
        settings.trust.keys.sorted().compactMap { name in
          settings.trust[name].map { ["name": .string(name), "rules": .array($0.words.map { .string($0) })] }
        }),
      "pins": .array(
        figures.lifecycle.pinExpiries.map { ["trust": .string($0.name), "expiry": .integer($0.expiry)] }),
      "revocation": .array(revocation.map(\.json)),
      "certificates": .array(
        certificates.map { ["of": .string($0.kind), "name": .string($0.name), "expiry": .integer($0.expiry)] }),
      "trouble": .array(trouble.map { json($0) }),
    ]
    if let store = figures.store, case .object(let members) = value {
      value = .object(members + [.init(name: "token_store", value: store.json)])
    }
    return value.text + [UInt8(ascii: "\n")]
  }

  private func json(_ trouble: Trouble) -> JSONValue {
    .object(
      .init(name: "time", value: .integer(trouble.time)), optional("client", trouble.client),
      optional("upstream", trouble.upstream),
      .init(name: "peer", value: .string(trouble.peer)),
      .init(name: "method", value: .string(trouble.method)), .init(name: "authority", value: .string(trouble.authority)),
      .init(name: "path", value: .string(showsPaths ? trouble.path : trouble.shortPath)),
      .init(name: "status", value: .integer(trouble.status)),
      .init(name: "author", value: .string(trouble.isOwnAnswer ? "proxy" : "upstream")), optional("error", trouble.error),
      optional("details", trouble.details))
  }

  private func json(_ credential: CredentialReport) -> JSONValue {
    let attempts = credential.attempts
    return .object(
      .init(name: "name", value: .string(credential.name)),
      optional("kind", settings.credentials[credential.name]?.kind.word),
      .init(name: "state", value: .string(credential.phase.rawValue)),
      .init(name: "version", value: .integer(credential.version)),
      .init(name: "waiting_requests", value: .integer(credential.waiting)),
      optional("expiry", credential.expiry), optional("reason", credential.reason),
      credential.login.map { .init(name: "login", value: $0.json) },
      credential.subjects.map { .init(name: "subjects", value: .integer($0.count)) },
      credential.generation.map { .init(name: "generation", value: .integer($0)) },
      optional("refreshed", attempts.succeeded), optional("refresh_due", credential.attempts.due),
      optional("failing_since", attempts.failingSince), optional("retry", attempts.next),
      optional("last_error", attempts.error), optional("last_error_time", attempts.failed),
      .init(
        name: "refreshes",
        value: .object(
          credential.attempts.counts.sorted { $0.key.rawValue < $1.key.rawValue }.map {
            .init(name: $0.key.rawValue, value: .integer($0.value))
          })))
  }
}

private func optional(_ name: String, _ value: String?) -> JSONValue.Member? {
  value.map { .init(name: name, value: .string($0)) }
}

private func optional(_ name: String, _ value: Int64?) -> JSONValue.Member? {
  value.map { .init(name: name, value: .integer($0)) }
}

extension JSONValue {
  fileprivate static func object(_ members: Member?...) -> JSONValue { .object(members.compactMap { $0 }) }

  /// With three decimals.
  fileprivate static func decimal(_ value: Double) -> JSONValue {
    let thousandths = Int64(min(max(value * 1_000, 0), 1e15).rounded())
    let fraction = String(thousandths % 1_000)
    return .number("\(thousandths / 1_000).\(String(repeating: "0", count: 3 - fraction.count))\(fraction)")
  }
}

extension StatusReport.Upstream {
  /// Connections are counted once.
  private var ownPool: PoolReport? { sharesWith == nil ? pool : nil }

  /// - Parameter shown: how an origin is shown.
  fileprivate func json(_ shown: (UpstreamSettings.Origin) -> String) -> JSONValue {
    .object(
      .init(name: "name", value: .string(name)),
      .init(name: "requests", value: .object(codes.map { .init(name: "\($0.code)", value: .integer($0.count)) })),
      ownPool.map { .init(name: "connections_idle", value: .integer($0.idle)) },
      ownPool.map { .init(name: "connections_active", value: .integer($0.active)) },
      ownPool.map { .init(name: "connections_connecting", value: .integer($0.connecting)) },
      optional("connections_with", sharesWith),
      optional("certificate_expiry", pool?.certificateExpiry),
      .init(name: "connection_reuses", value: .integer(reuses)),
      .init(name: "retries", value: .integer(retries)), .init(name: "unauthorized_saved", value: .integer(saved)),
      cache.isEmpty
        ? nil : .init(name: "cache", value: .object(cache.map { .init(name: $0.result, value: .integer($0.count)) })),
      protocols.isEmpty
        ? nil : .init(name: "protocols", value: .object(protocols.map { .init(name: $0.name, value: .integer($0.count)) })),
      origins.isEmpty
        ? nil
        : .init(
          name: "origins", value: .array(origins.map { ["origin": .string($0.origin), "up": .bool($0.isUp)] })),
      settings.map { .init(name: "origin", value: .array($0.origins.map { .string(shown($0)) })) },
      settings.map { _ in .init(name: "via", value: .array(ways.map { .string($0) })) },
      optional("credential", settings?.credential),
      settings.map { _ in .init(name: "trust", value: .string(trust)) },
      settings.map { _ in .init(name: "trust_state", value: judgement.json) },
      .init(name: TrafficHistory.Span.minutes.rawValue, value: minutes.json),
      .init(name: TrafficHistory.Span.hours.rawValue, value: hours.json))
  }
}

extension StatusReport.Judgement {
  fileprivate var json: JSONValue {
    guard case .refused(let evaluator, let reason, let ago) = self else { return ["state": .string(word)] }
    return [
      "state": .string(word), "evaluator": .string(evaluator), "reason": .string(reason), "seconds_ago": .integer(ago),
    ]
  }
}

extension TrafficHistory.Window {
  fileprivate var json: JSONValue {
    .object(
      .init(name: "requests", value: .integer(requests)), .init(name: "per_second", value: .decimal(rate)),
      .init(
        name: "statuses",
        value: .object(TrafficCounts.Class.allCases.map { .init(name: $0.name, value: .integer(self[$0])) })),
      percentile(0.5).map { .init(name: "p50_seconds", value: .decimal($0)) },
      percentile(0.99).map { .init(name: "p99_seconds", value: .decimal($0)) })
  }
}

extension TrafficHistory.Course {
  fileprivate var json: JSONValue {
    [
      "slot_seconds": .integer(slot), "requests": .array(requests.map { .integer($0) }),
      "failures": .array(failures.map { .integer($0) }),
    ]
  }
}

extension RevocationReport {
  fileprivate var json: JSONValue {
    .object(
      .init(name: "source", value: .string(source.rawValue)), .init(name: "state", value: .string(state.rawValue)),
      .init(name: "subject", value: .string(subject)), .init(name: "responder", value: .string(responder)),
      optional("fetched", fetched), optional("expires", expires), optional("retry", retry))
  }
}

extension LifecycleReport {
  fileprivate var configuration: JSONValue {
    .object(
      [
        .init(name: "generation", value: .integer(generation)),
        .init(name: "last_reload_successful", value: .bool(lastReloadSucceeded)),
        .init(name: "last_reload_errors", value: .array(lastReloadErrors.map { .string($0) })),
      ] + (lastReload.map { [.init(name: "last_reload", value: .integer($0))] } ?? [])
        + ReloadResult.allCases.map { .init(name: "reloads_\($0.rawValue)", value: .integer(reloads[$0, default: 0])) })
  }
}

extension CredentialReport.Login {
  fileprivate var json: JSONValue {
    .object(
      .init(name: "needed", value: .bool(isNeeded)), optional("time", time), optional("expiry", expiry))
  }
}

extension StoreReport {
  fileprivate var json: JSONValue {
    .object(
      .init(name: "address", value: .string(address)), isUp.map { .init(name: "up", value: .bool($0)) },
      optional("reason", reason), .init(name: "since", value: .integer(since)))
  }
}
