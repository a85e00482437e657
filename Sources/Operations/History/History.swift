import CSystem
import Dispatch
import Synchronization

/// The history of the process. Requests do not fill it: while there is traffic, the counters of all loops are sampled each 10 s,
/// and by whoever looks. An idle process is not woken.
final class History: Sendable {
  /// Asks all loops for their counters; delivers on any thread.
  typealias Sampler = @Sendable (_ deliver: @escaping @Sendable (TrafficCounts) -> Void) -> Void

  private struct State {
    var traffic: TrafficHistory
    var load = LoopLoad()
    var sampler: Sampler?
  }

  private let state: Mutex<State>
  /// Loops look at it without a lock.
  private let isScheduled = Atomic<Bool>(false)
  private let queue = DispatchQueue(label: "history")

  init() { state = Mutex(State(traffic: TrafficHistory(now: Self.now))) }

  private static var now: Int64 { csys_monotonic() / 1_000_000_000 }

  func follow(_ sampler: @escaping Sampler) { state.withLock { $0.sampler = sampler } }

  /// The first request of a loop since the last sample: there will be another one when the present slot has ended.
  func stir() {
    guard !isScheduled.exchange(true, ordering: .acquiringAndReleasing) else { return }
    let rest = TrafficHistory.interval - Self.now % TrafficHistory.interval
    queue.asyncAfter(deadline: .now() + .seconds(Int(rest))) { @Sendable in self.sample() }
  }

  private func sample() {
    // Before the loops are asked: requests after their answers stir again.
    isScheduled.store(false, ordering: .sequentiallyConsistent)
    let sampler = state.withLock { $0.sampler }
    sampler? { counts in self.state.withLock { $0.traffic.advance(to: counts, at: Self.now) } }
  }

  /// Begins anew: nobody could look before, so that there were no samples.
  func begin(from counts: TrafficCounts) {
    state.withLock { $0.traffic = TrafficHistory(from: counts, now: Self.now) }
  }

  /// The history up to these counters.
  func traffic(_ counts: TrafficCounts) -> TrafficHistory {
    state.withLock { state in
      state.traffic.advance(to: counts, at: Self.now)
      return state.traffic
    }
  }

  /// - Parameter times: of each loop, nanoseconds of processor time.
  func load(_ times: [Int64]) -> [Double] { state.withLock { $0.load.shares(times, at: csys_monotonic()) } }
}

/// Which share of a processor each loop used lately.
struct LoopLoad: Sendable {
  private struct Reading {
    /// Nanoseconds of processor time of each loop.
    var times: [Int64]
    /// Nanoseconds of the monotonic clock.
    var at: Int64
  }
  /// Nanoseconds that a share is of, at least, once there are readings that far apart.
  private static let span: Int64 = 2_000_000_000
  private var earlier: Reading?
  private var later: Reading?

  /// Since the reading before; at first since the start.
  mutating func shares(_ times: [Int64], at now: Int64) -> [Double] {
    if let reading = later, now - reading.at >= Self.span {
      earlier = reading
      later = nil
    }
    if later == nil { later = Reading(times: times, at: now) }
    guard let earlier, earlier.times.count == times.count, now > earlier.at else { return times.map { _ in 0 } }
    return zip(times, earlier.times).map { min(max(Double($0 - $1) / Double(now - earlier.at), 0), 1) }
  }
}
