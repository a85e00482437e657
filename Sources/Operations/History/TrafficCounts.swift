/// What the history keeps of the counters of each upstream. They wrap around: only differences count.
struct TrafficCounts: Sendable {
  /// Of statuses.
  enum Class: Int, Sendable, CaseIterable {
    /// The client left before the answer.
    case none
    /// With 101.
    case good
    case redirect, clientError, serverError
    init(status: Int) {
      switch status {
      case 100..<300: self = .good
      case 300..<400: self = .redirect
      case 400..<500: self = .clientError
      case 500..<600: self = .serverError
      default: self = .none
      }
    }
    var name: String { ["none", "2xx", "3xx", "4xx", "5xx"][rawValue] }
  }
  static let buckets = Histogram.bounds.count + 1

  /// An entry that has left and come back counts from 0 again: it is another one.
  struct Series: Sendable, Hashable {
    var name: String
    /// Generation of the configuration that brought it.
    var since: Int
  }

  private(set) var series: [Series] = []
  /// By upstream, then by `Class`.
  private(set) var statuses: [UInt32] = []
  /// By upstream, then by bucket of `Histogram`.
  private(set) var durations: [UInt32] = []

  init() {}

  init(_ counters: LoopCounters) {
    let count = counters.upstreams.count
    series.reserveCapacity(count)
    statuses = [UInt32](repeating: 0, count: count * Class.allCases.count)
    durations = [UInt32](repeating: 0, count: count * Self.buckets)
    for (index, upstream) in counters.upstreams.enumerated() {
      series.append(Series(name: upstream.name, since: upstream.since))
      for (code, count) in upstream.codes.entries {
        statuses[index * Class.allCases.count + Class(status: code).rawValue] &+= UInt32(truncatingIfNeeded: count)
      }
      for (bucket, count) in upstream.duration.counts.enumerated() {
        durations[index * Self.buckets + bucket] = UInt32(truncatingIfNeeded: count)
      }
    }
  }

  /// Adds those of another loop, which may follow another configuration for a moment.
  static func += (left: inout TrafficCounts, right: TrafficCounts) {
    if left.series.isEmpty {
      left = right
      return
    }
    var places: [Series: Int] = [:]
    for (index, series) in right.series.enumerated() {
      // Usually they agree.
      if index < left.series.count, left.series[index] == series {
        left.add(right, index, at: index)
        continue
      }
      if places.isEmpty { places = left.places }
      if let place = places[series] {
        left.add(right, index, at: place)
      } else {
        places[series] = left.series.count
        left.series.append(series)
        left.statuses += [UInt32](repeating: 0, count: Class.allCases.count)
        left.durations += [UInt32](repeating: 0, count: buckets)
        left.add(right, index, at: left.series.count - 1)
      }
    }
  }

  private mutating func add(_ other: TrafficCounts, _ index: Int, at place: Int) {
    let (classes, buckets) = (Class.allCases.count, Self.buckets)
    for kind in 0..<classes { statuses[place * classes + kind] &+= other.statuses[index * classes + kind] }
    for bucket in 0..<buckets { durations[place * buckets + bucket] &+= other.durations[index * buckets + bucket] }
  }

  /// Index of each series.
  var places: [Series: Int] {
    Dictionary(series.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// - Parameter former: for each series its index here; nil: its counters are 0.
  func rearranged(_ former: [Int?], as series: [Series]) -> TrafficCounts {
    var result = TrafficCounts()
    result.series = series
    result.statuses = [UInt32](repeating: 0, count: series.count * Class.allCases.count)
    result.durations = [UInt32](repeating: 0, count: series.count * Self.buckets)
    for (place, index) in former.enumerated() { if let index { result.add(self, index, at: place) } }
    return result
  }

  /// Of two samples that were taken at the same time, one has more: no counter goes back.
  /// - Parameter earlier: with the same series.
  mutating func raise(to earlier: TrafficCounts) {
    func raise(_ counter: inout UInt32, to earlier: UInt32) { if counter &- earlier > UInt32.max / 2 { counter = earlier } }
    for index in statuses.indices { raise(&statuses[index], to: earlier.statuses[index]) }
    for index in durations.indices { raise(&durations[index], to: earlier.durations[index]) }
  }
}
