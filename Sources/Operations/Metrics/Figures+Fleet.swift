import Proxy

/// Metrics of the store that a fleet shares.
extension Figures {
  func fleet(_ metrics: inout MetricsText) {
    metrics.family("authproxy_token_store_up", .gauge, "1 if the shared token store can be reached.")
    if let store, let isUp = store.isUp { metrics.sample(isUp) }
    metrics.family("authproxy_token_store_operations_total", .counter, "Operations of the shared token store, by result.")
    for (outcome, count) in counters.store.outcomes.entries {
      metrics.sample([("operation", outcome.operation.rawValue), ("result", outcome.result.rawValue)], count)
    }
    metrics.family("authproxy_token_store_duration_seconds", .histogram, "Time until the shared token store answered.")
    if !counters.store.duration.counts.isEmpty { metrics.sample([], counters.store.duration) }
    let shared = credentials.filter { $0.generation != nil }
    let counts = counters.credentials.filter { count in shared.contains { $0.name == count.name } }
    metrics.family(
      "authproxy_token_adoptions_total", .counter, "Tokens that the process took from the shared token store instead of a request.")
    for credential in counts { metrics.sample([("credential", credential.name)], credential.fleet.adoptions) }
    metrics.family("authproxy_token_claims_total", .counter, "Attempts to claim a shared record for a refresh, by result.")
    for credential in counts {
      for result in ClaimResult.allCases {
        let count = credential.fleet.claims.entries.first { $0.label == result }?.count ?? 0
        metrics.sample([("credential", credential.name), ("result", result.rawValue)], count)
      }
    }
    metrics.family(
      "authproxy_token_records_put_back_total", .counter, "Records that the shared token store had lost and the process put back.")
    for credential in counts { metrics.sample([("credential", credential.name)], credential.fleet.putBacks) }
    metrics.family("authproxy_credential_generation", .gauge, "Number of the newest shared record that the process knows.")
    for credential in shared { metrics.sample([("credential", credential.name)], Int(clamping: credential.generation ?? 0)) }
  }
}
