/// The state of the process: its phase and the configuration in use.
struct LifecycleReport: Sendable {
  enum Phase: String, Sendable {
    case starting, serving
    /// A shutdown has begun; the proxy still accepts for `shutdown_delay`.
    case stopping
    case draining
  }
  enum ReloadResult: String, Sendable, CaseIterable { case success, unchanged, failure }

  var phase = Phase.starting
  var generation = 0
  private(set) var lastReloadSucceeded = true
  private(set) var lastReloadErrors: [String] = []
  /// Seconds since 1970; nil: there was none since the start.
  private(set) var lastReload: Int64?
  private(set) var reloads: [ReloadResult: UInt64] = [:]
  /// Seconds since 1970.
  var started = 0
  var addresses: [String] = []
  /// Of listeners with `proxy_protocol`.
  var proxyProtocolAddresses: [String] = []
  var pinExpiries: [(name: String, expiry: Int64)] = []
  /// Of CAs that sign for apps, by the beginning of the fingerprint.
  var authorityExpiries: [(authority: String, expiry: Int64)] = []

  /// - Parameters:
  ///   - errors: none, unless it failed.
  ///   - now: seconds since 1970.
  mutating func reloaded(_ result: ReloadResult, errors: [String] = [], at now: Int64) {
    reloads[result, default: 0] += 1
    lastReloadSucceeded = result != .failure
    lastReloadErrors = errors
    lastReload = now
  }

  /// Why the proxy is not ready; nil = the listeners are open and no shutdown has begun.
  var notReady: String? {
    switch phase {
    case .serving: nil
    case .starting: "starting"
    case .stopping, .draining: "shutting down"
    }
  }
}
