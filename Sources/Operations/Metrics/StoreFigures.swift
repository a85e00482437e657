import Cache
import JSON

/// Of the store of answers, which all loops share.
struct StoreFigures: Sendable {
  var bytes = 0
  var limit = 0
  var objects = 0
  var fetches = 0
  /// Requests that wait for the head of another's answer.
  var waiting = 0
  /// By reason, in a fixed order.
  var evictions: [(reason: String, count: Int)] = []

  init() {}

  init(_ store: CacheStore) {
    bytes = store.bytes
    limit = store.ledger.limit
    objects = store.count
    fetches = store.flightCount
    // An answer in whose place a newer one came is none that anybody misses.
    evictions = CacheStore.Removal.allCases.filter { $0 != .replaced }.map { ("\($0)", store.removed($0)) }
  }

  /// Of `/status`.
  var json: JSONValue {
    [
      "bytes": .integer(bytes), "limit": .integer(limit), "objects": .integer(objects), "fetches": .integer(fetches),
      "waiting_requests": .integer(waiting),
      "evictions": .object(evictions.map { .init(name: $0.reason, value: .integer($0.count)) }),
    ]
  }
}
