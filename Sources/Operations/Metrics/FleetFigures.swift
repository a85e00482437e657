import Proxy

/// Of the store that a fleet shares, and the records there.
struct FleetFigures {
  private let store: StoreReport?
  private let counters: FleetStoreCounters
  private let shared: [CredentialReport]
  private let counts: [(name: String, fleet: FleetCounters)]

  init(_ store: StoreReport?, _ counters: LoopCounters, _ credentials: [CredentialReport]) {
    self.store = store
    self.counters = counters.store
    let shared = credentials.filter { $0.generation != nil }
    self.shared = shared
    counts = counters.credentials.filter { count in shared.contains { $0.name == count.name } }.map { ($0.name, $0.fleet) }
  }

  func write(to metrics: inout MetricsText) {
    metrics.family("authproxy_token_store_up", .gauge, "1 if the shared token store can be reached.")
    if let isUp = store?.isUp { metrics.sample(isUp) }
    metrics.family("authproxy_token_store_operations_total", .counter, "Operations of the shared token store, by result.")
    for (outcome, count) in counters.outcomes.entries {
      metrics.sample([("operation", outcome.operation.rawValue), ("result", outcome.result.rawValue)], count)
    }
    metrics.family("authproxy_token_store_duration_seconds", .histogram, "Time until the shared token store answered.")
    if !counters.duration.counts.isEmpty { metrics.sample([], counters.duration) }
    metrics.family(
      "authproxy_token_adoptions_total", .counter, "Tokens that the process took from the shared token store.")
    for (name, fleet) in counts { metrics.sample([("credential", name)], fleet.adoptions) }
    metrics.family("authproxy_token_claims_total", .counter, "Attempts to claim a shared record for a refresh, by result.")
    for (name, fleet) in counts {
      for result in ClaimResult.allCases {
        let count = fleet.claims.entries.first { $0.label == result }?.count ?? 0
        metrics.sample([("credential", name), ("result", result.rawValue)], count)
      }
    }
    metrics.family(
      "authproxy_token_records_put_back_total", .counter, "Records that the shared store had lost and the process put back.")
    for (name, fleet) in counts { metrics.sample([("credential", name)], fleet.putBacks) }
    metrics.family("authproxy_credential_generation", .gauge, "Number of the newest shared record that the process knows.")
    for report in shared { metrics.sample([("credential", report.name)], Int(clamping: report.generation ?? 0)) }
  }
}
