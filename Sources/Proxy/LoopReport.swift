import EventIO

/// How many connections one loop has to the origins behind an entry.
public struct PoolReport: Sendable {
  public enum State: String, Sendable, CaseIterable { case idle, active, connecting }

  /// Name of the entry; of the first one, where several share an origin.
  public var upstream: String
  public var idle, active, connecting: Int
  /// Seconds since 1970: when the certificate that the origin showed last ends.
  public var certificateExpiry: Int64?

  public func count(_ state: State) -> Int {
    switch state {
    case .idle: idle
    case .active: active
    case .connecting: connecting
    }
  }
}

extension Worker {
  public func poolReports() -> [PoolReport] {
    var reports: [String: PoolReport] = [:]
    for pool in allPools {
      var report = reports[pool.upstream] ?? PoolReport(upstream: pool.upstream, idle: 0, active: 0, connecting: 0)
      report.idle += pool.idleCount
      report.active += pool.active
      report.connecting += pool.connectingCount
      if let expiry = pool.certificateExpiry { report.certificateExpiry = min(report.certificateExpiry ?? expiry, expiry) }
      reports[pool.upstream] = report
    }
    return reports.values.sorted { $0.upstream < $1.upstream }
  }
}
