import CSystem
import Dispatch
import EventIO
import Proxy
import Synchronization
import Upstreams

extension Service {
  /// Collects the figures of loops and credential owners. None of them waits.
  func gather(_ deliver: @escaping @Sendable (Figures) -> Void) {
    var figures = Figures(lifecycle: lifecycle, version: version)
    figures.connections = group.connections
    figures.logLinesDropped = output.dropped
    figures.credentials = shared.credentialReports
    figures.note(shared.storeReport)
    figures.leafs = shared.handshakes.leafs.figures
    figures.cache = StoreFigures(shared.cache)
    let gathering = Gathering(figures, parts: group.executors.count, deliver)
    for (index, executor) in group.executors.enumerated() {
      executor.call { loop in
        let worker = Worker.of(loop)
        let recorder = LoopRecorder.of(loop)
        let (counters, pools) = (recorder?.counters ?? LoopCounters(), worker.upstreams.poolReports())
        let (hashed, kept) = (worker.hashedBodies, worker.keptBodies)
        let (parentsUp, originsUp) = (worker.parentsUp, worker.originsUp)
        let waiting = worker.waitingForAnswers
        let figures = Figures.Loop(trouble: recorder?.trouble ?? TroubleRing(), time: csys_thread_time())
        gathering.add {
          $0.counters += counters
          $0.bodies.hashed += hashed
          $0.bodies.kept += kept
          $0.cache.waiting += waiting
          // The process has one memory of it.
          $0.health = Figures.Health(parents: parentsUp, origins: originsUp)
          $0.add(pools)
          $0.note(figures, at: index)
        }
      }
    }
  }

  /// Collects what the status pages say.
  /// - Parameter queue: the report is made and delivered there.
  func report(
    showsPaths: Bool, on queue: DispatchQueue, _ deliver: @escaping @Sendable (StatusReport) -> Void
  ) {
    gather { figures in
      queue.async { @Sendable in
        guard let settings = self.state.withLock({ $0.snapshot?.settings }) else { return }
        deliver(
          StatusReport(
            figures, settings: settings, traffic: self.history.traffic(TrafficCounts(figures.counters)),
            load: self.history.load(figures.loopTimes),
            revocation: self.shared.revocationReports(limit: StatusReport.revocationLimit), showsPaths: showsPaths))
      }
    }
  }

  /// For the history.
  func sampleTraffic(_ deliver: @escaping @Sendable (TrafficCounts) -> Void) {
    let gathering = Gathering(TrafficCounts(), parts: group.executors.count, deliver)
    for executor in group.executors {
      executor.call { loop in
        let counts = LoopRecorder.of(loop)?.sampled() ?? TrafficCounts()
        gathering.add { $0 += counts }
      }
    }
  }
}

/// Collects a value in parts, which loops hand over. What they add up to is computed elsewhere, so that no loop waits for another one.
private final class Gathering<Value: Sendable>: Sendable {
  typealias Part = @Sendable (inout Value) -> Void

  private let start: Value
  private let count: Int
  private let parts = Mutex<[Part]>([])
  private let deliver: @Sendable (Value) -> Void

  /// - Parameter deliver: is called on a thread of Dispatch when there are so many parts.
  init(_ start: Value, parts count: Int, _ deliver: @escaping @Sendable (Value) -> Void) {
    self.start = start
    self.count = count
    self.deliver = deliver
  }

  func add(_ part: @escaping Part) {
    let all = parts.withLock { parts in
      parts.append(part)
      return parts.count == count ? parts : nil
    }
    guard let all else { return }
    DispatchQueue.global().async { @Sendable in
      var value = self.start
      for part in all { part(&value) }
      self.deliver(value)
    }
  }
}

extension Figures {
  mutating func add(_ reports: [PoolReport]) {
    if pools.isEmpty {
      pools = reports
      return
    }
    let places = Dictionary(pools.enumerated().map { ($1.upstream, $0) }, uniquingKeysWith: { first, _ in first })
    for report in reports {
      if let index = places[report.upstream] {
        pools[index].idle += report.idle
        pools[index].active += report.active
        pools[index].connecting += report.connecting
        pools[index].streams += report.streams
        pools[index].hasStreams = pools[index].hasStreams || report.hasStreams
        if let expiry = report.certificateExpiry {
          pools[index].certificateExpiry = min(pools[index].certificateExpiry ?? expiry, expiry)
        }
      } else {
        pools.append(report)
      }
    }
  }
}
