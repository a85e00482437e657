import Cache
import Proxy
import Settings
import Trust
import Upstreams

/// The figures of one scrape, collected from loops, credential owners and the life cycle.
struct Figures: Sendable {
  var counters = LoopCounters()
  var pools: [PoolReport] = []
  var connections = 0
  var health = Health()
  var bodies = Bodies()
  var cache = StoreFigures()
  var credentials: [CredentialReport] = []
  /// nil: no credential is shared.
  private(set) var store: StoreReport?
  var lifecycle: LifecycleReport
  var logLinesDropped = 0
  var leafs: (kept: Int, made: UInt64) = (0, 0)
  let version: String

  /// Bytes of bodies in memory.
  struct Bodies: Sendable {
    /// As `limits.buffers` counts them.
    var kept = 0
    /// Of these, bodies that are read whole before they are sent.
    var hashed = 0
  }

  /// Of parent proxies, and of the origins of entries that have several.
  struct Health: Sendable {
    var parents: [(name: String, isUp: Bool)] = []
    var origins: [OriginReport] = []
  }

  mutating func note(_ store: StoreReport?) { self.store = store }

  /// Every metric of docs/metrics.md, always in the same order.
  func text() -> String {
    var metrics = MetricsText()
    requests(&metrics)
    connections(&metrics)
    ways(&metrics)
    streams(&metrics)
    credentials(&metrics)
    FleetFigures(store, counters, credentials).write(to: &metrics)
    signing(&metrics)
    cache(&metrics)
    trust(&metrics)
    intercept(&metrics)
    life(&metrics)
    ProcessFigures(started: lifecycle.started).write(to: &metrics)
    return metrics.text
  }

  private func requests(_ metrics: inout MetricsText) {
    metrics.family("authproxy_requests_total", .counter, "Finished requests. Code 0: the client left before the response.")
    for upstream in counters.upstreams {
      for (code, count) in upstream.codes.entries { metrics.sample([("upstream", upstream.name), ("code", "\(code)")], count) }
    }
    histogram(
      &metrics, "authproxy_request_duration_seconds", "From a request's head to the last byte of its response.", \.duration)
    metrics.family(
      "authproxy_credential_wait_seconds", .histogram, "Time that requests waited for a token; 0 if one was ready.")
    for credential in counters.credentials { metrics.sample([("credential", credential.name)], credential.wait) }
    histogram(
      &metrics, "authproxy_upstream_connect_seconds", "Time for new connections to origins: name, TCP and TLS.", \.connect)
    histogram(
      &metrics, "authproxy_upstream_first_byte_seconds", "From a request's last byte to its response's first byte.", \.firstByte
    )
    metrics.family(
      "authproxy_proxy_errors_total", .counter, "The proxy's own error answers, and broken responses, by Proxy-Status error.")
    for (error, count) in counters.errors.entries { metrics.sample([("error", error)], count) }
    metrics.family("authproxy_retries_total", .counter, "Requests that the proxy sent again, except after refused credentials.")
    for upstream in counters.upstreams {
      for (reason, count) in upstream.retries.entries {
        metrics.sample([("upstream", upstream.name), ("reason", reason.rawValue)], count)
      }
    }
    metrics.family("authproxy_unauthorized_retries_total", .counter, "Responses with a status in retry_statuses, by outcome.")
    for upstream in counters.upstreams {
      for (result, count) in upstream.unauthorized.entries {
        metrics.sample([("upstream", upstream.name), ("result", result.rawValue)], count)
      }
    }
    metrics.family(
      "authproxy_redirects_total", .counter, "Redirects that the proxy could follow, by what it did with them.")
    for upstream in counters.upstreams {
      for (result, count) in upstream.redirects.entries {
        metrics.sample([("upstream", upstream.name), ("result", result.rawValue)], count)
      }
    }
    metrics.family(
      "authproxy_dpop_nonce_retries_total", .counter, "Requests that the proxy sent again with the DPoP nonce asked for.")
    for upstream in counters.upstreams where upstream.nonceRetries > 0 {
      metrics.sample([("upstream", upstream.name)], upstream.nonceRetries)
    }
  }

  private func histogram(
    _ metrics: inout MetricsText, _ name: String, _ help: String, _ path: KeyPath<LoopCounters.Upstream, Histogram>
  ) {
    metrics.family(name, .histogram, help)
    for upstream in counters.upstreams where !upstream[keyPath: path].counts.isEmpty {
      metrics.sample([("upstream", upstream.name)], upstream[keyPath: path])
    }
  }

  private func connections(_ metrics: inout MetricsText) {
    metrics.family("authproxy_client_connections", .gauge, "Open client connections.")
    metrics.sample(connections)
    metrics.family(
      "authproxy_proxy_protocol_errors_total", .counter,
      "Connections that the proxy closed because no valid PROXY header came from a peer in proxy_protocol.")
    for listener in lifecycle.proxyProtocolAddresses {
      let count = counters.proxyHeaderErrors.entries.first { $0.label == listener }?.count ?? 0
      metrics.sample([("listener", listener)], count)
    }
    metrics.family(
      "authproxy_upstream_connections", .gauge, "Connections to origins; if several entries share one, it counts for the first."
    )
    for pool in pools {
      for state in PoolReport.State.allCases {
        metrics.sample([("upstream", pool.upstream), ("state", state.rawValue)], pool.count(state))
      }
    }
    metrics.family(
      "authproxy_upstream_connection_reuses_total", .counter, "Requests sent on a pooled connection.")
    for upstream in counters.upstreams.dropFirst(2) { metrics.sample([("upstream", upstream.name)], upstream.reuses) }
    metrics.family(
      "authproxy_upstream_connection_discards_total", .counter,
      "Connections that the proxy closed instead of reusing: the origin had sent unexpected bytes.")
    for upstream in counters.upstreams.dropFirst(2) { metrics.sample([("upstream", upstream.name)], upstream.discards) }
    metrics.family("authproxy_tunnels", .gauge, "Open CONNECT tunnels and upgraded connections.")
    metrics.sample(counters.tunnels)
  }

  private func streams(_ metrics: inout MetricsText) {
    metrics.family(
      "authproxy_upstream_protocol_connections_total", .counter,
      "Connections to origins to which HTTP/2 was offered, by the protocol that they chose.")
    for upstream in counters.upstreams {
      for (chosen, count) in upstream.streams.protocols.entries {
        metrics.sample([("upstream", upstream.name), ("protocol", chosen.rawValue)], count)
      }
    }
    metrics.family("authproxy_upstream_streams", .gauge, "Requests in progress on HTTP/2 connections to origins.")
    for pool in pools where pool.hasStreams { metrics.sample([("upstream", pool.upstream)], pool.streams) }
    metrics.family(
      "authproxy_upstream_stream_resets_total", .counter, "HTTP/2 requests to origins that ended by RST_STREAM.")
    for upstream in counters.upstreams {
      for (reset, count) in upstream.streams.resets.entries {
        metrics.sample(
          [
            ("upstream", upstream.name), ("by", reset.by), ("code", reset.code.name),
          ], count)
      }
    }
    metrics.family("authproxy_upstream_goaways_total", .counter, "GOAWAY frames of origins.")
    for upstream in counters.upstreams {
      for (code, count) in upstream.streams.goAways.entries {
        metrics.sample([("upstream", upstream.name), ("code", code.name)], count)
      }
    }
    metrics.family("authproxy_upstream_pings_total", .counter, "PING frames to origins whose connections had been silent.")
    for upstream in counters.upstreams {
      for (isAnswered, count) in upstream.streams.pings.entries {
        metrics.sample([("upstream", upstream.name), ("result", isAnswered ? "answered" : "dead")], count)
      }
    }
    metrics.family(
      "authproxy_http2_abuse_total", .counter, "HTTP/2 connections that the proxy ended because the other end broke a bound.")
    var kinds = Tally<HTTP2Abuse>()
    for upstream in counters.upstreams { kinds += upstream.streams.abuses }
    for (kind, count) in kinds.entries { metrics.sample([("side", "origin"), ("kind", kind.rawValue)], count) }
    for (kind, count) in counters.appAbuses.entries { metrics.sample([("side", "app"), ("kind", kind.rawValue)], count) }
  }

  private func ways(_ metrics: inout MetricsText) {
    metrics.family(
      "authproxy_parent_connections_total", .counter, "Connections that were tried through a parent proxy, by result.")
    for parent in counters.parents {
      for (result, count) in parent.results.entries {
        metrics.sample([("parent", parent.name), ("result", result.rawValue)], count)
      }
    }
    metrics.family(
      "authproxy_parent_connect_seconds", .histogram, "Time until a way through a parent proxy was open.")
    for parent in counters.parents where !parent.connect.counts.isEmpty {
      metrics.sample([("parent", parent.name)], parent.connect)
    }
    metrics.family("authproxy_parent_up", .gauge, "0: the parent proxy failed when it was last used.")
    for (name, isUp) in health.parents { metrics.sample([("parent", name)], isUp) }
    metrics.family(
      "authproxy_origin_up", .gauge, "0: this one of an entry's several origins could not be reached when it was last tried.")
    for report in health.origins { metrics.sample([("upstream", report.upstream), ("origin", report.origin)], report.isUp) }
  }

  private func signing(_ metrics: inout MetricsText) {
    metrics.family("authproxy_signed_requests_total", .counter, "Requests that a credential signed, by what covers the body.")
    for credential in counters.credentials {
      for (payload, count) in credential.signed.entries {
        metrics.sample([("credential", credential.name), ("payload", payload.rawValue)], count)
      }
    }
    metrics.family("authproxy_challenges_total", .counter, "Challenges to a credential that answers them, by outcome.")
    for credential in counters.credentials {
      for (result, count) in credential.challenges.entries {
        metrics.sample([("credential", credential.name), ("result", result.rawValue)], count)
      }
    }
    metrics.family(
      "authproxy_clock_skew_seconds", .gauge,
      "Seconds that an origin's clock is ahead of the proxy's, as of the last refusal that showed a difference.")
    for upstream in counters.upstreams {
      if let skew = upstream.clockSkew { metrics.sample([("upstream", upstream.name)], Int(skew.seconds)) }
    }
    metrics.family("authproxy_hashed_body_bytes", .gauge, "Bytes of bodies that are read whole before they are sent.")
    metrics.sample(bodies.hashed)
    metrics.family(
      "authproxy_kept_body_bytes", .gauge, "Bytes of bodies that the proxy keeps, as limits.buffers counts them.")
    metrics.sample(bodies.kept)
  }

  private func cache(_ metrics: inout MetricsText) {
    metrics.family(
      "authproxy_cache_requests_total", .counter, "Requests to entries with a cache, by what the store did for them.")
    for upstream in counters.upstreams {
      for (result, count) in upstream.cache.entries {
        metrics.sample([("upstream", upstream.name), ("result", result.rawValue)], count)
      }
    }
    metrics.family("authproxy_cache_bytes", .gauge, "Bytes that the store of answers holds, as limits.cache counts them.")
    metrics.sample(cache.bytes)
    metrics.family("authproxy_cache_objects", .gauge, "Stored answers.")
    metrics.sample(cache.objects)
    metrics.family("authproxy_cache_evictions_total", .counter, "Stored answers that the proxy dropped, by reason.")
    for (reason, count) in cache.evictions { metrics.sample([("reason", reason)], count) }
    metrics.family("authproxy_cache_fetches", .gauge, "Requests to origins under way whose answers others may read, too.")
    metrics.sample(cache.fetches)
    metrics.family("authproxy_cache_waiting_requests", .gauge, "Requests that wait for the answer to an identical one.")
    metrics.sample(cache.waiting)
  }

  private func credentials(_ metrics: inout MetricsText) {
    metrics.family("authproxy_credential_refreshes_total", .counter, "Token requests, by result.")
    for credential in credentials {
      for (result, count) in credential.refreshes.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
        metrics.sample([("credential", credential.name), ("result", result.rawValue)], count)
      }
    }
    metrics.family(
      "authproxy_credential_expiry_timestamp_seconds", .gauge, "When the token in use expires, in seconds since 1970.")
    for credential in credentials {
      if let expiry = credential.expiry { metrics.sample([("credential", credential.name)], Int(expiry)) }
    }
    metrics.family("authproxy_credential_waiting_requests", .gauge, "Requests that wait for a token.")
    for credential in credentials { metrics.sample([("credential", credential.name)], credential.waiting) }
    metrics.family(
      "authproxy_credential_login_timestamp_seconds", .gauge, "When a person logged in, in seconds since 1970.")
    for credential in credentials {
      if let time = credential.login?.time { metrics.sample([("credential", credential.name)], Int(time)) }
    }
    metrics.family(
      "authproxy_credential_login_expiry_timestamp_seconds", .gauge,
      "When a person must log in again, in seconds since 1970.")
    for credential in credentials {
      if let expiry = credential.login?.expiry { metrics.sample([("credential", credential.name)], Int(expiry)) }
    }
    metrics.family(
      "authproxy_credential_certificate_expiry_timestamp_seconds", .gauge,
      "When the client certificate for the authorization server expires, in seconds since 1970.")
    for credential in credentials {
      if let expiry = credential.certificateExpiry { metrics.sample([("credential", credential.name)], Int(expiry)) }
    }
    metrics.family(
      "authproxy_subject_tokens", .gauge, "Users in the table of a credential that has a token for each user.")
    for credential in credentials {
      if let subjects = credential.subjects { metrics.sample([("credential", credential.name)], subjects.count) }
    }
    metrics.family("authproxy_subject_exchanges_total", .counter, "Exchanges on behalf of users, by result.")
    for credential in credentials {
      for result in SubjectResult.allCases {
        guard let subjects = credential.subjects else { continue }
        metrics.sample(
          [("credential", credential.name), ("result", result.rawValue)], subjects.exchanges[result, default: 0])
      }
    }
    metrics.family("authproxy_credential_needs_operator", .gauge, "1 if the credential does not work until an operator acts.")
    for credential in credentials { metrics.sample([("credential", credential.name)], credential.phase == .needsOperator) }
  }

  private func trust(_ metrics: inout MetricsText) {
    metrics.family("authproxy_trust_failures_total", .counter, "Connections that an evaluator refused.")
    for upstream in counters.upstreams {
      for (failure, count) in upstream.trustFailures.entries {
        metrics.sample(
          [("upstream", upstream.name), ("evaluator", failure.evaluator), ("reason", failure.reason.rawValue)], count)
      }
    }
    metrics.family(
      "authproxy_pin_expiry_timestamp_seconds", .gauge, "When a policy's pins stop being enforced, in seconds since 1970.")
    for (name, expiry) in lifecycle.pinExpiries { metrics.sample([("trust", name)], Int(expiry)) }
    metrics.family(
      "authproxy_certificate_expiry_timestamp_seconds", .gauge,
      "When the certificate that an origin presented last expires, in seconds since 1970.")
    for pool in pools {
      if let expiry = pool.certificateExpiry { metrics.sample([("upstream", pool.upstream)], Int(expiry)) }
    }
    metrics.family(
      "authproxy_revocation_checks_total", .counter,
      "Revocation checks, by source and result. Source none: no answer.")
    for (outcome, count) in counters.revocation.entries {
      metrics.sample([("source", outcome.source.rawValue), ("result", outcome.result.rawValue)], count)
    }
  }

  private func intercept(_ metrics: inout MetricsText) {
    metrics.family("authproxy_intercept_handshakes_total", .counter, "TLS handshakes that apps began, by result.")
    for (outcome, count) in counters.handshakes.entries { metrics.sample([("result", outcome.rawValue)], count) }
    metrics.family("authproxy_intercept_leafs_total", .counter, "Certificates that the proxy made for intercepted hosts.")
    metrics.sample(leafs.made)
    metrics.family("authproxy_intercept_leaf_cache_entries", .gauge, "Certificates for intercepted hosts in memory.")
    metrics.sample(leafs.kept)
    metrics.family(
      "authproxy_ca_expiry_timestamp_seconds", .gauge,
      "When a CA of intercept.ca expires, in seconds since 1970. The label is the beginning of its fingerprint.")
    for (authority, expiry) in lifecycle.authorityExpiries { metrics.sample([("ca", authority)], Int(expiry)) }
  }

  private func life(_ metrics: inout MetricsText) {
    metrics.family("authproxy_config_last_reload_successful", .gauge, "1 if the last reload, or the start, succeeded.")
    metrics.sample(lifecycle.lastReloadSucceeded)
    metrics.family("authproxy_config_reloads_total", .counter, "Reloads, by result. Unchanged: the configuration was the same.")
    for result in LifecycleReport.ReloadResult.allCases {
      metrics.sample([("result", result.rawValue)], lifecycle.reloads[result, default: 0])
    }
    metrics.family("authproxy_config_generation", .gauge, "Number of the configuration in use, from 1.")
    metrics.sample(lifecycle.generation)
    metrics.family(
      "authproxy_log_lines_dropped_total", .counter, "Writes to the log that were dropped because the destination was too slow."
    )
    metrics.sample(logLinesDropped)
    metrics.family("authproxy_build_info", .gauge, "Always 1; the version is a label.")
    metrics.sample([("version", version)], 1)
  }
}

extension TrustPolicy {
  /// Earliest time at which one of its pin sets expires, in seconds since 1970; nil = none expires.
  var pinExpiry: Int64? { evaluators.compactMap(Self.expiry).min() }

  private static func expiry(_ evaluator: Evaluator) -> Int64? {
    switch evaluator {
    case .pinnedPublicKeys(let pins): pins.expires
    case .composite(let inner): inner.compactMap(expiry).min()
    default: nil
    }
  }
}
