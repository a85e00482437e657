import Proxy

/// What one loop has counted of a credential's record in the store that a fleet shares.
struct FleetCounters: Sendable {
  enum Event {
    case claim(ClaimResult)
    case adopted
    case putBack
  }

  private(set) var claims = Tally<ClaimResult>()
  private(set) var adoptions: UInt64 = 0
  private(set) var putBacks: UInt64 = 0

  mutating func note(_ event: Event) {
    switch event {
    case .claim(let result): claims.add(result)
    case .adopted: adoptions += 1
    case .putBack: putBacks += 1
    }
  }

  static func += (left: inout FleetCounters, right: FleetCounters) {
    left.claims += right.claims
    left.adoptions += right.adoptions
    left.putBacks += right.putBacks
  }
}

/// The same of the store itself.
struct FleetStoreCounters: Sendable {
  struct Outcome: Sendable, Equatable {
    var operation: StoreOperation
    var result: StoreResult
  }

  private(set) var outcomes = Tally<Outcome>()
  private(set) var duration = Histogram()

  mutating func note(_ operation: StoreOperation, _ result: StoreResult, nanoseconds: Int64) {
    outcomes.add(Outcome(operation: operation, result: result))
    duration.observe(nanoseconds)
  }

  static func += (left: inout FleetStoreCounters, right: FleetStoreCounters) {
    left.outcomes += right.outcomes
    left.duration += right.duration
  }
}
